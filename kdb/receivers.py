"""Receivers of signals: the work of kdb at each tick."""

from typing import Any

from django.dispatch import receiver

from kdb.cost import deferral
from kdb.signals import ticked


@receiver(ticked)
def look_after_left_requests(sender: Any, **kwargs: Any) -> None:
    deferral.maintain()
