"""Classify the statistics of a disk: as one known load, as several that cannot be distinguished, or as none.

Class-conditional conformal prediction (Vovk, Gammerman, Shafer 2005): a load belongs to a class unless at most a
share LEFT_OUT of the class's own signatures are as odd, each compared with the other runs of the class. Odd is far from
the class, or much farther from it than from another class.
docs/models/detection.md, sections 2 and 3.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

METHOD = 4  # version of the training; models are made again when it changes
LEAST_SIGNATURES = 10  # signatures of a class, and
LEAST_RUNS = 4  # so many runs of it, to be detected at all
FOLDS = 20  # of cross-validation, by runs, so that signatures of one run stay together
NEIGHBOURS = 2  # the distance is to the second nearest run, so that a single odd run attracts nothing
LEFT_OUT = 0.1  # share of a class's own signatures that each of the two tests rejects
Matrix = NDArray[np.float64]


class TooFewError(ValueError):
    """There are too few signatures for a model; the text says of which workloads."""


@dataclass(frozen=True)
class Training:
    """Signatures to learn from, none of them idle or cached. groups : run of each"""

    features: Matrix
    classes_of: tuple[str, ...]
    groups: tuple[str, ...]

    @property
    def classes(self) -> list[str]:
        return sorted(set(self.classes_of))

    def select(self, rows: NDArray[np.bool_] | NDArray[np.intp]) -> "Training":
        at = np.arange(len(self.classes_of))[rows]
        return Training(
            self.features[at],
            tuple(self.classes_of[i] for i in at),
            tuple(self.groups[i] for i in at),
        )


def keep_frequent_classes(training: Training, workloads: tuple[str, ...]) -> Training:
    """Return the signatures of classes with enough of them. Raises TooFewError if fewer than two workloads have."""
    counts = _counts(training)
    kept = _frequent_classes(training)
    if len(set(kept) & set(workloads)) < 2:
        short = ", ".join(
            f"{name} {signatures} of {runs} runs" for name, (signatures, runs) in counts.items() if name in workloads
        )
        raise TooFewError(
            f"At least two workloads with {LEAST_SIGNATURES} signatures of {LEAST_RUNS} runs each are needed; "
            f"there are {short or 'none'}."
        )
    return training.select(np.isin(training.classes_of, kept))


def _counts(training: Training) -> dict[str, tuple[int, int]]:
    """Return class to its numbers of signatures and runs."""
    return {
        name: (
            training.classes_of.count(name),
            len({group for group, ran in zip(training.groups, training.classes_of, strict=True) if ran == name}),
        )
        for name in training.classes
    }


def _frequent_classes(training: Training) -> list[str]:
    return [
        name
        for name, (signatures, runs) in _counts(training).items()
        if signatures >= LEAST_SIGNATURES and runs >= LEAST_RUNS
    ]


@dataclass(frozen=True)
class Classifier:
    """A fitted model.

    catalogue : the workloads; other classes are loads outside the catalogue
    sureness : workload to the probability that it ran if it alone is detected
    """

    training: Training
    catalogue: tuple[str, ...]
    sureness: Mapping[str, float] = field(default_factory=dict)

    @property
    def classes(self) -> list[str]:
        return self.training.classes

    @property
    def workloads(self) -> list[str]:
        """Return the classes that are workloads."""
        return [name for name in self.classes if name in self.catalogue]

    def is_workload(self, classes: Sequence[str]) -> bool:
        """Tell whether these are one class, and it is a workload."""
        return len(classes) == 1 and classes[0] in self.catalogue

    def sets(self, features: Matrix) -> list[tuple[str, ...]]:
        """Return for each row of features the classes that it may belong to: one, several or none."""
        passes = [
            _p_values(own, odd) > LEFT_OUT
            for own, odd in zip(self._own_oddness, _oddness(distances(features, self.training)), strict=True)
        ]
        return [
            tuple(name for name, far, ratio in zip(self.classes, *tests, strict=True) if far and ratio)
            for tests in zip(*passes, strict=True)
        ]

    @cached_property
    def _own_oddness(self) -> tuple[list[Matrix], list[Matrix]]:
        """Return the sorted oddness of each class's own signatures to its other runs, by both tests."""
        ran = np.array(self.training.classes_of)
        odd = _oddness(distances(self.training.features, self.training, self.training.groups))
        far, ratio = (
            [np.sort(values[ran == name, column]) for column, name in enumerate(self.classes)] for values in odd
        )
        return far, ratio

    def without(self, rows: NDArray[np.bool_]) -> "Classifier":
        """Return the model trained without these rows."""
        return Classifier(self.training.select(~rows), self.catalogue)


def distances(features: Matrix, training: Training, groups: Sequence[str] = ()) -> Matrix:
    """Return the distance of each row to each class: to the NEIGHBOURS-th nearest of its runs.

    groups : the run of each row, to which its distance is not measured
    """
    known = cdist(features, training.features)
    if groups:
        known[np.array(groups)[:, None] == np.array(training.groups)] = np.inf
    runs = list(zip(training.classes_of, training.groups, strict=True))
    by_run = sorted(range(len(runs)), key=runs.__getitem__)
    begins = [at for at, row in enumerate(by_run) if not at or runs[row] != runs[by_run[at - 1]]]
    nearest = np.minimum.reduceat(known[:, by_run], begins, axis=1)
    of_run = np.array([training.classes_of[by_run[begin]] for begin in begins])
    return np.array([np.sort(nearest[:, of_run == name], axis=1)[:, :NEIGHBOURS][:, -1] for name in training.classes]).T


def _oddness(apart: Matrix) -> tuple[Matrix, Matrix]:
    """Return the oddness of each row for each class: its distance, and its ratio to that of the nearest other class."""
    columns = range(apart.shape[1])
    others = np.array([np.delete(apart, column, axis=1).min(axis=1, initial=np.inf) for column in columns]).T
    return apart, apart / np.maximum(others, _LEAST_DISTANCE)


def _p_values(own: Sequence[Matrix], odd: Matrix) -> Matrix:
    """Return for each row and class the share of the class's own signatures and the row that are at least as odd."""
    as_odd = [len(known) - np.searchsorted(known, odd[:, column]) for column, known in enumerate(own)]
    return np.array([(1 + number) / (1 + len(known)) for number, known in zip(as_odd, own, strict=True)]).T


_LEAST_DISTANCE = 1e-9  # distance of equal signatures, instead of 0


def fit(training: Training, workloads: tuple[str, ...]) -> Classifier:
    """Fit a model to all signatures, and its sureness by cross-validation. Raises TooFewError.

    It is deterministic: the same signatures make the same model.
    """
    training = keep_frequent_classes(training, workloads)
    model = Classifier(training, workloads)
    return Classifier(training, workloads, sureness(model))


def folds(training: Training) -> list[NDArray[np.bool_]]:
    """Return the rows of each fold; runs are not divided, and classes are spread over all folds."""
    class_of = dict(zip(training.groups, training.classes_of, strict=True))
    shuffled = np.random.default_rng(0).permutation(sorted(class_of)).tolist()
    dealt = {run: place % FOLDS for place, run in enumerate(sorted(shuffled, key=class_of.__getitem__))}
    fold = np.array([dealt[run] for run in training.groups])
    return [fold == number for number in range(FOLDS) if (fold == number).any()]


def sureness(model: Classifier) -> dict[str, float]:
    """Return how often each workload ran if it alone is detected, assuming half of all minutes are of workloads.

    The workloads share one half, and are detected by models of the other runs. The other half are unknown loads: each
    class stands for one, detected by a model of the other classes; of one further kind half is taken to be detected.
    """
    ran = np.array(model.training.classes_of)
    hits, misses, foreign = (dict.fromkeys(model.workloads, 0.0) for _ in range(3))
    share = {name: 1 / int((ran == name).sum()) for name in model.classes}
    for rows in folds(model.training):
        for name, detected in _detect_alone(model, rows):
            if name in model.catalogue:
                (hits if detected == name else misses)[detected] += share[name] / len(model.workloads)
    for kind in model.classes:
        for name, detected in _detect_alone(model, ran == kind):
            foreign[detected] += share[name]
    unknown = {name: (detected + 0.5) / (len(model.classes) + 1) for name, detected in foreign.items()}
    return {name: hits[name] / (hits[name] + misses[name] + unknown[name]) for name in model.workloads}


def _detect_alone(model: Classifier, rows: NDArray[np.bool_]) -> Iterator[tuple[str, str]]:
    """Yield (true class, detected workload) of rows for which a model trained without them detects one workload."""
    judged = model.training.select(rows)
    for name, classes in zip(judged.classes_of, model.without(rows).sets(judged.features), strict=True):
        if model.is_workload(classes):
            yield name, classes[0]
