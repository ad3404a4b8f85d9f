"""How good a model is: each run foretold by a model of the other runs. docs/models/detection.md, section 4."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from experiments.placement_driver.counters import Counts, total

from .classifier import Classifier, Matrix, Training, fit, folds, left_out, log_score
from .content import Bin, Report
from .features import is_idle, matrix, vector

UNLIKE, IDLE = "unlike", "idle"  # what may be said beside a workload
_BINS = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0)


@dataclass(frozen=True)
class Known:
    """A signature: what ran, in which run, and what the disk did."""

    workload: str
    run: str
    seconds: float
    counts: Counts


def training_of(signatures: Iterable[Known]) -> Training:
    """Those on which the disk worked."""
    working = [each for each in signatures if not is_idle(each.counts, each.seconds)]
    return Training(
        matrix([each.counts for each in working]),
        tuple(each.workload for each in working),
        tuple(each.run for each in working),
    )


def whole_runs(signatures: Iterable[Known]) -> list[Known]:
    """The signatures of one workload in one run joined: about a minute of statistics, as a machine is judged by."""
    found: dict[tuple[str, str], list[Known]] = {}
    for each in signatures:
        found.setdefault((each.run, each.workload), []).append(each)
    return [
        Known(workload, run, sum(each.seconds for each in parts), total(each.counts for each in parts))
        for (run, workload), parts in found.items()
    ]


def model_of(signatures: Sequence[Known], workloads: Sequence[str]) -> tuple[Classifier, Report]:
    """A model of the signatures of these workloads, and how good it is; the others are held against it.

    Raises classifier.TooFewError.
    """
    known = [each for each in signatures if each.workload in workloads]
    everything = training_of([*known, *whole_runs(known)])
    model = fit(everything)
    runs = [each for each in whole_runs(known) if each.workload in model.classes]
    return model, Report(
        workloads=model.classes,
        signatures=_counted(each.workload for each in known if each.workload in model.classes),
        runs=_counted(each.workload for each in runs),
        too_few=_counted(each.workload for each in known if each.workload not in model.classes),
        idle=_counted(each.workload for each in known if is_idle(each.counts, each.seconds)),
        confusion=_by_left_out(model, [each for each in known if each.workload in model.classes]),
        confusion_of_runs=_by_left_out(model, runs),
        calibration=calibration(model.training, left_out(model.training, model.strength)),
        log_score=log_score(model.training, left_out(model.training, model.strength)),
        strength=model.strength,
        farthest=model.farthest,
        foreign=confusion(
            (each.workload, said(model, each))
            for each in whole_runs([each for each in signatures if each.workload not in workloads])
        ),
    )


def said(model: Classifier, one: Known) -> str:
    """The likeliest workload, or that it is idle, or unlike anything known."""
    if is_idle(one.counts, one.seconds):
        return IDLE
    features = np.array([vector(one.counts)])
    if not model.is_known(features)[0]:
        return UNLIKE
    return model.classes[int(model.probabilities(features)[0].argmax())]


def _by_left_out(model: Classifier, signatures: Sequence[Known]) -> dict[str, dict[str, int]]:
    """What a model says of each run that was fitted to the others, with the same strength and farthest distance."""
    pairs: list[tuple[str, str]] = []
    held = np.array(model.training.groups)
    for fitted, foretold in folds(model.training):
        out = set(held[foretold])
        other = Classifier(model.training.chosen(fitted), model.strength, model.farthest)
        pairs += [(each.workload, said(other, each)) for each in signatures if each.run in out]
    working = set(held)
    pairs += [(each.workload, IDLE) for each in signatures if each.run not in working]
    return confusion(pairs)


def confusion(pairs: Iterable[tuple[str, str]]) -> dict[str, dict[str, int]]:
    """What ran to what was said to how often."""
    found: dict[str, Counter[str]] = {}
    for ran, told in pairs:
        found.setdefault(ran, Counter())[told] += 1
    return {ran: dict(sorted(counter.items())) for ran, counter in sorted(found.items())}


def calibration(training: Training, probabilities: Matrix) -> list[Bin]:
    """Whether what is given 80 % is right in 80 of 100. Bins without a signature are left out."""
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
