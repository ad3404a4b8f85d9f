"""Score the papers' predictions (hypotheses.json), each a condition on all published facts. No Django.

A comparison that holds agrees with the prediction, one that fails disagrees, and one whose span
covers the limit is a tie. Source: the named sections, in words of this project; docs/models/claims.md.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.rules.claim_conditions import parse

from .evaluation import Evaluation, compare, verdict_of
from .facts import PublishedFacts


@dataclass(frozen=True)
class Hypothesis:
    """One prediction, with a condition or with the reason why published evidence cannot decide it."""

    code: str
    publication: str
    source: str  # section
    statement: str
    prediction: str  # the condition in words
    condition: Mapping[str, Any] | None = None
    untestable: str = ""


HYPOTHESES = tuple(
    Hypothesis(**fields) for fields in json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
)


def scores(studies: Iterable[PublishedFacts]) -> Iterator[tuple[str, str, Evaluation]]:
    """Yield hypothesis, source and verdict of each source that has comparisons.

    studies : facts.studies, with the spread of a run in their spans
    """
    conditions = {hypothesis.code: parse(hypothesis.condition) for hypothesis in HYPOTHESES if hypothesis.condition}
    for study in studies:
        for code, condition in conditions.items():
            if comparisons := compare(condition, study, is_open=True):
                yield code, study.source, verdict_of(comparisons)
