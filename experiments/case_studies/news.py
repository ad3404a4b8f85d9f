"""Notify reviewers of submitted drafts."""

from functools import partial

from django.urls import reverse

from experiments import permissions
from experiments.models import CaseStudy
from kdb.notifications import announcements
from kdb.notifications.models import Delivery, Topic


def notify_reviewers(case_study: CaseStudy) -> None:
    """Notify reviewers that a draft waits, in the transaction that submits it; its author gets no notification."""
    announcements.announce(
        Topic.REVIEW,
        subject=f"{case_study.slug} waits for a review",
        text=f"{case_study.title} was submitted, and you may publish it or give it back.",
        path=reverse("draft-detail", args=[case_study.slug]),
        facts={"case_study": case_study.slug, "submitted_digest": case_study.submitted_digest},
        may=partial(permissions.may_publish, case_study=case_study),
    )


def reason_to_withhold(delivery: Delivery) -> str:
    """Return why a notification is not sent after all (the draft was decided or changed); "" where it is sent."""
    if delivery.topic != Topic.REVIEW or "case_study" not in delivery.facts:
        return ""
    case_study = CaseStudy.objects.filter(slug=delivery.facts["case_study"]).first()
    is_unchanged = case_study is not None and case_study.submitted_digest == delivery.facts["submitted_digest"]
    if case_study is not None and is_unchanged and permissions.may_publish(delivery.subscription.user, case_study):
        return ""
    return "It waits for you no more."
