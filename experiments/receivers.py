"""The receivers of experiments: at each tick, in each new worker, and for notifications that are due."""

from typing import Any

from django.dispatch import receiver

from kdb.notifications.models import Delivery
from kdb.signals import delivery_due, ticked, worker_process_began

from .campaigns import control, nightly
from .campaigns import notifications as campaign_notifications
from .case_studies import news
from .fleet import retention, watching
from .laboratory.transport import ssh


@receiver(ticked)
def look_after_campaigns(sender: Any, **kwargs: Any) -> None:
    """Take up whatever was lost: runs whose job gave up, and hosts with work and no run. Begin nights that are due."""
    control.look_after()
    nightly.look_after()


@receiver(ticked)
def look_after_observation(sender: Any, **kwargs: Any) -> None:
    """Take up hosts that nobody watches just now, and sums that grow old."""
    watching.enqueue_due_watches()
    retention.enqueue_roll_up()


@receiver(delivery_due)
def tell_only_of_what_waits(sender: Any, delivery: Delivery, **kwargs: Any) -> str:
    return news.reason_to_withhold(delivery) or campaign_notifications.reason_to_withhold(delivery)


@receiver(worker_process_began)
def take_the_place_of_a_killed_process(sender: Any, **kwargs: Any) -> None:
    ssh.remove_left_folders()
