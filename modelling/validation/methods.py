"""Five methods that predict what a case study will find, from everybody else's evidence. No Django.

Two are models whose quality is in question, three are naive and set the mark they must pass.
Source: docs/models/quality.md.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pandas as pd

from kdb.units import THROUGHPUT
from modelling.estimation.arms import Spread, comparable_arms, trials
from modelling.estimation.cells import load_class, measurement_cells, scored_findings, tier_list_cells
from modelling.estimation.components import Components
from modelling.estimation.hierarchy import Knowledge as Known
from modelling.estimation.network import Trial, networks
from modelling.estimation.ranking import Assumptions, RankedPart, rank
from modelling.estimation.shares import COMPONENTS, fit
from modelling.evidence.axes import AXES, Axis, entry_parts

FILE_SYSTEM_AXES = ("fs-pair", "guest-fs", "host-fs")


class CannotPredict(Exception):  # noqa: N818 - an answer, not a mistake
    """The method has nothing to say about the task; the text says why and is fit to show."""


class Evidence:
    """All published evidence, with what is needed of it every time some case study is left out.

    arms, findings : workload to the frames of modelling.evidence.dataframes, the same workloads in both
    spread : of repetitions, before any is seen
    """

    def __init__(self, arms: Mapping[str, pd.DataFrame], findings: Mapping[str, pd.DataFrame], spread: Spread) -> None:
        self.arms, self.findings, self.spread = arms, findings, spread
        self._comparable: dict[tuple[str, str], pd.DataFrame] = {}
        self._trials: dict[tuple[str, str], list[Trial]] = {}
        self._speakers: dict[str, set[str]] = {}

    def speaks(self, case_studies: Iterable[str], workload: str) -> bool:
        """Tell whether one of the case studies has anything on the workload."""
        if workload not in self._speakers:
            stated = {slug for slugs in self.findings[workload]["case_studies"] for slug in slugs}
            self._speakers[workload] = stated | set(self.arms[workload]["case_study"])
        return not self._speakers[workload].isdisjoint(case_studies)

    def comparable(self, workload: str, axis: Axis) -> pd.DataFrame:
        """Return the arms that an axis compares."""
        key = (workload, axis.name)
        if key not in self._comparable:
            self._comparable[key] = comparable_arms(self.arms[workload], axis, self.spread)
        return self._comparable[key]

    def trials(self, workload: str, axis: Axis) -> list[Trial]:
        """Return the trials of these arms; each is one laboratory's, so leaving one out is leaving out its trials."""
        key = (workload, axis.name)
        if key not in self._trials:
            self._trials[key] = trials(self.comparable(workload, axis))
        return self._trials[key]


@dataclass(frozen=True)
class Task:
    """One question that a case study answers by itself.

    case_studies : who is left out; several only where they share their tier lists
    truth : entry to ln throughput up to a constant, or to its standing in tier lists; larger is better
    trial : the numbers behind it; None where the truth is a tier list
    arms : the arms of the trial, of comparable_arms; None where the truth is a tier list
    """

    case_studies: tuple[str, ...]
    axis: Axis
    workload: str
    hypervisor: str | None
    truth: Mapping[str, float]
    trial: Trial | None = None
    arms: pd.DataFrame | None = None


@dataclass(frozen=True)
class Forecast:
    """A method's expectation of the entries it knows.

    scores : entry to a number, larger is better
    ratios : (a, b) to the expected ln ratio and the variance of that expectation for a new case
        study, which has an error of its own on top; empty for a method that only orders
    """

    scores: Mapping[str, float]
    ratios: Mapping[tuple[str, str], tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Knowledge:
    """The knowledge a method may use: the evidence of all but some case studies."""

    evidence: Evidence
    left_out: frozenset[str]
    assumptions: Assumptions
    kept: dict[tuple[str, ...], Any] = field(default_factory=dict, compare=False)

    def arms(self, workload: str) -> pd.DataFrame:
        arms = self.evidence.arms[workload]
        return arms[~arms["case_study"].isin(self.left_out)]

    def findings(self, workload: str) -> pd.DataFrame:
        """Return the findings stated for none of the case studies left out."""
        findings = self.evidence.findings[workload]
        return findings[np.array([self.left_out.isdisjoint(slugs) for slugs in findings["case_studies"]], dtype=bool)]

    def trials(self, workload: str, axis: Axis) -> list[Trial]:
        return [trial for trial in self.evidence.trials(workload, axis) if self.left_out.isdisjoint(trial.sources)]

    def once(self, *what: str, work: Callable[[], Any]) -> Any:
        """Return what `work` gives, done once: the same evidence is asked several questions."""
        if what not in self.kept:
            self.kept[what] = work()
        return self.kept[what]


# The network estimate


def from_network(task: Task, known: Knowledge) -> Forecast:
    """Return the ranking of everybody else's evidence, with ratios where their numbers join two entries.

    Under whatever hypervisor the others worked, because hardly any two share one. Of parts that
    nothing joins, the one that knows most of the task's entries.
    """
    parts = known.once("parts", task.axis.name, task.workload, work=lambda: _parts(task, known))
    part = max(parts, key=lambda part: len(task.truth.keys() & set(part.members)), default=None)
    entries = sorted(task.truth.keys() & set(part.members)) if part else []
    if part is None or len(entries) < 2:
        raise CannotPredict("no other case study compares two of these entries for this workload")
    place = {entry: part.members.index(entry) for entry in entries}
    effects, errors = part.posterior.effects, part.posterior.predictive_errors()
    ratios = {}
    for a, b in combinations(entries, 2):
        net = next((net for net in part.networks if {a, b} <= set(net.treatments)), None)
        if net is not None:
            i, j = place[a], place[b]
            ratios[a, b] = float(effects[i] - effects[j]), float(errors[i, j] ** 2)
    return Forecast({entry: float(effects[index]) for entry, index in place.items()}, ratios)


def _parts(task: Task, known: Knowledge) -> tuple[RankedPart, ...]:
    arms, findings = known.arms(task.workload), known.findings(task.workload)
    where = {"workload": task.workload, "load": load_class(task.workload, "")}
    everything = known.once("everything", work=lambda: _everything(known))
    return rank(arms, findings, task.axis, known.assumptions, knowledge=everything, where=where).parts


def _everything(known: Knowledge) -> Known:
    """Return what all workloads say together."""
    assumed = known.assumptions
    arms = [known.arms(workload).assign(workload=workload) for workload in known.evidence.arms]
    numbers = measurement_cells(
        pd.concat([rows for rows in arms if len(rows)] or arms[:1], ignore_index=True), assumed.spread
    )
    stated = {workload: known.findings(workload) for workload in known.evidence.findings}
    findings = [own.assign(workload=workload) for workload, own in stated.items() if len(own)]
    lists = tier_list_cells(
        pd.concat(findings) if findings else None, AXES["fs-pair"], assumed.tier_scale, assumed.tier_doubt
    )
    return Known(pd.concat([numbers, lists], ignore_index=True), assumed.scales)


# The component model


def from_components(task: Task, known: Knowledge) -> Forecast:
    """Forecast the very configurations of the task by the additive model of everybody else's numbers."""
    if task.trial is None or task.arms is None:
        raise CannotPredict("tier lists name no configurations that components could be added up for")
    model = known.once("components", task.workload, work=lambda: _component_model(task.workload, known))
    if model is None:
        raise CannotPredict("no other case study compares configurations for this workload")
    differ = _differences(task.arms)
    entries = task.trial.treatments
    between_studies, contrasts = model.tau2 or 0.0, {}
    for i, j in permutations(range(len(entries)), 2):
        weights = {name: share for name, effect in differ.items() if abs(share := effect[i, j]) > 1e-9}
        if weights.keys() <= set(model.names):
            vector = np.array([weights.get(name, 0.0) for name in model.names])
            if (contrast := model.contrast(vector)) is not None:
                contrasts[entries[i], entries[j]] = contrast[0], contrast[1] ** 2 + between_studies
    return _in_order(entries, contrasts)


def _component_model(workload: str, known: Knowledge) -> Components | None:
    axis = AXES["configuration"]
    known_trials = known.trials(workload, axis)
    rows = known.evidence.comparable(workload, axis).drop_duplicates("entry").to_dict("records")
    return fit(known_trials, {row["entry"]: _components(row) for row in rows}) if known_trials else None


def _differences(arms: pd.DataFrame) -> dict[str, np.ndarray]:
    """Return component to (entries, entries) how much more of it an entry of a trial has than another.

    arms : of modelling.estimation.arms.comparable_arms, of one trial whose entries are numbered in their order. Its
        averaging is linear in arms, so it is put to each component's indicator in place of the logarithm of throughput.
    """
    rows = map(_components, arms.to_dict("records"))
    of_arm: list[set[str]] = [{f"{kind}={value}" for kind, value in row.items()} for row in rows]
    effects = {}
    for name in sorted(set[str]().union(*of_arm) - of_arm[0].intersection(*of_arm)):
        (trial,) = trials(arms.assign(mean_log=[float(name in own) for own in of_arm], metric=THROUGHPUT))
        effects[name] = trial.effects
    return effects


def _components(row: Mapping[str, object]) -> dict[str, str]:
    """Return the stated components of an arm."""
    return {kind: value for kind in COMPONENTS if isinstance(value := row[kind], str) and value}


def _in_order(entries: Sequence[str], contrasts: Mapping[tuple[str, str], tuple[float, float]]) -> Forecast:
    """Return a forecast from contrasts: it orders the entries that have one against the entry with most contrasts."""
    base = max(entries, key=lambda entry: sum(pair[1] == entry for pair in contrasts))
    scores = {base: 0.0, **{a: effect for (a, b), (effect, _) in contrasts.items() if b == base}}
    if len(scores) < 2:
        raise CannotPredict("what differs here is not in other case studies")
    return Forecast(scores, {(a, b): contrast for (a, b), contrast in contrasts.items() if a < b})


# Naive


def _pair(axis: Axis, entry: str) -> tuple[str, str]:
    """Return the guest and host file system of an entry; what the axis holds fixed is left empty."""
    parts = entry_parts(axis, entry)
    return parts.get("guest_fs", ""), parts.get("host_fs", "")


def ext4_first(task: Task, known: Knowledge) -> Forecast:
    """Forecast ext4 (on ext4) before everything else, and everything else alike."""
    scores = {entry: float(set(filter(None, _pair(task.axis, entry))) == {"ext4"}) for entry in task.truth}
    if len(set(scores.values())) < 2:
        raise CannotPredict("none of the entries is ext4, or all are")
    return Forecast(scores)


def no_difference(task: Task, known: Knowledge) -> Forecast:
    """Forecast all entries equally fast, give or take what others saw on this axis for any workload."""
    pairs = combinations(task.trial.treatments, 2) if task.trial is not None else ()
    variance = known.once("differences", task.axis.name, work=lambda: _mean_square(task.axis, known, {}))
    if variance is None:
        raise CannotPredict("no other case study says how much entries of this axis differ")
    return Forecast(dict.fromkeys(task.truth, 0.0), dict.fromkeys(pairs, (0.0, variance)))


def overall_mean(task: Task, known: Knowledge) -> Forecast:
    """Return the mean effect of each entry over all workloads and case studies of the others, each counting alike.

    Of numbers, or of standings in tier lists where these know more of the task's entries. Ratios are as uncertain as
    others' are around these means.
    """
    parts = known.once("mean", task.axis.name, work=lambda: _means(task.axis, known))
    inside = [{entry: score for entry, score in part.items() if entry in task.truth} for part in parts]
    scores = max(inside, key=len)  # the first of equals: numbers before lists
    if len(scores) < 2:
        raise CannotPredict("no other case study compares two of these entries for any workload")
    place = inside.index(scores)
    if place == len(parts) - 1:
        return Forecast(scores)
    variance = known.once(
        "around", task.axis.name, str(place), work=lambda: _mean_square(task.axis, known, parts[place])
    )
    return Forecast(scores, {(a, b): (scores[a] - scores[b], variance) for a, b in combinations(sorted(scores), 2)})


def _mean_square(axis: Axis, known: Knowledge, expected: Mapping[str, float]) -> float | None:
    """Return the mean square of the others' ln ratios around the expected ones, of pairs in it; around 0 if empty."""
    squares = [
        (trial.effects[i, j] - (expected[a] - expected[b] if expected else 0.0)) ** 2
        for workload in known.evidence.arms
        for trial in known.trials(workload, axis)
        for (i, a), (j, b) in combinations(enumerate(trial.treatments), 2)
        if not expected or {a, b} <= expected.keys()
    ]
    return float(np.mean(squares)) if squares else None


def _means(axis: Axis, known: Knowledge) -> list[dict[str, float]]:
    """Return entry to mean ln throughput for each set of entries that numbers join, and at last to mean standing."""
    alike = []
    for workload in known.evidence.arms:
        alike += [
            Trial.from_arms(t.name, t.treatments, t.effects.mean(axis=1), np.ones(len(t.treatments)))
            for t in known.trials(workload, axis)
        ]
    means = [dict(zip(net.treatments, net.common.effects.tolist(), strict=True)) for net in networks(alike)]
    return [*means, _mean_standing(map(known.findings, known.evidence.findings), axis)]


def _mean_standing(findings: Iterable[pd.DataFrame], axis: Axis) -> dict[str, float]:
    means = [standings(frame, axis) for frame in findings]
    return {entry: float(np.mean([mean[entry] for mean in means if entry in mean])) for entry in set().union(*means)}


def standings(findings: pd.DataFrame, axis: Axis) -> dict[str, float]:
    """Return the mean standing of each entry over the tier lists it is in; -2 worst to +2 best."""
    scored = scored_findings(findings, axis)
    return {} if scored.empty else scored.groupby("entry")["standing"].mean().to_dict()


@dataclass(frozen=True)
class Method:
    """One method. axes: those it can be asked about at all."""

    name: str
    label: str
    predict: Callable[[Task, Knowledge], Forecast]
    axes: tuple[str, ...] = tuple(AXES)
    is_naive: bool = False


METHODS = {
    method.name: method
    for method in (
        Method("network", "Network estimate", from_network),
        Method(
            "components",
            "Additive components",
            from_components,
            axes=tuple(axis.name for axis in AXES.values() if set(axis.entry) <= set(COMPONENTS)),
        ),
        Method("ext4", "ext4 first", ext4_first, axes=(*FILE_SYSTEM_AXES, "configuration"), is_naive=True),
        Method("mean", "Mean over all workloads", overall_mean, is_naive=True),
        Method("none", "No difference", no_difference, is_naive=True),
    )
}
