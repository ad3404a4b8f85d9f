"""Addresses of mixes. No queries."""

from collections.abc import Mapping
from urllib.parse import urlencode

from modelling.evidence.question import Question

DECIMALS = 6  # of a weight


def _exactly(weight: float) -> str:
    """Write a weight as WeightsField reads it, every digit of it: 0.00005, 1000000."""
    return f"{weight:.{DECIMALS}f}".rstrip("0").rstrip(".")


def mix_address(question: Question, weights: Mapping[str, float], **extra: str | int) -> str:
    """Return the address of the answer under a mix of workloads. weights : workload to share, in any unit"""
    shares = {workload: _exactly(weight) for workload, weight in weights.items() if weight}
    return f"/mix/?{urlencode({'axis': question.axis, **question.asked, **shares, **extra})}"


def mix_api_address(question: Question, weights: Mapping[str, float], **extra: str | int) -> str:
    """Return the address of the same answer as data."""
    shares = ",".join(f"{workload}:{_exactly(weight)}" for workload, weight in weights.items() if weight)
    query = urlencode({"axis": question.axis, **question.asked, "weights": shares, **extra}, safe=",:")
    return f"/api/v1/mixes/?{query}"
