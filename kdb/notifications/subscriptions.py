"""Add, change and switch off subscriptions, and tell who may receive which topics."""

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import QuerySet
from django.utils.crypto import salted_hmac
from django.utils.timezone import now

from . import NotSent, webhook_addresses
from .models import Delivery, Subscription, Topic

MAX_SUBSCRIPTIONS = 10  # of one user
_LOOKUP_SECONDS = 5  # as a user waits for the page
# The permission that a topic needs. Topics without an entry are about what the user may see anyway.
PERMISSIONS = {
    Topic.CAMPAIGN: "experiments.add_campaign",
    Topic.MACHINES: "experiments.add_campaign",
    Topic.REVIEW: "experiments.publish_casestudy",
}

Way = Subscription.Way


class SubscriptionError(Exception):
    """A subscription cannot be added or changed; the message may be shown to users."""


def allowed_topics(user: Any) -> list[Topic]:
    return [topic for topic in Topic if may_receive(user, topic)]


def may_receive(user: Any, topic: str) -> bool:
    permission = PERMISSIONS.get(Topic(topic))
    return user.is_active and (permission is None or user.has_perm(permission))


def allowed_ways(user: Any) -> list[Way]:
    """List the ways to notify this user: by mail where KDB sends any and the account has an address."""
    return [Way.MAIL, Way.WEBHOOK] if settings.KDB_MAIL_IS_SENT and user.email else [Way.WEBHOOK]


def add(user: Any, way: str, address: str, topics: Iterable[str], site: str) -> Subscription:
    """Add a subscription and return it. Raises SubscriptionError.

    site : scheme and host of the links in its messages
    """
    topics = _check_topics(user, topics)
    if way not in allowed_ways(user):
        raise SubscriptionError(why_no_mail(user) if way == Way.MAIL else f"There is no way {way!r}.")
    address = _check_address(address) if way == Way.WEBHOOK else ""
    with transaction.atomic():
        get_user_model().objects.select_for_update().get(
            pk=user.pk
        )  # locked, so that the count stays true until the row is written
        mine = Subscription.objects.filter(user=user)
        if mine.filter(way=way, address=address).exists():
            raise SubscriptionError("You have this one already; change what it is told instead.")
        if mine.count() >= MAX_SUBSCRIPTIONS:
            raise SubscriptionError(f"You have {MAX_SUBSCRIPTIONS}, which is as many as one may. Remove one first.")
        return Subscription.objects.create(user=user, way=way, address=address, topics=topics, site=site)


def change(subscription: Subscription, topics: Iterable[str]) -> None:
    """Set the topics of a subscription, and switch it on if it was off. Raises SubscriptionError."""
    chosen = _check_topics(subscription.user, topics)
    Subscription.objects.filter(pk=subscription.pk).update(
        topics=chosen, off_at=None, off_reason="", failing_since=None
    )


def switch_off(subscription: Subscription, reason: str) -> None:
    """Switch a subscription off and give up its waiting deliveries."""
    with transaction.atomic():
        Subscription.objects.filter(pk=subscription.pk, off_at__isnull=True).update(off_at=now(), off_reason=reason)
        waiting = Delivery.objects.filter(subscription=subscription, state=Delivery.State.WAITING)
        waiting.update(state=Delivery.State.GIVEN_UP, due_at=None, ended_at=now())


def subscribers_to(topic: Topic) -> QuerySet[Subscription]:
    """Return all active subscriptions to the topic."""
    # Filtered in Python, as SQLite and PostgreSQL search JSON lists differently; there are few.
    subscribed = [pk for pk, topics in _active().values_list("pk", "topics") if topic in topics]
    return Subscription.objects.filter(pk__in=subscribed).select_related("user")


def is_subscribed(user: Any, topic: Topic) -> bool:
    return any(topic in topics for topics in _active().filter(user=user).values_list("topics", flat=True))


def signing_key(subscription: Subscription) -> str:
    """Return the key that signs its webhooks, which is derived from SECRET_KEY and its id, and not stored."""
    return salted_hmac("kdb.notifications.signing_key", str(subscription.pk), algorithm="sha256").hexdigest()


def why_no_mail(user: Any) -> str:
    """Return why this user cannot get mail, in words; "" where they can."""
    if not settings.KDB_MAIL_IS_SENT:
        return "This server sends no mail: whoever runs it has not set EMAIL_URL."
    return "" if user.email else "Your account has no mail address: ask an administrator to enter it."


def _active() -> QuerySet[Subscription]:
    return Subscription.objects.filter(off_at__isnull=True)


def _check_topics(user: Any, topics: Iterable[str]) -> list[str]:
    chosen, allowed = set(topics), allowed_topics(user)
    if not chosen or not chosen <= set(allowed):
        raise SubscriptionError(f"Choose what to be told of, of: {', '.join(allowed)}.")
    return [topic.value for topic in Topic if topic in chosen]


def _check_address(address: str) -> str:
    """Return the webhook's address. Raises SubscriptionError unless it is public or in WEBHOOK_PRIVATE_HOSTS."""
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise SubscriptionError("This is no address.") from None
    longest = Subscription._meta.get_field("address").max_length or 0
    if not host or not address.isascii() or not address.isprintable() or " " in address or len(address) > longest:
        raise SubscriptionError(f"Give an address like https://hooks.example.org/kdb, of {longest} characters at most.")
    if parts.username is not None or parts.fragment:
        raise SubscriptionError("Give the address without a name, a password or a fragment; deliveries are signed.")
    is_exempt = host in settings.KDB_WEBHOOK_PRIVATE_HOSTS
    if parts.scheme not in (("https", "http") if is_exempt else ("https",)):
        raise SubscriptionError("The address begins with https://.")
    if not is_exempt:
        try:
            webhook_addresses.resolve(address, seconds=_LOOKUP_SECONDS)
        except NotSent as refusal:
            raise SubscriptionError(str(refusal)) from refusal
    return address
