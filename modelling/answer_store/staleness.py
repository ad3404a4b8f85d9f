"""Weaken answers whose evidence was measured before a change of speed that is public now.

Applied when the current answer is shown, not stored with it: no evidence was withdrawn, and an answer at a permanent
address never changes. Rule: docs/models/verdict.md.
"""

import copy
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core.cache import caches

from experiments.models import CaseStudy
from modelling.answers.decision import CONFIDENCE
from modelling.estimation.verdict import weaker
from modelling.evidence.axes import AXES, entry_parts
from modelling.evidence.question import Question
from modelling.evidence.storage import get_or_compute
from modelling.evidence.words import fact_words
from modelling.models import RankingSnapshot, SeriesChange

MOST = 1000  # changes to consider, most recently confirmed first
_KEY = "modelling.speed_changes"
_SECONDS = 60  # cache lifetime: another process misses later confirmations for so long


@dataclass(frozen=True)
class SpeedChange:
    """A confirmed change of speed. case_studies : slugs of those measured before it"""

    change: int
    workload: str
    settings: Mapping[str, str]
    case_studies: frozenset[str]
    since: datetime
    sentence: str

    def concerns(self, question: Question, keys: Iterable[str]) -> bool:
        """Tell whether one of these entries changed under the question's workload."""
        entries = (entry_parts(AXES[question.axis], key) for key in keys)
        return self.workload == question.workload and any(
            all(self.settings.get(name, "") == value for name, value in parts.items()) for parts in entries
        )


def may_be_stale(question: Question) -> bool:
    """Tell whether anything changed under the question's workload. Cached; two queries a minute at most."""
    return any(change.workload == question.workload for change in _public_changes())


def changes_concerning(question: Question, keys: Iterable[str], studies: Iterable[str]) -> tuple[SpeedChange, ...]:
    """Return the changes of compared entries since they were measured: the one rule of staleness.

    keys : of the compared entries; studies : slugs of the case studies that measured them
    """
    keys, studies = list(keys), set(studies)
    return tuple(
        change for change in _public_changes() if change.case_studies & studies and change.concerns(question, keys)
    )


def changes_in(question: Question, evidence: Sequence[Any], entries: Sequence[Any]) -> tuple[SpeedChange, ...]:
    """Return the changes that concern an answer. evidence, entries : fields of its JSON"""
    return changes_concerning(question, (row["key"] for row in entries), (row["case_study"] for row in evidence))


def changes_since(answers: Mapping[Question, RankingSnapshot | None]) -> dict[Question, tuple[SpeedChange, ...]]:
    """Return the changes that concern each answer that is not None. At most one query, for results not read yet."""
    concerned = {question: row for question, row in answers.items() if row is not None and may_be_stale(question)}
    unread = {row.pk: row for row in concerned.values() if "result" in row.get_deferred_fields()}
    if unread:
        for pk, result in RankingSnapshot.objects.filter(pk__in=unread).values_list("pk", "result"):
            unread[pk].result = result
    return {
        question: changes_in(question, row.result["evidence"], row.result["entries"])
        for question, row in concerned.items()
    }


def weaken_stale(answers: Mapping[Question, RankingSnapshot | None]) -> dict[Question, RankingSnapshot | None]:
    """Return the answers as they are shown now: stale ones a step weaker. At most one query."""
    changes = changes_since(answers)
    return {
        question: weakened_copy(row, changes[question]) if row is not None and changes.get(question) else row
        for question, row in answers.items()
    }


def weakened_copy(snapshot: RankingSnapshot, changes: Sequence[SpeedChange]) -> RankingSnapshot:
    """Return an unsaved copy of the answer that is one step weaker and names each change as a reason."""
    result = copy.deepcopy(snapshot.result)
    for verdict in (result["verdict"], *(part["verdict"] for part in result["parts"])):
        weaken_verdict(verdict, [change.sentence for change in changes])
    weakened = copy.copy(snapshot)
    weakened.result = result
    weakened.digest = hashlib.sha256(json.dumps(result, sort_keys=True).encode()).hexdigest()
    weakened.computed_at = max(snapshot.computed_at, *(change.since for change in changes))
    return weakened


def weaken_verdict(verdict: dict[str, Any], reasons: Sequence[str]) -> None:
    """Make a verdict in JSON one step weaker for these reasons."""
    stronger = verdict["strength"]
    verdict["strength"] = weaker(stronger)
    if text := verdict.get("confidence"):
        verdict["confidence"] = CONFIDENCE[verdict["strength"]] + text.removeprefix(CONFIDENCE[stronger])
    verdict["reasons"] = [*verdict["reasons"], *reasons]


def clear_cache() -> None:
    """Clear the cached changes, so that they are read again."""
    caches["worked-out"].delete(_KEY)


def _public_changes() -> list[SpeedChange]:
    known: list[SpeedChange] = get_or_compute(_KEY, _read_public_changes, seconds=_SECONDS)
    return known


def _read_public_changes() -> list[SpeedChange]:
    """Read the public changes of entries that a published case study measured before. Two queries."""
    rows = SeriesChange.objects.public().select_related("laboratory", "sitting").order_by("-handled_at", "-pk")
    changes = list(rows[:MOST])
    studies: dict[int, set[str]] = {}
    published = {"earlier__case_study__status": CaseStudy.Status.PUBLISHED}
    before = SeriesChange.objects.filter(pk__in=[change.pk for change in changes], **published)
    for pk, slug in before.values_list("pk", "earlier__case_study__slug").distinct():
        studies.setdefault(pk, set()).add(slug)
    return [_speed_change(change, frozenset(studies[change.pk])) for change in changes if change.pk in studies]


def _speed_change(change: SeriesChange, studies: frozenset[str]) -> SpeedChange:
    assert change.handled_at is not None  # somebody confirmed it
    began = change.sitting.ended_at
    facts = f" It came with {fact_words(change.facts)}." if change.facts else ""
    sentence = (
        f"Since it was measured, {change.about['name']} became {change.ratio:.2f} times as fast in "
        f"{change.laboratory.name} ({change.low:.2f} to {change.high:.2f}, 95 %), from {began:%Y-%m-%d} on.{facts}"
    )
    about = change.about
    return SpeedChange(change.pk, about["load"], about["settings"], studies, change.handled_at, sentence)
