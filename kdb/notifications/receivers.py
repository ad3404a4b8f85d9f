"""Receivers of signals: the work of notifications at each tick."""

from typing import Any

from django.dispatch import receiver

from kdb.signals import ticked

from . import deliveries


@receiver(ticked)
def look_after_deliveries(sender: Any, **kwargs: Any) -> None:
    deliveries.maintain()
