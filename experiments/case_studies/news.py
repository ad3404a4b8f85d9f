"""The news that reviewers may want to be told."""

from functools import partial

from django.urls import reverse

from experiments import permissions
from experiments.models import CaseStudy
from kdb.notifications import announcements
from kdb.notifications.models import Delivery, Topic


def tell_reviewers(case_study: CaseStudy) -> None:
    """Tell reviewers that a draft waits for them, in the transaction that submits it; its author is told nothing."""
    announcements.announce(
        Topic.REVIEW,
        subject=f"{case_study.slug} waits for a review",
        text=f"{case_study.title} was submitted, and you may publish it or give it back.",
        path=reverse("draft-detail", args=[case_study.slug]),
        facts={"case_study": case_study.slug, "submitted_digest": case_study.submitted_digest},
        may=partial(permissions.may_publish, case_study=case_study),
    )


def why_not_told(delivery: Delivery) -> str:
    """Return why a reviewer is not told after all (the draft no longer waits, or has changed since); else empty."""
    if delivery.topic != Topic.REVIEW or "case_study" not in delivery.facts:
        return ""
    case_study = CaseStudy.objects.filter(slug=delivery.facts["case_study"]).first()
    is_as_told = case_study is not None and case_study.submitted_digest == delivery.facts["submitted_digest"]
    if case_study is not None and is_as_told and permissions.may_publish(delivery.subscription.user, case_study):
        return ""
    return "It waits for you no more."
