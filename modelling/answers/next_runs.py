"""Says what to measure next: the comparisons that would tell most, each with a campaign filled in as far as can be."""

from collections.abc import Sequence
from urllib.parse import urlencode

from django.urls import reverse

from experiments.laboratory.measuring.engines import WORKLOADS
from modelling.estimation.value import Comparison
from modelling.evidence.axes import AXES, NATIVE, entry_parts
from modelling.evidence.names import label
from modelling.evidence.question import Question

from .content import NextRun

MOST = 3
LEAST_GAIN = 0.05  # percent; less is nothing

# Field of the campaign's form: column of an entry, and filter of a question.
_FILE_SYSTEMS = {"guest_file_systems": "guest_fs", "host_file_systems": "host_fs"}


def next_runs(question: Question, telling: Sequence[tuple[int, Comparison]]) -> tuple[NextRun, ...]:
    """Return the comparisons that one more laboratory should make first, the best first.

    telling : numbers of parts, with comparisons of their entries
    """
    axis = AXES[question.axis]
    runs = []
    for part, comparison in telling:
        keys, gain = (comparison.a, comparison.b), 100 * comparison.gain
        if gain >= LEAST_GAIN:
            labels = (label(axis, comparison.a), label(axis, comparison.b))
            runs.append(NextRun(part, keys, labels, gain, campaign_address(question, keys)))
    return tuple(sorted(runs, key=lambda run: -run.gain)[:MOST])


def campaign_address(question: Question, keys: tuple[str, ...] = ()) -> str:
    """Return the address of a new campaign on the question's workload with these entries; "" where none runs it."""
    if question.workload not in WORKLOADS:
        return ""
    parts = [entry_parts(AXES[question.axis], key) for key in keys]
    filled: dict[str, list[str | int]] = {"workloads": [question.workload]}
    if question.hypervisor != NATIVE:
        filled["vm_counts"] = [question.vm_count or 1]
    for field, column in _FILE_SYSTEMS.items():
        named = [part[column] for part in parts if part.get(column)] or [getattr(question, column)]
        filled[field] = [name for name in dict.fromkeys(named) if name]
    return f"{reverse('campaign-new')}?{urlencode(filled, doseq=True)}"
