"""What experiments does at each tick."""

from typing import Any

from django.dispatch import receiver

from kdb.signals import ticked

from .campaigns import steering
from .observation import keeping, watching


@receiver(ticked)
def look_after_campaigns(sender: Any, **kwargs: Any) -> None:
    """Whatever was lost: runs whose job gave up, and hosts with work and no run."""
    steering.look_after()


@receiver(ticked)
def look_after_observation(sender: Any, **kwargs: Any) -> None:
    """Hosts that nobody watches just now, and sums that grow old."""
    watching.look_after()
    keeping.look_after()
