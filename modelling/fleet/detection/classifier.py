"""Tell which known workload a disk's statistics are like, how probably, and whether they are like any.

A least squares support vector machine with a Gaussian kernel (Suykens, Vandewalle 1999) over a handful of shares and
sizes, made into probabilities on runs that it was not fitted to (one temperature; Guo, Pleiss, Sun, Weinberger 2017).
"Unlike anything known" is a matter of distance: to the nearest known signatures, against how far known ones are from
those of other runs. docs/models/detection.md, sections 2 and 3.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

METHOD = 2  # of the way from signatures to a model: another one, and models are made anew
LEAST_SIGNATURES = 10  # of a workload, and
LEAST_RUNS = 4  # so many runs, for it to be foretold at all
FOLDS = 4  # of runs, never of signatures of one run
NEIGHBOURS = 2  # the distance is that to the second nearest: one odd signature draws nothing near
KNOWN_SHARE = 0.975  # of known signatures that are not to be called unlike anything known
PENALTIES = (1.0, 10.0, 100.0)  # of a signature on the wrong side (C): chosen by the log score of left-out runs
LOG_TEMPERATURES = (-4.0, 4.0)  # searched
Matrix = NDArray[np.float64]


class TooFewError(ValueError):
    """There is no model with so few signatures; the text says of what."""


@dataclass(frozen=True)
class Training:
    """Known loads, none of them idle. groups: the run that each belongs to."""

    features: Matrix
    workloads: tuple[str, ...]
    groups: tuple[str, ...]

    @property
    def classes(self) -> list[str]:
        return sorted(set(self.workloads))

    def chosen(self, rows: NDArray[np.bool_] | NDArray[np.intp]) -> "Training":
        at = np.arange(len(self.workloads))[rows]
        return Training(self.features[at], tuple(self.workloads[i] for i in at), tuple(self.groups[i] for i in at))


def enough(training: Training, told: tuple[str, ...]) -> Training:
    """Leave out the loads of which there is too little. Raises TooFewError where fewer than two of `told` are left."""
    counts = {
        workload: (
            training.workloads.count(workload),
            len({group for group, ran in zip(training.groups, training.workloads, strict=True) if ran == workload}),
        )
        for workload in training.classes
    }
    kept = [
        name for name, (signatures, runs) in counts.items() if signatures >= LEAST_SIGNATURES and runs >= LEAST_RUNS
    ]
    if len(set(kept) & set(told)) < 2:
        short = ", ".join(
            f"{name} {signatures} of {runs} runs" for name, (signatures, runs) in counts.items() if name in told
        )
        raise TooFewError(
            f"At least two workloads with {LEAST_SIGNATURES} signatures of {LEAST_RUNS} runs each are needed; "
            f"there are {short or 'none'}."
        )
    return training.chosen(np.isin(training.workloads, kept))


@dataclass(frozen=True)
class Classifier:
    """A fitted model.

    told : the workloads that may be told
    penalty : of PENALTIES
    farthest : the distance beyond which nothing is known
    """

    training: Training
    told: tuple[str, ...]
    penalty: float
    farthest: float

    @cached_property
    def _temperature(self) -> float:
        return temperature(self.training, self.penalty)

    @property
    def classes(self) -> list[str]:
        return self.training.classes

    @property
    def workloads(self) -> list[str]:
        """Return the classes that may be detected, in the order of the columns."""
        return [name for name in self.classes if name in self.told]

    def probabilities(self, features: Matrix) -> Matrix:
        """Return a row for each of `features`, a column for each of `classes`; rows add up to 1."""
        scores = _scores(self.training, self.classes, self.penalty, features)
        return np.exp(log_softmax(scores / self._temperature, axis=1))

    def tell(self, features: Matrix) -> list[str]:
        """Return the likeliest workload of each row; "" if it is unlike anything that may be detected."""
        likeliest = [self.classes[column] for column in self.probabilities(features).argmax(axis=1)]
        near = distances(features, self.training.features) <= self.farthest
        return [name if is_near and name in self.told else "" for name, is_near in zip(likeliest, near, strict=True)]

    def shares(self, features: Matrix) -> Matrix:
        """Return `probabilities` with a column for each of `workloads`, given that it is one of them."""
        columns = [self.classes.index(name) for name in self.workloads]
        probabilities = self.probabilities(features)[:, columns]
        return np.asarray(probabilities / probabilities.sum(axis=1, keepdims=True))


def fit(training: Training, told: tuple[str, ...]) -> Classifier:
    """Choose the penalty and the farthest distance by runs left out, and fit to all. Raises TooFewError.

    Deterministic: the same signatures make the same model.
    """
    training = enough(training, told)
    scores = {penalty: log_score(training, left_out(training, penalty)) for penalty in PENALTIES}
    best = max(PENALTIES, key=lambda penalty: (round(scores[penalty], 3), -penalty))
    return Classifier(training, told, best, float(np.quantile(left_out_distances(training), KNOWN_SHARE)))


def folds(training: Training) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Split the rows into ones to fit to and ones to foretell; no run is divided, workloads are spread over all."""
    workload_of = dict(zip(training.groups, training.workloads, strict=True))
    shuffled = np.random.default_rng(0).permutation(sorted(workload_of)).tolist()
    dealt = {run: place % FOLDS for place, run in enumerate(sorted(shuffled, key=workload_of.__getitem__))}
    fold = np.array([dealt[run] for run in training.groups])
    return [(np.flatnonzero(fold != number), np.flatnonzero(fold == number)) for number in range(FOLDS)]


def left_out(training: Training, penalty: float) -> Matrix:
    """Return the probabilities of each signature by a model of the other runs; columns as `training.classes`."""
    scores = _left_out_scores(training, penalty)
    for fitted, foretold in folds(training):
        scores[foretold] /= temperature(training.chosen(fitted), penalty)
    return np.exp(log_softmax(scores, axis=1))


def temperature(training: Training, penalty: float) -> float:
    """Return what scores are divided by before they become probabilities: the best for runs left out."""
    scores = _left_out_scores(training, penalty)
    right = [training.classes.index(workload) for workload in training.workloads]

    def missed(log_temperature: float) -> float:
        return -float(log_softmax(scores / np.exp(log_temperature), axis=1)[np.arange(len(right)), right].mean())

    return float(np.exp(minimize_scalar(missed, bounds=LOG_TEMPERATURES, method="bounded").x))


def _left_out_scores(training: Training, penalty: float) -> Matrix:
    scores = np.zeros((len(training.workloads), len(training.classes)))
    for fitted, foretold in folds(training):
        scores[foretold] = _scores(training.chosen(fitted), training.classes, penalty, training.features[foretold])
    return scores


def _scores(training: Training, classes: Sequence[str], penalty: float, features: Matrix) -> Matrix:
    """Fit to the training, all classes weighted alike; return a score of each of `classes` for each of `features`.

    A score is near 1 for the class itself and near 0 for another: least squares of the indicators of the classes.
    """
    ran = np.array(training.workloads)
    mean, scale = training.features.mean(axis=0), training.features.std(axis=0)
    scale[scale == 0] = 1
    known, asked = (training.features - mean) / scale, (features - mean) / scale
    indicators = (ran[:, None] == np.array(classes)).astype(float) - 1 / len(classes)
    alike = {name: len(ran) / len(classes) / count for name, count in Counter(training.workloads).items()}
    ridge = np.array([1 / (penalty * alike[name]) for name in training.workloads])
    weights = solve(_kernel(known, known) + np.diag(ridge), indicators, assume_a="pos")
    return np.asarray(_kernel(asked, known) @ weights)


def _kernel(some: Matrix, others: Matrix) -> Matrix:
    """Return exp(-mean square of the differences) of each of `some` and each of `others`."""
    squares = (some**2).sum(axis=1)[:, None] + (others**2).sum(axis=1) - 2 * some @ others.T
    return np.asarray(np.exp(-np.maximum(squares, 0.0) / some.shape[1]))


def log_score(training: Training, probabilities: Matrix) -> float:
    """Return the mean ln of the probability that the right workload was given; 0 is best."""
    right = [training.classes.index(workload) for workload in training.workloads]
    return float(np.mean(np.log(np.clip(probabilities[np.arange(len(right)), right], 1e-6, 1))))


def left_out_distances(training: Training) -> NDArray[np.float64]:
    """Return the distances of each signature to those of other runs."""
    groups = np.array(training.groups)
    return np.array(
        [distances(training.features[i : i + 1], training.features[groups != groups[i]])[0] for i in range(len(groups))]
    )


def distances(features: Matrix, known: Matrix) -> NDArray[np.float64]:
    """Return the distances to the NEIGHBOURS-th nearest known signature, in standard deviations of the known ones.

    Root of the mean square over the features.
    """
    scale = known.std(axis=0)
    scale[scale == 0] = 1
    apart = ((features[:, None, :] - known[None, :, :]) / scale) ** 2
    return np.asarray(np.sort(np.sqrt(apart.mean(axis=2)), axis=1)[:, min(NEIGHBOURS, len(known)) - 1])
