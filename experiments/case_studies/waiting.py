"""Context processor: what waits for the signed-in user, for the header of every page."""

from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import SimpleLazyObject

from experiments import permissions
from experiments.models import Campaign, CaseStudy, Freeze

_OPEN = [Campaign.State.RUNNING, Campaign.State.PAUSED]


def for_user(request: HttpRequest) -> dict[str, Any]:
    """Return `mine` for templates, computed when a template reads it."""
    # A request that was refused before authentication has no user.
    return {"mine": SimpleLazyObject(lambda: _mine(getattr(request, "user", None) or AnonymousUser()))}


def _mine(user: Any) -> dict[str, Any]:
    """Return may_contribute, may_operate, freeze, and waiting: (kind, count, address) of what waits. Two queries."""
    if not user.is_authenticated:  # a shortcut: without permissions the rest gives the same, 20 times as slow
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
        "freeze": Freeze.objects.select_related("by").first,  # asked where a template names it
        "waiting": [(name, count, reverse(address)) for name, count, address in counted if count],
    }
