"""Find the comparisons of a case study that came out the other way round in others, and notify those who brought them.

Both 95 % intervals leave out 1, each of its case study alone, by the model of variances that answers use.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby
from math import exp, sqrt
from typing import Annotated

import pandas as pd
from django.urls import reverse

from experiments.models import CaseStudy
from kdb.notifications import announcements
from kdb.notifications.models import Topic
from modelling.answers import words
from modelling.estimation.arms import trials
from modelling.evidence import names
from modelling.evidence.axes import AXES
from modelling.evidence.normal import NORMAL_95
from modelling.evidence.question import Question

COMBINED = ("fs-pair", "configuration")  # axes that would repeat what those of their parts say


@dataclass(frozen=True)
class Contradiction:
    """One comparison of two entries in which a new case study and another disagree."""

    component = "Contradiction"

    title: Annotated[str, "The question."]
    first: str
    other: str
    ratio: Annotated[float, "First against the other, in the new case study; above 1 is faster."]
    case_study: Annotated[str, "The one that it contradicts."]
    ratio_there: float


def find_contradictions(question: Question, arms: pd.DataFrame, slug: str) -> Iterator[Contradiction]:
    """Yield what case study `slug` contradicts. arms : DataFrame of comparable_arms"""
    sure: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)  # pair to case study to its ln ratio
    for trial in trials(arms.assign(laboratory=arms["case_study"].astype(str))):
        for i, j in combinations(range(len(trial.treatments)), 2):
            effect = float(trial.effects[i, j])
            if abs(effect) > NORMAL_95 * sqrt(trial.variances[i] + trial.variances[j]):
                sure[trial.treatments[i], trial.treatments[j]][trial.name] = effect
    title, axis = words.title(question, names.names()), AXES[question.axis]
    for pair, effects in sure.items():
        own = effects.pop(slug, 0.0)
        for study, effect in effects.items():
            if own * effect < 0:
                first, other = (names.label(axis, key) for key in pair)
                yield Contradiction(title, first, other, exp(own), study, exp(effect))


def notify_owners(case_study: CaseStudy, contradictions: Sequence[Contradiction]) -> None:
    """Notify the owner of each contradicted case study once, unless they brought the new one as well."""
    by_study = sorted(contradictions, key=lambda contradiction: contradiction.case_study)
    studies = CaseStudy.objects.in_bulk({one.case_study for one in by_study}, field_name="slug")
    for slug, of_study in groupby(by_study, key=lambda contradiction: contradiction.case_study):
        contradicted = studies[slug]
        if contradicted.owner_id and contradicted.owner_id != case_study.owner_id:
            announcements.announce(
                Topic.OPPOSITE,
                subject=f"“{case_study.title}” contradicts “{contradicted.title}”",
                text="\n".join(
                    f"{one.title} {one.first} against {one.other}: {one.ratio_there:.2f} there, {one.ratio:.2f} here."
                    for one in of_study
                ),
                path=reverse("case-study-effects", args=[case_study.slug]),
                facts={"case_study": slug, "contradicted_by": case_study.slug},
                users=[contradicted.owner_id],
            )
