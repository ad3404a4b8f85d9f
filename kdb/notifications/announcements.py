"""Make the deliveries of an event in its transaction, so that they exist exactly if it is committed."""

from collections.abc import Callable, Collection
from functools import partial
from typing import Any

from django.db import transaction
from django.utils.timezone import now

from kdb.jobs import jobs
from kdb.web.rates import is_within

from . import subscriptions
from .models import Delivery, Subscription, Topic

JOB = "deliver_notifications"  # the handler is in kdb.notifications.job_handlers
TEST = "test"
MOST_TESTS, TEST_SECONDS = 10, 3600  # a user, as the webhook may be the server of a stranger


def announce(
    topic: Topic,
    *,
    subject: str,
    text: str,
    path: str,
    facts: dict[str, Any],
    users: Collection[int] | None = None,
    may: Callable[[Any], bool] | None = None,
) -> int:
    """Notify the subscribers to a topic who may see the event. Return the number of deliveries.

    users : ids of the users whom it concerns; None: all
    may : tells whether a user may see it, beyond the permission of the topic
    """
    recipients = [
        subscription
        for subscription in subscriptions.subscribers_to(topic)
        if (users is None or subscription.user_id in users)
        and subscriptions.may_receive(subscription.user, topic)
        and (may is None or may(subscription.user))
    ]
    _deliver(recipients, topic, subject=subject, text=text, path=path, facts=facts)
    return len(recipients)


def may_test(user: Any) -> bool:
    """Count one more test message of this user. Return whether it is within the limit."""
    return is_within(MOST_TESTS, TEST_SECONDS, "notification test", str(user.pk))


def send_test(subscription: Subscription) -> None:
    text = "This is a test: you asked KDB for it. What you want to be told will come the same way."
    _deliver([subscription], TEST, subject="A test from KDB", text=text, path="/accounts/notifications/", facts={})


def _deliver(recipients: list[Subscription], topic: str, *, subject: str, **message: Any) -> None:
    longest = Delivery._meta.get_field("subject").max_length
    due = now()
    Delivery.objects.bulk_create(
        Delivery(
            subscription=subscription,
            topic=topic,
            subject=" ".join(subject.splitlines())[:longest],
            due_at=due,
            **message,
        )
        for subscription in recipients
    )
    if recipients:  # one job sends all of them, so that slow receivers occupy one worker at most
        transaction.on_commit(partial(jobs.enqueue_with_backoff, JOB))
