"""Retract published numbers, supersede them by later ones of their source, or mark them as doubted.

Each makes a new knowledge revision: answers change, those of earlier revisions stay, and what ended is still shown with
the reason and a link to what replaced it. A doubted number counts nowhere, as nobody can say how much less it should
count. A whole case study can end, with its lists and claims, or single measurements.
"""

import logging
from collections.abc import Collection

from django.contrib.auth.models import User
from django.db import transaction

from experiments.models import AuditEntry, CaseStudy, Ending, KnowledgeRevision, Measurement
from experiments.signals import knowledge_changed

from . import lifecycle
from .lifecycle import CaseStudyError

logger = logging.getLogger(__name__)

MAX_ROWS = 10_000  # of one decision
_LONGEST = Measurement._meta.get_field("excluded_because").max_length or 0


def retract(case_study: CaseStudy, *, reason: str, user: User | None = None) -> KnowledgeRevision:
    """Take a published case study out of the knowledge; it stays visible with the reason.

    Raises CaseStudyError, and changes nothing, where it is not published or the reason is empty.
    """
    if not reason.strip():
        raise CaseStudyError("A retraction needs a reason.")
    with transaction.atomic():
        lifecycle.lock(case_study, CaseStudy.Status.PUBLISHED, "Only a published case study can be retracted.")
        revision = lifecycle.next_revision(KnowledgeRevision.Action.RETRACTED, reason)
        _end_whole(case_study, CaseStudy.Status.RETRACTED, revision)
        _record(case_study, user, revision, str(revision))
    return revision


def end(
    case_study: CaseStudy,
    *,
    reason: str,
    replaced_by: CaseStudy | None = None,
    rows: Collection[int] | None = None,
    user: User | None = None,
) -> KnowledgeRevision:
    """End a published case study, or some of its measurements: they no longer count.

    replaced_by : the published case study in which the same source measured again; None: what ends is doubted
    rows : ids of the measurements that end; None: the whole case study

    Raises CaseStudyError, and changes nothing, where the arguments or a status forbid it.
    """
    if not reason.strip():
        raise CaseStudyError("Give the reason: every reader sees it.")
    kind = Ending.Kind.SUPERSEDED if replaced_by else Ending.Kind.DOUBTED
    with transaction.atomic():
        # Locked in one order, so that two decisions about the same two case studies do not deadlock.
        ids = {case_study.pk, replaced_by.pk if replaced_by else case_study.pk}
        list(CaseStudy.objects.select_for_update().filter(pk__in=ids).order_by("pk").values_list("pk"))
        old = lifecycle.lock(case_study, CaseStudy.Status.PUBLISHED, "Only a published case study can end.")
        if replaced_by:
            lifecycle.lock(replaced_by, CaseStudy.Status.PUBLISHED, "What replaces it must be published.")
            if replaced_by.pk == old.pk:
                raise CaseStudyError("A case study cannot replace itself.")
        ending_rows = None if rows is None else _lock_rows(old, rows)
        revision = lifecycle.next_revision(KnowledgeRevision.Action(kind.value), reason)
        ending = Ending.objects.create(
            case_study=old,
            kind=kind,
            is_whole=rows is None,
            replaced_by=replaced_by,
            reason=reason,
            revision=revision,
        )
        if ending_rows is None:
            _end_whole(old, CaseStudy.Status(kind.value), revision)
        else:
            CaseStudy.objects.filter(pk=old.pk).update(rows_ended_revision=revision.number)
            because = f"{kind.label} at revision {revision.number}" + (f" by {replaced_by.slug}" if replaced_by else "")
            Measurement.objects.filter(pk__in=ending_rows).update(
                ending=ending, excluded_because=f"{because}: {reason}"[:_LONGEST], excluded_by=_public_author(old, user)
            )
        what = "all of it" if ending_rows is None else f"{len(ending_rows)} measurements"
        _record(old, user, revision, f"{revision}, {what}")
    return revision


def _end_whole(case_study: CaseStudy, status: CaseStudy.Status, revision: KnowledgeRevision) -> None:
    CaseStudy.objects.filter(pk=case_study.pk).update(
        status=status, retracted_revision=revision, retraction_reason=revision.reason
    )


def _record(case_study: CaseStudy, user: User | None, revision: KnowledgeRevision, what: str) -> None:
    """Write the audit entry of a revision that ended something, and send the signal."""
    lifecycle.audit(case_study, user, AuditEntry.Action(revision.action), f"{what}: {revision.reason}")
    knowledge_changed.send(sender=CaseStudy, case_study_ids=[case_study.pk], revision=revision.number)
    logger.info("%s revision=%s case_study=%s", revision.action, revision.number, case_study.pk)


def _lock_rows(case_study: CaseStudy, rows: Collection[int]) -> list[int]:
    """Lock the measurements; return their ids. Raises CaseStudyError unless each is the case study's and counts."""
    if not rows:
        raise CaseStudyError("Name at least one measurement.")
    if len(rows) > MAX_ROWS:
        raise CaseStudyError(f"Name {MAX_ROWS:,} measurements at most, or end the whole case study.")
    counting = Measurement.objects.filter(configuration__case_study=case_study, excluded_because="", pk__in=rows)
    locked = set(counting.select_for_update(of=("self",)).values_list("pk", flat=True))
    if missing := sorted(set(rows) - locked):
        some = ", ".join(map(str, missing[:5]))
        raise CaseStudyError(f"These are no measurements of {case_study.slug} that count: {some}.")
    return sorted(locked)


def _public_author(case_study: CaseStudy, user: User | None) -> str:
    """Return who decided, for the public: a role, not a name."""
    if user is None:
        return "KDB"
    return "its author" if case_study.owner_id == user.pk else "a reviewer"
