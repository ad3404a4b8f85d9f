"""Maintain deliveries at each tick, and tell owners of tokens where these come from."""

from typing import Any

from django.dispatch import receiver
from django.urls import reverse

from kdb.models import ApiToken
from kdb.signals import ticked, token_used_elsewhere

from . import announcements, deliveries
from .models import Topic


@receiver(ticked)
def maintain_deliveries(sender: Any, **kwargs: Any) -> None:
    deliveries.maintain()


@receiver(token_used_elsewhere)
def tell_owner_of_token(sender: Any, token: ApiToken, **kwargs: Any) -> None:
    announcements.announce(
        Topic.TOKEN,
        subject=f"Your token {token.name} comes from a new network",
        text=(
            f"Your token {token.name} ({token.prefix}...) was used from {token.last_network}, from which it did not "
            "come before. If this was not you, revoke it on your account's page."
        ),
        path=reverse("account"),
        facts={"token": token.name, "prefix": token.prefix, "network": token.last_network},
        users=[token.user_id],
    )
