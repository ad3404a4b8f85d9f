"""Forms in which users choose what they are notified of, and how."""

from typing import Any

from django import forms

from kdb.web.form_types import field_of

from . import subscriptions
from .models import Subscription


class TopicsForm(forms.Form):
    """The topics of a subscription, of those that its owner may receive."""

    topics = forms.MultipleChoiceField(widget=forms.CheckboxSelectMultiple, label="Tell me when")

    def __init__(self, *args: Any, user: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices = [(topic.value, topic.label) for topic in subscriptions.allowed_topics(user)]
        field_of(self, "topics", forms.MultipleChoiceField).choices = choices


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
        ways = [(way.value, labels[way]) for way in subscriptions.allowed_ways(user)]
        field_of(self, "way", forms.ChoiceField).choices = ways
