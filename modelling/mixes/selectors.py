"""The answer under a mix of workloads, as pages and the API ask for it."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace

from kdb.units import THROUGHPUT
from modelling.answers.selectors import ranking_of
from modelling.estimation.mixes import Mix, mix
from modelling.estimation.ranking import METHOD
from modelling.evidence import counts
from modelling.evidence.keeping import remembered
from modelling.evidence.question import Question


def mixed(question: Question, weights: Mapping[str, float]) -> Mix:
    """The answer to the question under a mix of workloads, by throughput (its own workload does not matter).

    Kept in memory for as long as the knowledge revision stands.
    """
    asked = ",".join(f"{workload}:{weight!r}" for workload, weight in sorted(weights.items()))
    digest = hashlib.sha256(f"{question.key}|{asked}".encode()).hexdigest()
    key = f"modelling.mix:{METHOD}:{counts.revision()}:{digest}"

    by_throughput = replace(question, metric=THROUGHPUT)  # shares in different metrics are not added up

    def work_out() -> Mix:
        asked = {each: replace(by_throughput, workload=each) for each, weight in weights.items() if weight > 0}
        return mix({workload: ranking_of(each) for workload, each in asked.items()}, weights)

    return remembered(key, work_out)
