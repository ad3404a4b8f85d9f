"""The answer under a mix of workloads, as pages and the API ask for it."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace

from modelling.answers.selectors import ranking_of
from modelling.estimation.mixes import Mix, mix
from modelling.estimation.ranking import METHOD
from modelling.evidence import counts
from modelling.evidence.keeping import remembered
from modelling.evidence.question import Question


def mixed(question: Question, weights: Mapping[str, float]) -> Mix:
    """The answer to the question under a mix of workloads (its own workload does not matter).

    Kept in memory for as long as the knowledge revision stands.
    """
    asked = ",".join(f"{workload}:{weight!r}" for workload, weight in sorted(weights.items()))
    digest = hashlib.sha256(f"{question.key}|{asked}".encode()).hexdigest()
    key = f"modelling.mix:{METHOD}:{counts.revision()}:{digest}"

    def work_out() -> Mix:
        return mix(
            {each: ranking_of(replace(question, workload=each)) for each, w in weights.items() if w > 0}, weights
        )

    return remembered(key, work_out)
