"""Stack the research groups of modelling.estimation.hierarchy by size, so that NumPy computes many at once. No Django.

Few large groups would cost the cube of their cells: those of a group of very many are averaged over sets that differ in
nothing the question asks for. Means of a sample are normal with known covariance, so nothing is assumed in addition.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

SHARED = 0.6  # share of a research group's deviation that all its laboratories have in common
MANY = 150  # cells of a group from which on they are averaged
_BATCH = 100_000  # numbers of a draw that are computed at one time, to bound memory


class Cells(NamedTuple):
    """What the covariance of n cells depends on, each (n,) unless another shape is given; equal codes: the same."""

    group: np.ndarray  # number of its research group
    laboratory: np.ndarray
    workload: np.ndarray  # of one laboratory
    level: np.ndarray
    configuration: np.ndarray  # under one workload of one laboratory
    choices: np.ndarray  # (c, n) value of each choice that varies, -1: none
    outcome: np.ndarray
    variance: np.ndarray
    share: np.ndarray  # 1 / number of levels that it is the mean of
    is_asked: np.ndarray  # whether under the load of the question
    rows: np.ndarray  # (i,) cells in ascending order,
    effects: np.ndarray  # (i,) and the number of an effect that each has


class Group(NamedTuple):
    """One research group, with m cells and n outcomes: the cells, or means over sets of them."""

    number: int
    places: np.ndarray  # (m,) of its cells
    shares: np.ndarray | None  # (n, m) share of each cell in each outcome; None: outcomes are cells
    effects: np.ndarray  # (e,) numbers of its effects
    incidence: np.ndarray  # (n, e)


class Block(NamedTuple):
    """The parts of the covariance of B research groups of n outcomes each: (B, n, n) unless another shape is given.

    Where an outcome is a mean over cells, so is each part.
    """

    numbers: np.ndarray  # (B,) of the groups
    places: np.ndarray  # (B, m) of their cells
    shares: np.ndarray | None  # (B, n, m), as of Group
    outcome: np.ndarray  # (B, n)
    variance: np.ndarray  # (B, n) of its error
    is_asked: np.ndarray  # (B, n)
    own: np.ndarray  # (c, B, n, n) for each choice that varies, whether two cells have the same value of it, times the
    # share of the group's deviation that they have in common
    workload: np.ndarray  # (c, B, n, n) whether they have, under the same workload of one laboratory
    choice_level: np.ndarray  # (c, B, n, n) whether they have, at the same level; times `cell`
    level: np.ndarray  # whether of the same level; times `cell`
    configuration: np.ndarray  # whether of the same configuration
    cell: np.ndarray  # (B, n) 1 / number of levels
    alone: np.ndarray  # (B, n, a) incidence of the effects that only this group measured
    effects: np.ndarray  # (B, a) numbers of these effects; where a group has fewer, 0 with an empty incidence
    shared: np.ndarray  # (B, n, t) incidence of the shared effects
    touched: np.ndarray  # (B, t) places of these among the shared effects, filled up in the same way
    counts: np.ndarray  # (B,) how many shared effects each has

    def take(self, rows: np.ndarray) -> "Block":
        """Return these of its groups."""
        by_choice = {"own": self.own, "workload": self.workload, "choice_level": self.choice_level}
        shares = None if self.shares is None else self.shares[rows]
        others = {name: part[rows] for name, part in self._asdict().items() if name not in {*by_choice, "shares"}}
        return Block(**{name: part[:, rows] for name, part in by_choice.items()}, **others, shares=shares)


def split_groups(cells: Cells, what: np.ndarray) -> list[Group]:
    """Return each research group, by number.

    what : (n,) code of what the question asks for, and of what effects deviate by, of each cell; cells of a group of
        MANY are averaged that agree in it, in their laboratory, and in what is compared at their levels
    """
    of_group, pairs = (_indices(own) for own in (cells.group, cells.group[cells.rows]))
    sets = _sets(cells, what) if max(map(len, of_group.values()), default=0) > MANY else None
    groups = []
    for number, places in of_group.items():
        own = pairs.get(number, np.array([], dtype=int))
        effects, column = np.unique(cells.effects[own], return_inverse=True)
        incidence = np.zeros((len(places), len(effects)))
        incidence[np.searchsorted(places, cells.rows[own]), column] = 1.0
        shares = None
        if sets is not None and len(places) > MANY:
            shares, incidence, column = _average(incidence, *(code[places] for code in sets))
            effects = effects[column]
        groups.append(Group(number, places, shares, effects, incidence))
    return groups


def _sets(cells: Cells, what: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (n,) twice: the set that each cell is averaged over, and what is compared at its level."""
    compared = pd.Series(what).groupby(cells.level).agg(lambda own: (*sorted({*own}),))[cells.level].to_numpy()
    classes = pd.Series(pd.factorize(compared)[0])
    return pd.Series(classes).groupby([what, classes, cells.laboratory]).ngroup().to_numpy(), classes.to_numpy()


def _average(incidence: np.ndarray, sets: np.ndarray, classes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the shares of m cells in n sets, the incidence of these, and the effects that it has.

    An effect that is the same for all sets at levels that compare the same is no different from the level.
    """
    shares = one_hot(pd.factorize(sets)[0]).T
    shares /= shares.sum(axis=1, keepdims=True)
    means = shares @ incidence
    of_set = classes[shares.argmax(axis=1)]
    for own in (of_set == value for value in np.unique(of_set)):
        means[np.ix_(own, np.ptp(means[own], axis=0) < 1e-9)] = 0.0
    effects = np.flatnonzero(means.any(axis=0))
    return shares, means[:, effects], effects


def stack_groups(groups: Iterable[Group], cells: Cells, is_shared: np.ndarray) -> Iterator[Block]:
    """Yield all groups, those of one size together. is_shared : (effects,), whether several groups measured it"""
    by_size: dict[tuple[int, ...], list[Group]] = {}
    for group in groups:
        by_size.setdefault((len(group.incidence), len(group.places)), []).append(group)
    among_shared = np.cumsum(is_shared) - 1
    for of_size in by_size.values():
        step = max(1, _BATCH // max(1, *(max(group.incidence.shape) ** 2 for group in of_size)))
        for begin in range(0, len(of_size), step):
            yield _stack(of_size[begin : begin + step], cells, is_shared, among_shared)


def _stack(groups: Sequence[Group], cells: Cells, is_shared: np.ndarray, among_shared: np.ndarray) -> Block:
    places = np.array([group.places for group in groups])
    shares = None if groups[0].shares is None else np.array([group.shares for group in groups])
    squares, share = None if shares is None else shares**2, cells.share[places]

    def at_level(code: np.ndarray) -> np.ndarray:
        """Return what is alike at a level, whose cells are all the mean of as many."""
        return same_code(code) * share[:, None] if shares is None else same_code(code, shares * np.sqrt(share)[:, None])

    laboratory, workload, level, configuration = (
        code[places] for code in (cells.laboratory, cells.workload, cells.level, cells.configuration)
    )
    of_choices = cells.choices[:, places]
    one_each = (len(of_choices), len(groups), *[len(groups[0].incidence)] * 2)
    here = [(same_code(code, shares), same_code(_both(code, laboratory), shares)) for code in of_choices]
    shared = [is_shared[group.effects] for group in groups]
    return Block(
        numbers=np.array([group.number for group in groups]),
        places=places,
        shares=shares,
        outcome=_sum(shares, cells.outcome[places]),
        variance=_sum(squares, cells.variance[places]),
        is_asked=_sum(shares, cells.is_asked[places]) > 0,
        own=np.array([SHARED * in_group + (1 - SHARED) * inside for in_group, inside in here]).reshape(one_each),
        workload=np.array([same_code(_both(code, workload), shares) for code in of_choices]).reshape(one_each),
        choice_level=np.array([at_level(_both(code, level)) for code in of_choices]).reshape(one_each),
        level=at_level(level),
        configuration=same_code(configuration, shares),
        cell=_sum(squares, share),
        alone=_filled_up([group.incidence[:, ~own] for group, own in zip(groups, shared, strict=True)]),
        effects=_filled_up([group.effects[~own] for group, own in zip(groups, shared, strict=True)]),
        shared=_filled_up([group.incidence[:, own] for group, own in zip(groups, shared, strict=True)]),
        touched=_filled_up([among_shared[group.effects[own]] for group, own in zip(groups, shared, strict=True)]),
        counts=np.array([own.sum() for own in shared]),
    )


def take(blocks: Iterable[Block], numbers: Collection[int]) -> Iterator[Block]:
    """Yield the blocks of these groups."""
    for block in blocks:
        rows = np.flatnonzero(np.isin(block.numbers, list(numbers)))
        if len(rows):
            yield block if len(rows) == len(block.numbers) else block.take(rows)


def _indices(codes: np.ndarray) -> dict[int, np.ndarray]:
    """Return the places of each code, both in ascending order."""
    order = np.argsort(codes, kind="stable")
    values, begin = np.unique(codes[order], return_index=True)
    return dict(zip(values.tolist(), np.split(order, begin[1:]), strict=True)) if len(values) else {}


def _both(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return codes that are equal where both are, -1 where the first is."""
    return np.where(first < 0, -1, first * (second.max() + 1) + second)


def same_code(codes: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Return (B, n, n), whether two of the (B, m) codes are equal; with weights (B, n, m) the sum of theirs over pairs.

    Codes below 0 are equal to none.
    """
    if weights is None:
        return ((codes[:, :, None] == codes[:, None]) & (codes >= 0)[:, :, None]).astype(float)
    of_value = [
        own[:, code >= 0] @ one_hot(pd.factorize(code[code >= 0])[0]) for own, code in zip(weights, codes, strict=True)
    ]
    return np.array([own @ own.T for own in of_value])


def one_hot(codes: np.ndarray, size: int | None = None) -> np.ndarray:
    """Return (n, size) 0 or 1, with a 1 in the column of each code. size : None: as many as there are codes"""
    return np.eye(int(codes.max(initial=-1)) + 1 if size is None else size)[codes]


def _sum(weights: np.ndarray | None, values: np.ndarray) -> np.ndarray:
    """Return (B, n) sums of (B, m) values. weights : (B, n, m), None: the values"""
    return values if weights is None else (weights @ values[..., None])[..., 0]


def _filled_up(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Stack arrays that differ in the length of their last axis, filled up with 0."""
    length = max(part.shape[-1] for part in parts)
    return np.array([np.pad(part, [(0, 0)] * (part.ndim - 1) + [(0, length - part.shape[-1])]) for part in parts])
