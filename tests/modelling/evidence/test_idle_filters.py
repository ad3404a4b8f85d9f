"""A filter that changes nothing is found without reading the evidence again, as reading it again finds it."""

from dataclasses import replace
from itertools import product

import pytest

from modelling.evidence.dataframes import arms, findings, has_idle_filter
from modelling.evidence.question import GRADES, Question

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]

FILTERS = [
    {"hypervisor": "kvm"},
    {"hypervisor": "esxi", "guest_fs": "ext4"},
    {"hypervisor": "kvm", "vm_count": 1},
    {"hypervisor": "xen", "benchmark": "filebench"},
    {"vm_count": 2, "metric": "throughput"},
    {"hypervisor": "hyper-v", "guest_os_family": "windows"},
    {"benchmark": "filebench", "evidence": "papers"},
    {"hypervisor": "kvm", "host_fs": "ext4"},  # of varmail the same arms as without host_fs, but fewer lists
    {"grade": "B"},
    {"grade": "A", "hypervisor": "kvm"},
    {"host_storage": "dir-ext4", "metric": "latency"},
]


def wider(question: Question) -> list[Question]:
    """Return the question without each of its filters, or with the next lower grade."""
    without = [replace(question, **{name: None}) for name in question.filters if name != "grade"]
    lower = {"A": "B", "B": "C", "C": "D", "D": None}
    return without + ([replace(question, grade=lower[question.grade])] if question.grade else [])


@pytest.mark.parametrize("axis", ["fs-pair", "hypervisor"])
def test_a_filter_is_idle_where_the_evidence_is_the_same_without_it(published_evidence, axis):
    assert GRADES == ("A", "B", "C", "D")
    outcomes = set()
    for workload, filters in product(("varmail", "fileserver"), FILTERS):
        question = Question(axis, workload, **filters)
        is_idle = any(
            arms(other).equals(arms(question)) and findings(other).equals(findings(question))
            for other in wider(question)
        )
        assert has_idle_filter(question) == is_idle, question
        outcomes.add(is_idle)
    assert outcomes == {True, False}
