"""Receivers of signals: the work of kdb at each tick."""

from typing import Any

from django.dispatch import receiver

from kdb.cost import leaving
from kdb.signals import ticked


@receiver(ticked)
def look_after_left_requests(sender: Any, **kwargs: Any) -> None:
    leaving.look_after()
