"""What people choose to be told, and where."""

from typing import Any

from django import forms

from . import subscriptions
from .models import Subscription


class TopicsForm(forms.Form):
    """What a subscription is told, of what its owner may be told."""

    topics = forms.MultipleChoiceField(widget=forms.CheckboxSelectMultiple, label="Tell me when")

    def __init__(self, *args: Any, user: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices = [(topic.value, topic.label) for topic in subscriptions.topics_of(user)]
        self.fields["topics"].choices = choices  # type: ignore[attr-defined]


class SubscriptionForm(TopicsForm):
    way = forms.ChoiceField(label="By")
    address = forms.CharField(
        required=False,
        max_length=Subscription._meta.get_field("address").max_length,
        label="Address of the webhook",
        widget=forms.URLInput(attrs={"placeholder": "https://hooks.example.org/kdb"}),
    )
    field_order = ("way", "address", "topics")

    def __init__(self, *args: Any, user: Any, **kwargs: Any) -> None:
        super().__init__(*args, user=user, **kwargs)
        labels = {Subscription.Way.MAIL: f"mail to {user.email}", Subscription.Way.WEBHOOK: "webhook"}
        ways = [(way.value, labels[way]) for way in subscriptions.ways_of(user)]
        self.fields["way"].choices = ways  # type: ignore[attr-defined]
