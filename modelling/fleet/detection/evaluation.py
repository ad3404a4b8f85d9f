"""Evaluate a model: each run foretold by a model of the other runs. docs/models/detection.md, section 4."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from experiments.laboratory.reach.counters import Counts, total

from .classifier import Classifier, Matrix, Training, fit, folds, left_out, log_score
from .content import IDLE, UNLIKE, Bin, Report
from .features import is_idle, matrix, vector

_BINS = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0)


@dataclass(frozen=True)
class Known:
    """A signature: what ran, in which run, and what the disk did."""

    workload: str
    run: str
    seconds: float
    counts: Counts


def training_of(signatures: Iterable[Known]) -> Training:
    """Return the signatures on which the disk worked, as training."""
    working = [signature for signature in signatures if not is_idle(signature.counts, signature.seconds)]
    return Training(
        matrix([signature.counts for signature in working]),
        tuple(signature.workload for signature in working),
        tuple(signature.run for signature in working),
    )


def whole_runs(signatures: Iterable[Known]) -> list[Known]:
    """Join the signatures of one workload in one run: about a minute of statistics, as a machine is judged by."""
    of_run: dict[tuple[str, str], list[Known]] = {}
    for signature in signatures:
        of_run.setdefault((signature.run, signature.workload), []).append(signature)
    return [
        Known(
            workload, run, sum(signature.seconds for signature in parts), total(signature.counts for signature in parts)
        )
        for (run, workload), parts in of_run.items()
    ]


def model_of(signatures: Sequence[Known], workloads: Sequence[str]) -> tuple[Classifier, Report]:
    """Return a model of the signatures, and how good it is by runs left out.

    workloads : that may be told; what else ran teaches nothing, and is held against the model
    Raises classifier.TooFewError where fewer than two of the workloads have enough.
    """
    told = tuple(workloads)
    model = _fitted(signatures, told)
    runs = whole_runs(signatures)
    known = [signature for signature in signatures if signature.workload in model.workloads]
    foreign = [signature for signature in runs if signature.workload not in told]
    probabilities = left_out(model.training, model.penalty)
    by_left_out = _by_left_out(
        model, [*known, *foreign, *(signature for signature in runs if signature.workload in model.workloads)]
    )
    alone, joined = by_left_out[: len(known)], by_left_out[len(known) :]
    return model, Report(
        workloads=model.workloads,
        signatures=_counted(signature.workload for signature in known),
        runs=_counted(signature.workload for signature in runs if signature.workload in model.workloads),
        too_few=_counted(
            signature.workload for signature in signatures if signature.workload in told and signature not in known
        ),
        idle=_counted(signature.workload for signature in known if is_idle(signature.counts, signature.seconds)),
        confusion=confusion(alone),
        confusion_of_runs=confusion(pair for pair in joined if pair[0] in told),
        calibration=calibration(model.training, probabilities),
        log_score=log_score(model.training, probabilities),
        penalty=model.penalty,
        farthest=model.farthest,
        foreign=confusion(pair for pair in joined if pair[0] not in told),
    )


def _fitted(signatures: Iterable[Known], told: tuple[str, ...]) -> Classifier:
    known = [signature for signature in signatures if signature.workload in told]
    return fit(training_of([*known, *whole_runs(known)]), told)


def classified(model: Classifier, one: Known) -> str:
    """Return the likeliest workload, or that it is idle, or unlike anything known."""
    if is_idle(one.counts, one.seconds):
        return IDLE
    told = model.tell(np.array([vector(one.counts)]))[0]
    return told or UNLIKE


def _by_left_out(model: Classifier, signatures: Sequence[Known]) -> list[tuple[str, str]]:
    """Return what ran, and what models fitted to other runs with the same parameters say about it."""
    held = np.array(model.training.groups)
    others: dict[str, Classifier] = {}
    for fitted, foretold in folds(model.training):
        other = replace(model, training=model.training.chosen(fitted))
        others |= dict.fromkeys(held[foretold], other)
    return [(signature.workload, classified(others.get(signature.run, model), signature)) for signature in signatures]


def confusion(pairs: Iterable[tuple[str, str]]) -> dict[str, dict[str, int]]:
    """Count for each workload that ran how often each workload was detected."""
    counts: dict[str, Counter[str]] = {}
    for ran, told in pairs:
        counts.setdefault(ran, Counter())[told] += 1
    return {ran: dict(sorted(counter.items())) for ran, counter in sorted(counts.items())}


def calibration(training: Training, probabilities: Matrix) -> list[Bin]:
    """Compare probabilities with hits: what is given 80 % should be right in 80 of 100. Empty bins are left out."""
    top, right = probabilities.max(axis=1), probabilities.argmax(axis=1)
    hits = np.array([training.classes.index(workload) for workload in training.workloads]) == right
    bins = []
    for low, high in pairwise(_BINS):
        inside = (top > low) & (top <= high)
        if inside.any():
            bins.append(Bin(low, high, int(inside.sum()), float(top[inside].mean()), float(hits[inside].mean())))
    return bins


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))
