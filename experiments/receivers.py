"""Receive the signals of each tick, of each new worker process, and of notifications that are due."""

from typing import Any

from django.dispatch import receiver

from kdb.models import ApiToken
from kdb.notifications.models import Delivery
from kdb.signals import delivery_due, ticked, token_changed, worker_process_began

from .campaigns import control, hosts, nightly
from .campaigns import notifications as campaign_notifications
from .case_studies import news
from .fleet import retention, watching
from .laboratory.transport import ssh


@receiver(ticked)
def reconcile_campaigns(sender: Any, **kwargs: Any) -> None:
    """Resume runs whose job gave up and hosts with work but no run, and start the nightly campaigns that are due."""
    control.reconcile()
    nightly.reconcile()


@receiver(ticked)
def enqueue_observation(sender: Any, **kwargs: Any) -> None:
    """Enqueue the watches of hosts that no worker watches, and the roll-up of old statistics."""
    watching.enqueue_due_watches()
    retention.enqueue_roll_up()


@receiver(delivery_due)
def withhold_outdated_notification(sender: Any, delivery: Delivery, **kwargs: Any) -> str:
    return news.reason_to_withhold(delivery) or campaign_notifications.reason_to_withhold(delivery)


@receiver(worker_process_began)
def remove_folders_of_killed_processes(sender: Any, **kwargs: Any) -> None:
    ssh.remove_left_folders()


@receiver(token_changed)
def record_token(sender: Any, token: ApiToken, action: str, actor: Any, **kwargs: Any) -> None:
    """Write to the audit trail that a token was made or revoked."""
    hosts.note(None, actor, action, f"{token}, of {token.user}: {', '.join(token.scopes)}")
