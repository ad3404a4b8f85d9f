"""Subscriptions, which say who is notified of what and where, and the deliveries to them."""

from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import Q


class Topic(models.TextChoices):
    CAMPAIGN = "campaign", "my campaign finished, or paused because something failed"
    REVIEW = "review", "a case study, or a source that changed, waits for my review"
    MACHINES = "machines", "on my hosts a pool fills up, a disk became slow, a move failed, or a plan or move waits"
    CHANGE = "change", "a machine of my laboratory became faster or slower"
    QUESTION = "question", "a publication changed the answer to a question I follow"
    OPPOSITE = "opposite", "a new case study contradicts one of mine"
    TOKEN = "token", "a token of mine is used from a network it did not come from before"


class Subscription(models.Model):
    """One address at which a user is notified of topics. The key that signs its webhooks is derived from its id."""

    class Way(models.TextChoices):
        MAIL = "mail", "mail"
        WEBHOOK = "webhook", "webhook"

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="subscriptions")
    way = models.CharField(max_length=10, choices=Way)
    address = models.CharField(max_length=500, blank=True, help_text="Of the webhook; empty: the account's own mail.")
    topics = models.JSONField(default=list)
    site = models.CharField(max_length=300, help_text="Where KDB was reached when it was made: what links begin with.")
    created_at = models.DateTimeField(auto_now_add=True)
    failing_since = models.DateTimeField(null=True, blank=True, help_text="Empty: the last delivery was taken.")
    off_at = models.DateTimeField(null=True, blank=True, help_text="Empty: it is on.")
    off_reason = models.TextField(blank=True)

    class Meta:
        ordering = ["created_at", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["user", "way", "address"], name="notifications_subscription_is_unique"),
            models.CheckConstraint(
                condition=Q(way="mail", address="") | (Q(way="webhook") & ~Q(address="")),
                name="notifications_subscription_webhook_has_an_address",
            ),
            models.CheckConstraint(
                condition=Q(off_at__isnull=True, off_reason="") | (Q(off_at__isnull=False) & ~Q(off_reason="")),
                name="notifications_subscription_off_has_a_reason",
            ),
        ]

    def __str__(self) -> str:
        return self.address or "mail"


class Delivery(models.Model):
    """One message to one subscription. Receivers recognise repeats by its id."""

    class State(models.TextChoices):
        WAITING = "waiting", "waiting"
        SENT = "sent", "sent"
        GIVEN_UP = "given up", "given up"

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    subscription = models.ForeignKey(Subscription, on_delete=models.CASCADE, related_name="deliveries")
    topic = models.CharField(max_length=10, help_text='Of Topic, or "test".')
    subject = models.CharField(max_length=300)
    text = models.TextField()
    path = models.CharField(max_length=500, help_text="Where it can be looked at, from the site's root.")
    facts = models.JSONField(default=dict, help_text="The same for programs.")
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    attempts = models.PositiveIntegerField(default=0, help_text="Counted before each is made.")
    due_at = models.DateTimeField(null=True, help_text="When it is tried next; empty: it has ended.")
    error = models.TextField(blank=True, help_text="Why the last attempt failed.")
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "pk"]
        verbose_name_plural = "deliveries"
        indexes = [models.Index(fields=["due_at"], condition=Q(state="waiting"), name="notifications_delivery_due")]
        constraints = [
            models.CheckConstraint(
                condition=Q(state="waiting", due_at__isnull=False, ended_at__isnull=True)
                | Q(state__in=["sent", "given up"], due_at__isnull=True, ended_at__isnull=False),
                name="notifications_delivery_ends_once",
            )
        ]

    def __str__(self) -> str:
        return self.subject
