"""Maintain deferred requests at each tick."""

from typing import Any

from django.dispatch import receiver

from kdb.cost import deferral
from kdb.signals import ticked


@receiver(ticked)
def maintain_deferred_requests(sender: Any, **kwargs: Any) -> None:
    deferral.maintain()
