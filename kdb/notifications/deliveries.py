"""Send due deliveries, and try failed ones again.

An attempt is counted, and the time of the next one set, before it is made. So a process may die at any point: unless
the delivery was recorded as sent, it is sent again later, with the same id.
"""

import logging
from collections.abc import Callable
from datetime import timedelta

from django.db.models import F, Q, QuerySet, Value
from django.db.models.functions import Now
from django.utils.timezone import now

from kdb.jobs import jobs
from kdb.signals import delivery_due

from . import NotSent, mail, subscriptions, webhook
from .announcements import JOB, TEST
from .models import Delivery, Subscription

logger = logging.getLogger(__name__)

FIRST_DELAY = timedelta(minutes=1)  # before the second attempt; doubles each time
LONGEST_DELAY = timedelta(hours=12)
PATIENCE = timedelta(days=7)  # with one delivery, and with a subscription whose deliveries fail
KEPT = timedelta(days=30)  # of ended deliveries

State = Delivery.State
SEND = {Subscription.Way.MAIL: mail.send, Subscription.Way.WEBHOOK: webhook.send}


def deliver_due(progress: Callable[[int], None]) -> None:
    """Attempt all due deliveries, those with the fewest attempts first; `progress(done)` is called after each."""
    done = 0
    while (delivery := _due().order_by("attempts", "due_at", "pk").first()) is not None:
        if _claim(delivery):
            _attempt(delivery)
        done += 1
        progress(done)


def maintain() -> None:
    """Enqueue a job for due deliveries whose job was lost, and delete old ones; called by the tick."""
    if _due().exists():
        jobs.enqueue_with_backoff(JOB)
    Delivery.objects.filter(ended_at__lt=now() - KEPT).delete()


def _due() -> QuerySet[Delivery]:
    return Delivery.objects.filter(state=State.WAITING, due_at__lte=Now()).select_related("subscription__user")


def delay(attempts: int) -> timedelta:
    """Return the time between this many attempts and the next one."""
    return min(FIRST_DELAY * 2 ** min(attempts - 1, 20), LONGEST_DELAY)


def _claim(delivery: Delivery) -> bool:
    mine = Delivery.objects.filter(pk=delivery.pk, attempts=delivery.attempts, state=State.WAITING)
    wait = delay(delivery.attempts + 1)
    return mine.update(attempts=F("attempts") + 1, due_at=Now() + Value(wait)) == 1


def _attempt(delivery: Delivery) -> None:
    subscription = delivery.subscription
    if reason := _reason_to_withhold(delivery):
        _end(delivery, State.GIVEN_UP, reason)
        return
    try:
        SEND[Subscription.Way(subscription.way)](delivery)
    except NotSent as error:
        _record_failure(delivery, str(error))
        return
    _end(delivery, State.SENT)
    Subscription.objects.filter(pk=subscription.pk, failing_since__isnull=False).update(failing_since=None)
    logger.info("sent delivery=%s way=%s attempt=%s", delivery.pk, subscription.way, delivery.attempts + 1)


def _reason_to_withhold(delivery: Delivery) -> str:
    """Return why a delivery is not sent any more; its owner must still be allowed to see it. "": send it."""
    user = delivery.subscription.user
    if not user.is_active or (delivery.topic != TEST and not subscriptions.may_receive(user, delivery.topic)):
        return "You may not see this any more."
    return next((why for _, why in delivery_due.send(sender=Delivery, delivery=delivery) if why), "")


def _record_failure(delivery: Delivery, reason: str) -> None:
    subscription, attempts = delivery.subscription, delivery.attempts + 1
    logger.info("not sent delivery=%s attempt=%s reason=%r", delivery.pk, attempts, reason)
    Delivery.objects.filter(pk=delivery.pk, state=State.WAITING).update(error=reason)
    Subscription.objects.filter(pk=subscription.pk, failing_since__isnull=True).update(failing_since=now())
    since = subscription.failing_since
    if since is not None and since < now() - PATIENCE:
        subscriptions.switch_off(subscription, f"Nothing was taken there since {since:%Y-%m-%d}. Last: {reason}")
    elif delivery.created_at < now() - PATIENCE:
        _end(delivery, State.GIVEN_UP, reason)
    else:  # other deliveries of this subscription wait for the next attempt, too
        others = Delivery.objects.filter(subscription=subscription, state=State.WAITING).exclude(topic=TEST)
        next_try = now() + delay(attempts)
        others.filter(~Q(pk=delivery.pk), due_at__lt=next_try).update(due_at=next_try)


def _end(delivery: Delivery, state: str, error: str = "") -> None:
    waiting = Delivery.objects.filter(pk=delivery.pk, state=State.WAITING)
    waiting.update(state=state, error=error, due_at=None, ended_at=now())
