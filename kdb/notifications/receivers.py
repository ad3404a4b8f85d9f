"""Maintain deliveries at each tick."""

from typing import Any

from django.dispatch import receiver

from kdb.signals import ticked

from . import deliveries


@receiver(ticked)
def maintain_deliveries(sender: Any, **kwargs: Any) -> None:
    deliveries.maintain()
