"""Test how well the models foretell what they have not seen: leave one case study out. No Django.

For every case study and every question that its own numbers or tier lists answer, each method of
modelling.validation.methods predicts the answer from everybody else's evidence, and is held against it.
Source: docs/models/quality.md.
"""

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pandas as pd

from kdb.host_storage import host_storage_parts
from modelling.estimation.arms import trials
from modelling.estimation.graph import connected
from modelling.estimation.ranking import Assumptions
from modelling.evidence.axes import AXES, Axis

from .methods import FILE_SYSTEM_AXES, METHODS, CannotPredict, Evidence, Forecast, Knowledge, Task, standings
from .scores import Outcome, Result, score

MOST_LEFT_OUT = 100  # case studies; of more, evenly spread ones are left out and the report says so


def leave_one_out(evidence: Evidence, assumptions: Assumptions) -> tuple[list[Result], list[str], list[str]]:
    """Ask every method every question of every case study; return the results, and the case studies left out and all.

    evidence : all of it, by workload
    """
    units = sources(evidence)
    chosen = units[:: -(-len(units) // MOST_LEFT_OUT)] if units else []
    results: list[Result] = []
    for unit in chosen:
        known = Knowledge(evidence, frozenset(unit), assumptions)
        for task in tasks(unit, evidence):
            methods = {name: method for name, method in METHODS.items() if task.axis.name in method.axes}
            results.append((task, {name: attempt(method.predict, task, known) for name, method in methods.items()}))
    return results, [slug for unit in chosen for slug in unit], [slug for unit in units for slug in unit]


def sources(evidence: Evidence) -> list[tuple[str, ...]]:
    """Return case studies that can be left out by themselves; those of one laboratory or tier list only together."""
    shared = {slugs for frame in evidence.findings.values() for slugs in frame["case_studies"]}
    for frame in evidence.arms.values():
        shared |= set(frame.groupby("laboratory")["case_study"].agg(lambda slugs: tuple(sorted(set(slugs)))))
    alone = {slug for frame in evidence.arms.values() for slug in frame["case_study"]}
    names = sorted(alone.union(*shared)) if shared else sorted(alone)
    links = np.eye(len(names))
    for slugs in shared:
        for a, b in combinations(slugs, 2):
            links[names.index(a), names.index(b)] = 1.0
    return sorted(tuple(names[index] for index in members) for members in connected(links)) if names else []


def tasks(unit: tuple[str, ...], evidence: Evidence) -> list[Task]:
    """Return every question that the evidence of these case studies answers by itself."""
    asked = []
    for workload, findings in evidence.findings.items():
        if not evidence.speaks(unit, workload):
            continue
        stated = findings[np.array([not set(unit).isdisjoint(s) for s in findings["case_studies"]], dtype=bool)]
        for axis in AXES.values():
            arms = evidence.comparable(workload, axis)
            own = arms[arms["case_study"].isin(unit)]
            for hypervisor, rows in _under_each(own, axis):
                asked += _from_numbers(unit, axis, workload, hypervisor, rows)
            # A list's hypervisor is one, and it speaks of files: these would be its pairs and host file systems again.
            if axis.name not in ("configuration", "host-storage"):
                for hypervisor, rows in _under_each(stated, axis):
                    asked += _from_lists(unit, axis, workload, hypervisor, rows)
    return sorted(asked, key=lambda task: [*AXES].index(task.axis.name))


def _under_each(rows: pd.DataFrame, axis: Axis) -> list[tuple[str | None, pd.DataFrame]]:
    """Split the rows by hypervisor if the axis is about guests or storage of images; else keep them together."""
    if axis.name not in (*FILE_SYSTEM_AXES, "host-storage"):
        return [(None, rows)]
    return [(hypervisor, rows[rows["hypervisor"] == hypervisor]) for hypervisor in sorted(set(rows["hypervisor"]))]


def _from_numbers(
    unit: tuple[str, ...], axis: Axis, workload: str, hypervisor: str | None, arms: pd.DataFrame
) -> list[Task]:
    asked = []
    for trial in trials(arms):
        if axis.name == "host-storage" and all(host_storage_parts(entry)[1] for entry in trial.treatments):
            continue  # files on stated file systems: host-fs asks the same
        truth = dict(zip(trial.treatments, trial.effects.mean(axis=1).tolist(), strict=True))
        own = arms[arms["case_study"].isin(trial.sources) & arms["entry"].isin(trial.treatments)]
        asked.append(Task(unit, axis, workload, hypervisor, truth, trial, own))
    return asked


def _from_lists(
    unit: tuple[str, ...], axis: Axis, workload: str, hypervisor: str | None, findings: pd.DataFrame
) -> list[Task]:
    truth = standings(findings, axis)
    return [Task(unit, axis, workload, hypervisor, truth)] if len(set(truth.values())) > 1 else []


def attempt(predict: Callable[[Task, Knowledge], Forecast], task: Task, known: Knowledge) -> Outcome:
    """Ask one method, and compare what it says with the truth."""
    try:
        return score(task, predict(task, known))
    except CannotPredict as reason:
        return Outcome(reason=str(reason))
