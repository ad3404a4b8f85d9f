"""Evaluate a model by cross-validation over runs, and by programs that were held back.

docs/models/detection.md, section 6.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from experiments.laboratory.transport.counters import Counts, total

from .classifier import Classifier, Training, fit, folds
from .content import HELD_BACK, IDLE, OR, OTHERS, UNLIKE, Report
from .features import is_cached, is_idle, matrix


class Load(Protocol):
    """A load to classify: a signature, or minutes of a machine."""

    @property
    def counts(self) -> Counts: ...


@dataclass(frozen=True)
class Known:
    """A signature: workload and run, and the counters of the disk."""

    workload: str
    run: str
    seconds: float
    counts: Counts

    @property
    def is_idle(self) -> bool:
        return is_idle(self.counts, self.seconds)


def whole_runs(signatures: Iterable[Known]) -> list[Known]:
    """Join the signatures of one workload in one run: about a minute, as for minutes of a machine."""
    of_run: dict[tuple[str, str], list[Known]] = {}
    for signature in signatures:
        of_run.setdefault((signature.run, signature.workload), []).append(signature)
    return [
        Known(
            workload,
            run,
            sum(signature.seconds for signature in parts),
            total(signature.counts for signature in parts),
        )
        for (run, workload), parts in of_run.items()
    ]


def training_of(signatures: Sequence[Known], workloads: tuple[str, ...]) -> Training:
    """Return signatures and whole runs of known classes, without idle ones and cached workloads."""
    learnt_from = [
        signature
        for signature in (*signatures, *whole_runs(signatures))
        if (signature.workload in OTHERS or signature.workload in workloads)
        and not signature.is_idle
        and not (signature.workload in workloads and is_cached(signature.counts))
    ]
    return Training(
        matrix([signature.counts for signature in learnt_from]),
        tuple(signature.workload for signature in learnt_from),
        tuple(signature.run for signature in learnt_from),
    )


def sets(model: Classifier, loads: Sequence[Load]) -> list[tuple[str, ...]]:
    """Return the classes of each load, none of which may be idle; a cached load is never a workload alone."""
    if not loads:
        return []
    like = model.sets(matrix([load.counts for load in loads]))
    return [
        () if is_cached(load.counts) and model.is_workload(classes) else classes
        for load, classes in zip(loads, like, strict=True)
    ]


def describe_load(model: Classifier, signature: Known) -> str:
    """Return the class of a load, several joined by OR, IDLE or UNLIKE."""
    if signature.is_idle:
        return IDLE
    return OR.join(sets(model, [signature])[0]) or UNLIKE


def model_of(signatures: Sequence[Known], workloads: Sequence[str]) -> tuple[Classifier, Report]:
    """Return a model of the signatures, and its report. Raises classifier.TooFewError.

    workloads : of the catalogue; of other loads only OTHERS are learnt
    """
    catalogue = tuple(workloads)
    model = fit(training_of(signatures, catalogue), catalogue)
    return model, _report(model, signatures)


def _report(model: Classifier, signatures: Sequence[Known]) -> Report:
    catalogue, runs = model.catalogue, whole_runs(signatures)
    known = [signature for signature in signatures if signature.workload in model.classes]
    known_runs = [signature for signature in runs if signature.workload in model.classes]
    without_run = _without_run(model)
    joined = [(run, describe_load(without_run.get(run.run, model), run)) for run in known_runs]
    held_back = [(run, describe_load(model, run)) for run in runs if HELD_BACK in run.workload]
    return Report(
        workloads=model.workloads,
        others=[name for name in model.classes if name not in catalogue],
        signatures=_count(signature.workload for signature in known),
        runs=_count(signature.workload for signature in known_runs),
        too_few=_count(
            signature.workload for signature in signatures if signature.workload in catalogue and signature not in known
        ),
        idle=_count(signature.workload for signature in known if signature.is_idle),
        cached=_count(
            signature.workload
            for signature in known
            if signature.workload in catalogue and not signature.is_idle and is_cached(signature.counts)
        ),
        confusion_of_runs=_confusion_matrix(joined),
        held_back=_confusion_matrix(held_back),
        sureness=dict(model.sureness),
        known_right=_share(
            name == _class(run)
            for run, name in (*joined, *held_back)
            if _class(run) in catalogue and not run.is_idle and not is_cached(run.counts)
        ),
        foreign_told=_share(
            name in model.classes and name != _class(run) for run, name in held_back if _class(run) not in catalogue
        ),
    )


def _without_run(model: Classifier) -> dict[str, Classifier]:
    """Return run to a model trained without it."""
    models: dict[str, Classifier] = {}
    for rows in folds(model.training):
        models |= dict.fromkeys(np.array(model.training.groups)[rows], model.without(rows))
    return models


def _class(run: Known) -> str:
    return run.workload.partition(HELD_BACK)[0]


def _confusion_matrix(pairs: Iterable[tuple[Known, str]]) -> dict[str, dict[str, int]]:
    """Return true load to detected load to number of runs. pairs : a run, and what was detected"""
    counts: dict[str, Counter[str]] = {}
    for run, name in pairs:
        counts.setdefault(run.workload, Counter())[name] += 1
    return {ran: dict(sorted(counter.items())) for ran, counter in sorted(counts.items())}


def _share(values: Iterable[bool]) -> float | None:
    counted = list(values)
    return sum(counted) / len(counted) if counted else None


def _count(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))
