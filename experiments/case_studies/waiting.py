"""The work that waits for the person who is signed in, for the header of every page."""

from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import SimpleLazyObject

from experiments import permissions
from experiments.models import Campaign, CaseStudy

_OPEN = [Campaign.State.RUNNING, Campaign.State.PAUSED]


def for_user(request: HttpRequest) -> dict[str, Any]:
    """Return `mine` for templates, read when it is shown, and only for who is signed in. `request.user` is missing
    where a request was refused before anybody asked who sends it.
    """
    return {"mine": SimpleLazyObject(lambda: _mine(getattr(request, "user", None) or AnonymousUser()))}


def _mine(user: Any) -> dict[str, Any]:
    """Return may_contribute, may_operate; and waiting: what, how many, where, for what there is any of. Two queries."""
    if not user.is_authenticated:  # as all below would find, in a twentieth of the time
        return {"may_contribute": False, "may_operate": False, "waiting": []}
    may_operate = permissions.may_operate(user)
    drafts = list(permissions.drafts_of(user).values_list("status", "owner_id"))
    counted = [
        ("draft", sum(status == CaseStudy.Status.DRAFT and owner == user.pk for status, owner in drafts), "draft-list"),
        ("review", sum(status == CaseStudy.Status.SUBMITTED for status, _ in drafts), "draft-list"),
    ]
    if may_operate:
        campaigns = permissions.campaigns_visible_to(user).filter(owner=user, state__in=_OPEN)
        counted.append(("campaign", campaigns.count(), "campaign-list"))
    return {
        "may_contribute": permissions.may_create(user) or permissions.may_review(user),
        "may_operate": may_operate,
        "waiting": [(name, count, reverse(address)) for name, count, address in counted if count],
    }
