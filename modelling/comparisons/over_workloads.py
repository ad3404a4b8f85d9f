"""The same entries under every workload: the ratio of the first to each other, where numbers join them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from django.conf import settings

from modelling.answers.estimate import ranking_of
from modelling.evidence import frames, names
from modelling.evidence.question import Question
from modelling.explanations.selectors import contrast_between, shared_part

from .content import WorkloadRatio

MOST_WORKLOADS = 20


def ratios(question: Question, keys: Sequence[str], as_of: int | None = None) -> Iterator[WorkloadRatio]:
    """Yield what is known of the first entry against each other, workload by workload, the question's own first.

    The number of queries grows with the workloads of the catalogue, of which MOST_WORKLOADS are looked at, and not with
    evidence or entries. A workload with more evidence than is ranked on the way to a page is left out.
    """
    first, *others = keys
    known = names.names()["workload"]
    workloads = sorted(known, key=lambda workload: workload != question.workload)[:MOST_WORKLOADS]
    for workload in workloads:
        asked = replace(question, workload=workload)
        if frames.has_more_arms_than(settings.KDB_MOST_ARMS_AT_ONCE, asked):
            continue
        ranking = ranking_of(asked, as_of)
        for other in others:
            contrast = contrast_between(shared_part(ranking, first, other), first, other)
            if contrast is not None:
                yield WorkloadRatio(
                    workload, known[workload], ranking.metric, other, contrast.ratio, contrast.low, contrast.high
                )
