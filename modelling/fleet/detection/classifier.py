"""Tell which known loads a disk's statistics are like: one, several that are not told apart, or none.

Conformal prediction by class (Vovk, Gammerman, Shafer 2005): a load is like a class where it is no odder, for that
class, than LEFT_OUT of the class's own signatures are to its other runs. Odd is what is far from the class, or much
farther from it than from another one, and of sampled loads also what reads more or less in a row.
docs/models/detection.md, sections 3 and 4.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

METHOD = 4  # of the way from signatures to a model: another one, and models are made anew
LEAST_SIGNATURES = 10  # of a class, and
LEAST_RUNS = 4  # so many runs, for it to be foretold at all
FOLDS = 20  # of runs, never of signatures of one run
NEIGHBOURS = 2  # the distance is that to the second nearest run: one odd run draws nothing near
LEFT_OUT = 0.1  # of a class's own signatures, by each of the two tests
Matrix = NDArray[np.float64]


class TooFewError(ValueError):
    """There is no model with so few signatures; the text says of what."""


@dataclass(frozen=True)
class Training:
    """Known loads, none of them idle or cached.

    groups : the run that each belongs to
    following : features.following of each, nan where it was not sampled; None: none was
    """

    features: Matrix
    classes_of: tuple[str, ...]
    groups: tuple[str, ...]
    following: Matrix | None = None

    @property
    def classes(self) -> list[str]:
        return sorted(set(self.classes_of))

    def chosen(self, rows: NDArray[np.bool_] | NDArray[np.intp]) -> "Training":
        at = np.arange(len(self.classes_of))[rows]
        return Training(
            self.features[at],
            tuple(self.classes_of[i] for i in at),
            tuple(self.groups[i] for i in at),
            None if self.following is None else self.following[at],
        )


def with_enough(training: Training, workloads: tuple[str, ...]) -> Training:
    """Leave out loads with too few signatures. Raises TooFewError where fewer than two of the workloads are left."""
    counts = _counts(training)
    kept = _known_enough(training)
    if len(set(kept) & set(workloads)) < 2:
        short = ", ".join(
            f"{name} {signatures} of {runs} runs" for name, (signatures, runs) in counts.items() if name in workloads
        )
        raise TooFewError(
            f"At least two workloads with {LEAST_SIGNATURES} signatures of {LEAST_RUNS} runs each are needed; "
            f"there are {short or 'none'}."
        )
    return training.chosen(np.isin(training.classes_of, kept))


def _counts(training: Training) -> dict[str, tuple[int, int]]:
    """Return class to how many signatures and runs there are of it."""
    return {
        name: (
            training.classes_of.count(name),
            len({group for group, ran in zip(training.groups, training.classes_of, strict=True) if ran == name}),
        )
        for name in training.classes
    }


def _known_enough(training: Training) -> list[str]:
    return [
        name
        for name, (signatures, runs) in _counts(training).items()
        if signatures >= LEAST_SIGNATURES and runs >= LEAST_RUNS
    ]


@dataclass(frozen=True)
class Classifier:
    """A fitted model.

    catalogue : the workloads; other classes are loads that are none
    sureness : workload to the probability that it ran where it alone is told
    sampled_sureness : the same for loads that were sampled
    """

    training: Training
    catalogue: tuple[str, ...]
    sureness: Mapping[str, float] = field(default_factory=dict)
    sampled_sureness: Mapping[str, float] = field(default_factory=dict)

    @property
    def classes(self) -> list[str]:
        return self.training.classes

    @property
    def workloads(self) -> list[str]:
        """Return the classes that are workloads."""
        return [name for name in self.classes if name in self.catalogue]

    def is_workload(self, classes: Sequence[str]) -> bool:
        """Tell whether these are one class alone, and that a workload."""
        return len(classes) == 1 and classes[0] in self.catalogue

    def sets(self, features: Matrix, following: Matrix | None = None) -> list[tuple[str, ...]]:
        """Return the classes that each row is like.

        following : as in Training, of the rows
        """
        like = self._sets_by_counters(features)
        if following is None:
            return like
        odd = self._odd_in_following(following)
        return [tuple(name for name in names if name not in odd_for) for names, odd_for in zip(like, odd, strict=True)]

    def _odd_in_following(self, following: Matrix) -> list[set[str]]:
        """Return for each row the classes of which too few signatures read as much in a row; none where not sampled."""
        odd: list[set[str]] = [set() for _ in following]
        at = np.flatnonzero(~np.isnan(following))
        for name, (sampled, own) in self._sampled_classes.items() if len(at) else ():
            p_values = _p_values([own], distances(following[at, None], sampled))[:, 0]
            for row in at[p_values <= LEFT_OUT]:
                odd[row].add(name)
        return odd

    @cached_property
    def _sampled_classes(self) -> dict[str, tuple[Training, Matrix]]:
        """Return class, where it was sampled enough, to its samples and how odd each is to its other runs; in order."""
        following = self.training.following
        if following is None:
            return {}
        sampled = self.training.chosen(~np.isnan(following))
        classes = {}
        for name in _known_enough(sampled):
            of_class = sampled.chosen(np.array(sampled.classes_of) == name)
            assert of_class.following is not None
            alone = Training(of_class.following[:, None], of_class.classes_of, of_class.groups)
            classes[name] = alone, np.sort(distances(alone.features, alone, alone.groups)[:, 0])
        return classes

    def _sets_by_counters(self, features: Matrix) -> list[tuple[str, ...]]:
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
        """Return how odd each class's own signatures are to its other runs, by both tests; in order."""
        ran = np.array(self.training.classes_of)
        odd = _oddness(distances(self.training.features, self.training, self.training.groups))
        far, ratio = (
            [np.sort(values[ran == name, column]) for column, name in enumerate(self.classes)] for values in odd
        )
        return far, ratio

    def without(self, rows: NDArray[np.bool_]) -> "Classifier":
        """Return the model that had not seen these rows."""
        return Classifier(self.training.chosen(~rows), self.catalogue)


def distances(features: Matrix, training: Training, groups: Sequence[str] = ()) -> Matrix:
    """Return the distances of each row to each class: to the NEIGHBOURS-th nearest of its runs.

    groups : the run of each row, which does not count for it
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
    """Return how odd each row is for each class: its distance, and that for each of the nearest other class's."""
    columns = range(apart.shape[1])
    others = np.array([np.delete(apart, column, axis=1).min(axis=1, initial=np.inf) for column in columns]).T
    return apart, apart / np.maximum(others, _LEAST_DISTANCE)


def _p_values(own: Sequence[Matrix], odd: Matrix) -> Matrix:
    """Return for each row and class the share of the class's own, with this one, that are as odd."""
    as_odd = [len(known) - np.searchsorted(known, odd[:, column]) for column, known in enumerate(own)]
    return np.array([(1 + number) / (1 + len(known)) for number, known in zip(as_odd, own, strict=True)]).T


_LEAST_DISTANCE = 1e-9  # of signatures that are equal


def fit(training: Training, workloads: tuple[str, ...]) -> Classifier:
    """Fit to all, and learn from runs and classes left out how sure it is. Raises TooFewError.

    Deterministic: the same signatures make the same model.
    """
    training = with_enough(training, workloads)
    model = Classifier(training, workloads)
    return Classifier(training, workloads, sureness(model), sureness(model, sampled=True))


def folds(training: Training) -> list[NDArray[np.bool_]]:
    """Return the rows to foretell by the others, fold by fold; no run is divided, classes are spread over all."""
    class_of = dict(zip(training.groups, training.classes_of, strict=True))
    shuffled = np.random.default_rng(0).permutation(sorted(class_of)).tolist()
    dealt = {run: place % FOLDS for place, run in enumerate(sorted(shuffled, key=class_of.__getitem__))}
    fold = np.array([dealt[run] for run in training.groups])
    return [fold == number for number in range(FOLDS) if (fold == number).any()]


def sureness(model: Classifier, *, sampled: bool = False) -> dict[str, float]:
    """Return how often each workload ran where it alone was told, if half of all minutes are of workloads.

    The workloads share one half and are foretold by models of the other runs; the other half are loads not known, and
    each class stands for one, foretold by a model of the other classes. Of one more kind half is taken to be told so.

    sampled : of loads that were sampled, which alone are judged then; of no workload where not all were
    """
    ran = np.array(model.training.classes_of)
    judged = np.ones(len(ran), dtype=bool)
    if sampled:
        following = model.training.following
        judged = np.zeros(len(ran), dtype=bool) if following is None else ~np.isnan(following)
    if not set(model.workloads) <= set(ran[judged]):
        return {}
    classes = sorted(set(ran[judged]))
    hits, misses, foreign = (dict.fromkeys(model.workloads, 0.0) for _ in range(3))
    share = {name: 1 / int((judged & (ran == name)).sum()) for name in classes}
    for rows in folds(model.training):
        for name, detected in _alone(model, rows, judged, sampled):
            if name in model.catalogue:
                (hits if detected == name else misses)[detected] += share[name] / len(model.workloads)
    for kind in classes:
        for name, detected in _alone(model, ran == kind, judged, sampled):
            foreign[detected] += share[name]
    unknown = {name: (detected + 0.5) / (len(classes) + 1) for name, detected in foreign.items()}
    return {name: hits[name] / (hits[name] + misses[name] + unknown[name]) for name in model.workloads}


def _alone(
    model: Classifier, rows: NDArray[np.bool_], judged: NDArray[np.bool_], sampled: bool
) -> Iterator[tuple[str, str]]:
    """Yield what ran and which workload alone is told, of the judged rows for which one is, by a model without `rows`.

    sampled : the model may use what was sampled
    """
    judged_rows = model.training.chosen(rows & judged)
    if not judged_rows.classes_of:
        return
    like = model.without(rows).sets(judged_rows.features, judged_rows.following if sampled else None)
    for name, classes in zip(judged_rows.classes_of, like, strict=True):
        if model.is_workload(classes):
            yield name, classes[0]
