"""Where mixes stand. No queries."""

from collections.abc import Mapping
from urllib.parse import urlencode

from modelling.evidence.question import Question


def mix_address(question: Question, weights: Mapping[str, float], **extra: str | int) -> str:
    """Where the answer under a mix of workloads stands. weights : workload to share, in any unit"""
    shares = {workload: f"{weight:g}" for workload, weight in weights.items() if weight}
    return f"/mix/?{urlencode({'axis': question.axis, **question.filters, **shares, **extra})}"


def mix_api_address(question: Question, weights: Mapping[str, float], **extra: str | int) -> str:
    """Where the same answer stands as data."""
    shares = ",".join(f"{workload}:{weight:g}" for workload, weight in weights.items() if weight)
    query = urlencode({"axis": question.axis, **question.filters, "weights": shares, **extra}, safe=",:")
    return f"/api/v1/mixes/?{query}"
