"""What experiments does at each tick."""

from typing import Any

from django.dispatch import receiver

from kdb.signals import ticked

from .campaigns import steering


@receiver(ticked)
def look_after_campaigns(sender: Any, **kwargs: Any) -> None:
    """Whatever was lost: runs whose job gave up, and hosts with work and no run."""
    steering.look_after()
