"""Tasks of reviewers: sources that are not what they were. Resolving a task changes no evidence."""

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.urls import reverse
from django.utils.timezone import now

from experiments import permissions
from experiments.models import SourceCheck, SourceTask
from kdb.notifications import announcing
from kdb.notifications.models import Delivery, Topic


class TaskError(Exception):
    """A task cannot be resolved; the text is fit to show."""


def open_task(check: SourceCheck) -> None:
    """Ask reviewers to look at a source, once until somebody has; call it in the transaction of the check."""
    task, is_new = SourceTask.objects.get_or_create(
        publication=check.publication,
        resolved_at=None,
        defaults={"finding": check.outcome, "detail": check.detail},
    )
    if not is_new:
        SourceTask.objects.filter(pk=task.pk).update(finding=check.outcome, detail=check.detail)
        return
    announcing.announce(
        Topic.REVIEW,
        subject=f"A source should be looked at: {check.publication.slug}",
        text=f"{check.publication.title}: {check.get_outcome_display()}. {check.detail} No evidence changed by it.",
        path=f"{reverse('source-list')}#{check.publication.slug}",
        facts={"source_task": task.pk, "publication": check.publication.slug, "finding": check.outcome},
        may=permissions.may_look_after_sources,
    )


def open_tasks() -> QuerySet[SourceTask]:
    return SourceTask.objects.filter(resolved_at__isnull=True).select_related("publication__last_check")


def resolve(task: SourceTask, *, note: str, user: User | None) -> None:
    """Note what was found and done. From now on later texts are compared with the text as last seen.

    Raises TaskError where somebody else was first, or nothing is said.
    """
    if not note.strip():
        raise TaskError("Say what you found, and what you did about it.")
    with transaction.atomic():
        mine = SourceTask.objects.select_for_update().filter(pk=task.pk, resolved_at__isnull=True)
        if not mine.update(resolved_at=now(), resolved_by=user, note=note):
            raise TaskError("Somebody has resolved it already.")
        check = SourceCheck.objects.select_for_update().filter(publication=task.publication_id).first()
        if check is not None and check.found_digest:
            check.digest, check.digest_of, check.found_digest = check.found_digest, check.checked_at, ""
            check.outcome = SourceCheck.Outcome.SAME
            check.save(update_fields=["digest", "digest_of", "found_digest", "outcome"])


def why_not_told(delivery: Delivery) -> str:
    """Return why a reviewer is not told after all: somebody has resolved it; else empty."""
    number = delivery.facts.get("source_task") if delivery.topic == Topic.REVIEW else None
    is_open = number is None or SourceTask.objects.filter(pk=number, resolved_at__isnull=True).exists()
    return "" if is_open else "It waits for you no more."
