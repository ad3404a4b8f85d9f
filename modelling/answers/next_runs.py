"""Propose runs on the reader's machine: what to measure, what the choice gains, and the address of a campaign."""

import math
from collections.abc import Sequence
from urllib.parse import urlencode

from django.conf import settings
from django.urls import reverse

from experiments.laboratory.benchmarks.engines import WORKLOADS
from kdb.disk_path import SETTINGS
from modelling.estimation.value import ALL, FACTORIAL, LEADING, RunSet, propose_run_sets
from modelling.evidence import names
from modelling.evidence.axes import AXES, NATIVE, entry_parts
from modelling.evidence.names import label
from modelling.evidence.question import Question
from modelling.evidence.words import counted, listed, some

from .content import NextRun
from .words import THING

# Field of the campaign's form to column of an entry, which is also the filter of a question.
_FILE_SYSTEMS = {"guest_file_systems": "guest_fs", "host_file_systems": "host_fs"}


def propose_runs(question: Question, sets: Sequence[RunSet]) -> tuple[NextRun, ...]:
    """Return the sets of runs to propose: the one with the largest gain per run, then larger ones that gain more."""
    axis = AXES[question.axis]
    runs: list[NextRun] = []
    for chosen in propose_run_sets(sets, math.log1p(settings.KDB_LEAST_GAIN)):
        gain = 100 * math.expm1(chosen.gain)
        what = _name_entries(question, chosen, is_first=not runs)
        how_many = counted(chosen.runs, "run")
        if runs:
            sentence = f"{what}, {how_many}: {_percent(gain)}."
        else:
            sentence = (
                f"Measure {what} on your machine, {how_many}: your pick is then {_percent(gain)} faster on average."
            )
        runs.append(
            NextRun(
                kind=chosen.kind,
                entries=chosen.entries,
                labels=tuple(label(axis, key) for key in chosen.entries),
                repetitions=chosen.repetitions,
                runs=chosen.runs,
                gain=gain,
                sentence=sentence,
                campaign=campaign_address(question, chosen.entries, chosen.repetitions),
            )
        )
    return tuple(runs)


def describe_runs(question: Question, sets: Sequence[RunSet], runs: Sequence[NextRun]) -> str:
    """State which runs are proposed, or that none is worth it; "" without sets. runs : of propose_runs, from sets"""
    if runs or not sets:
        return " ".join(run.sentence for run in runs)
    largest = max(sets, key=lambda candidate: candidate.runs)
    what = f"runs of {_name_entries(question, largest, is_first=True)}"
    return (
        f"Nothing is worth measuring on your machine: after {what} your pick would be less than "
        f"{_percent(100 * settings.KDB_LEAST_GAIN)} faster on average."
    )


def _name_entries(question: Question, runs: RunSet, *, is_first: bool) -> str:
    """Name the entries of a set of runs: the first set inside a sentence, others at its beginning."""
    axis = AXES[question.axis]
    keys, size, thing = runs.entries, len(runs.entries), THING[question.axis]
    labels = some([label(axis, key) for key in keys])
    if runs.kind == FACTORIAL:
        file_systems = names.names()["file_system"]
        parts = [entry_parts(axis, key) for key in keys]
        guests, hosts = (
            listed(dict.fromkeys(file_systems.get(part[column], part[column]) for part in parts))
            for column in ("guest_fs", "host_fs")
        )
        return f"{'each' if is_first else 'Each'} of {guests} in guests on each of {hosts} on hosts"
    if runs.kind == ALL and (size > 2 or not is_first):
        return f"{'all' if is_first else 'All'} {counted(size, thing, _PLURAL.get(thing, ''))} ({labels})"
    if runs.kind == LEADING and not is_first:
        return f"The first {counted(size, thing, _PLURAL.get(thing, ''))} ({labels})"
    return labels


_PLURAL = {"host storage": "kinds of host storage"}


def campaign_address(question: Question, keys: tuple[str, ...] = (), repetitions: int | None = None) -> str:
    """Return the address of a pre-filled campaign form; "" where campaigns cannot run the question's workload.

    keys : of the entries; repetitions : of each run; None: the default of campaigns
    """
    if question.workload not in WORKLOADS:
        return ""
    parts = [entry_parts(AXES[question.axis], key) for key in keys]
    filled: dict[str, list[str | int]] = {"workloads": [question.workload]}
    if question.hypervisor != NATIVE:
        filled["vm_counts"] = [question.vm_count or 1]
    for field, column in _FILE_SYSTEMS.items():
        named = [part[column] for part in parts if part.get(column)] or [getattr(question, column)]
        filled[field] = [name for name in dict.fromkeys(named) if name]
    for column, setting in SETTINGS.items() if question.hypervisor != NATIVE else ():
        named = [part[column] for part in parts if part.get(column)] or [getattr(question, column)]
        if tried := [value for value in dict.fromkeys(named) if value in setting.tried]:
            filled[column] = [*tried]
    if repetitions is not None:
        filled["repetitions"] = [repetitions]
    return f"{reverse('campaign-new')}?{urlencode(filled, doseq=True)}"


def _percent(gain: float) -> str:
    return f"{gain:.0f}\u00a0%" if gain >= 1 else f"{gain:.1f}\u00a0%"
