"""Fit the hierarchical model of speed behind every answer: effects of choices in a new laboratory. No Django.

A cell is what one laboratory measured of one configuration under one load; its outcome is ln speed. It is the sum of
the level of comparable cells, an effect of each of its choices, a residual of its configuration, its own residual and
the error of its runs:

    y = level + sum over choices of effect(choice) + configuration + residual + e

The effect of a choice ("cache_mode=none") is a main effect plus deviations by what the load does, by the kind of disk
and by the hypervisor, which all laboratories share; and inside a research group deviations by group, by laboratory, by
workload in a laboratory and by level. All are normal with mean zero, except for EXPECTED, and a scale for each kind of
choice. A shared effect has a size of its own, and a research group a factor on all its deviations; both give heavy
tails (Student's t), so that one extreme effect or group does not widen the others.

Scales, factors and sizes are draws (`Scales`) that modelling.estimation.learning makes from everything published. Given
a draw, all is normal: deviations of a group, and effects that one group alone measured, are integrated out; the effects
that several groups share are computed, and an answer is the mixture over draws. One fit serves for leaving a group out,
and for predicting what one of its laboratories would measure next.

Sources: Gelman and Hill 2007, chapters 12 and 13 (shrinkage); Rasmussen and Williams 2006, equation 2.25 and section
5.4.2 (leaving out); West 1987 (10.1093/biomet/74.3.646, Student's t as a mixture); docs/models/hierarchy.md.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.linalg import inv
from scipy.special import gammainccinv

from kdb.disk_path import SETTINGS
from modelling.evidence.fairplay import first_indices, number_rows

from .bayes import Posterior
from .group_blocks import MANY, SHARED, Block, Cells, one_hot, same_code, split_groups, stack_groups, take
from .network import check_finite

# Kind of choice to the scale of the half-normal prior on the standard deviation of its effects, ln ratio: wide where
# caches and networks make differences of factors, narrow where differences are some percent.
KINDS = {
    "hypervisor": 0.2,
    "container": 0.5,
    "guest_fs": 0.2,
    "host_fs": 0.2,
    "pair": 0.1,
    "copy_on_write": 0.2,
    "backend": 0.5,
    "networked": 0.5,
    "cache_mode": 0.3,
    "flushed": 0.3,
    "image_format": 0.2,
    "disk_bus": 0.2,
    "io_mode": 0.2,
    "allocation": 0.2,
    "setting": 0.2,  # any other setting: too little is published of each to learn a scale
}
CHOICES = (*(kind for kind in KINDS if kind != "setting"), *(column for column in SETTINGS if column not in KINDS))
# Prior means by effect, ln ratio, from how systems work; evidence can overrule them. A write over the network waits for
# it and for every replica (Weil et al. 2006, OSDI, section 5.2: Ceph; longhorn.io, concepts). A flushed one waits for
# the disk's own cache (QEMU, qemu(1): cache=directsync and writethrough).
EXPECTED = {
    "networked=yes": -0.5,
    **dict.fromkeys((f"flushed=yes load={load}" for load in ("synchronous", "random write", "sequential write")), -0.2),
}
# Contexts by which effects deviate in all laboratories, with their columns. A hypervisor's own effect does not deviate
# by hypervisor.
CONTEXTS = {"load": "load", "storage": "storage", "platform": "hypervisor"}
_PLATFORMS = ("hypervisor", "container")
COLUMNS = (*CHOICES, "load", "storage", "workload", "laboratory", "group")

# Choices that follow from a choice, and are always estimated together with it.
_FOLLOWS = {
    "hypervisor": {"container"},
    "guest_fs": {"pair", "copy_on_write"},
    "host_fs": {"pair", "copy_on_write", "networked"},
    "backend": {"networked"},
    "cache_mode": {"flushed"},
}
_KINDS = len(KINDS)
_KIND = {choice: number for number, choice in enumerate(KINDS)}
NAMES = (
    *(f"{part} {kind}" for part in ("shared", "own", "by workload") for kind in KINDS),
    *CONTEXTS,
    "level",
    "configuration",
    "cell",
)
# Scales of the half-normal priors on NAMES: standard deviations of effects; multiples of them; of residuals.
PRIORS = np.array([*KINDS.values()] * 3 + [1.0] * (len(CONTEXTS) + 1) + [0.2, 0.15])
# Kinds without sizes: a large effect seen on one host only is attributed to the guest, not to the pair.
USUAL = ("pair",)
SIZES = 2.0  # degrees of freedom of the sizes of effects: most are small, a few very large
# Two multipliers for the choices of a question, estimated from its cells: of their effects, and of deviations between
# groups under its load. Standard deviations of the priors on their logarithms.
EFFECTS, DEVIATIONS = 0.7, 0.7
PUBLISHED = Path(__file__).with_name("scales.json")
_LEVEL = 100.0  # variance of levels: flat
_LEAST = 1e-12  # smallest variance of an effect, so that the prior is invertible
_CANDIDATES = 24  # factors to try for a group that is not in the draws
_GRID = np.linspace(-2.0, 2.0, 5)  # scores to try of either multiplier
_SWEEPS, _OTHERS = 2, 5  # Gibbs sweeps where a group is new, and new candidates for a factor in each
_LARGE = 60  # cells of a group from which on its factor is certain enough to be left as it is
_POINTS, _MOST_POINTS = 48, 192  # least and largest number of draws with multipliers
_WORK = 1.5e7  # operations of all points together: cubes of numbers of cells
_BEYOND = 0.2  # share of the points drawn from the prior, so that no mode is missed
MOST_KEPT = 8  # posteriors of one knowledge: some 10 MB each
_HEAVIEST = 10.0  # largest weight of a draw, as a multiple of the median's
# Quantiles that cut the distribution of a new group's factor into intervals, narrower towards the tail.
_ENDS = np.array([0.0, 0.25, 0.5, 0.7, 0.83, 0.91, 0.96, 0.985, 1.0])


@dataclass(frozen=True)
class Scales:
    """S draws of all learnt parameters.

    weights : (S,) of sum one; variances : (S, NAMES), squares of standard deviations and multiples
    freedom : (S,) degrees of freedom of the factors of research groups
    factors : research group to (S,) squares; sizes : name of a shared effect to (S,) squares
    deviation : (S,) squared multiplier of all deviations of groups under the load of the question
    """

    weights: np.ndarray
    variances: np.ndarray
    freedom: np.ndarray
    factors: Mapping[str, np.ndarray]
    sizes: Mapping[str, np.ndarray]
    deviation: np.ndarray | float = 1.0

    def of(self, name: str) -> np.ndarray:
        """Return the (S,) variances of this name."""
        return self.variances[:, NAMES.index(name)]

    def sizes_of(self, effects: Sequence[str]) -> np.ndarray:
        """Return (S, effects) sizes, of effects that are not in the draws fixed quantiles of their distribution."""
        draws = len(self.weights)
        columns = [self.sizes[name] if name in self.sizes else _unknown_sizes(draws, " " in name) for name in effects]
        return np.array(columns).reshape(len(effects), draws).T

    def with_multipliers(
        self, numbers: np.ndarray, effects: np.ndarray, deviations: np.ndarray, weights: np.ndarray
    ) -> "Scales":
        """Return P of these draws with multipliers. numbers : (P,) of the draws; effects, deviations : (P,) squares"""
        variances = self.variances[numbers].copy()
        variances[:, :_KINDS] *= effects[:, None]
        factors, sizes = ({name: part[numbers] for name, part in of.items()} for of in (self.factors, self.sizes))
        return Scales(weights / weights.sum(), variances, self.freedom[numbers], factors, sizes, deviations)


@lru_cache
def _unknown_sizes(draws: int, deviates: bool) -> np.ndarray:
    """Return sizes of an effect that is not in the draws, as shuffled quantiles. deviates : whether it has a context"""
    places: np.ndarray = np.random.default_rng(1 + deviates).permutation(draws) + 0.5
    return inverse_gamma_quantiles(places / draws, SIZES)


@lru_cache
def published_scales() -> Scales:
    """Return the draws that `manage.py fit_scales` learnt from everything published."""
    kept = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    factors, sizes = ({name: np.array(part) for name, part in kept[key].items()} for key in ("factors", "sizes"))
    variances = np.array(kept["variances"])
    return Scales(np.full(len(variances), 1 / len(variances)), variances, np.array(kept["freedom"]), factors, sizes)


def inverse_gamma_quantiles(shares: np.ndarray, freedom: float | np.ndarray) -> np.ndarray:
    """Return the quantiles of squared factors: inverse gamma, by which a normal distribution becomes Student's t."""
    squares: np.ndarray = freedom / 2 / gammainccinv(np.asarray(freedom) / 2, shares)
    return squares


class Effect(NamedTuple):
    """A shared effect: the main one of value, "choice=value", or its deviation where context has the value at."""

    value: str
    context: str = ""
    at: str = ""

    @property
    def name(self) -> str:
        return f"{self.value} {self.context}={self.at}" if self.context else self.value

    @property
    def has_size(self) -> bool:
        return self.value.partition("=")[0] not in USUAL

    @property
    def expected(self) -> float:
        """Return its prior mean, ln ratio."""
        return EXPECTED.get(self.name, 0.0)


class Slopes(NamedTuple):
    """Derivatives of the S ln likelihoods by the logarithms of variances, factors and sizes: each (S, ...)."""

    variances: np.ndarray
    factors: np.ndarray
    sizes: np.ndarray


class Hierarchy:
    """The model on a set of cells, before any draws.

    cells : DataFrame, one row a cell
        COLUMNS str, "" where not stated; configuration int; level int, the same for cells that may be compared;
        outcome float, ln speed; variance float > 0, of the outcome; optionally levels int, how many it is the mean of
    choices : use only levels in which one of these varies, as others hold no information on them; None: KINDS
    load : of the question; "": any
    laboratory : whose workloads are told apart where its group is averaged (group_blocks)
    """

    def __init__(
        self, cells: pd.DataFrame, choices: Collection[str] | None = None, load: str = "", laboratory: str = ""
    ) -> None:
        level = pd.factorize(cells["level"])[0]
        asked = set(KINDS if choices is None else choices)
        varied = {
            choice: column.where(column.groupby(level).transform("nunique") > 1, "").to_numpy(dtype=object)
            for choice in CHOICES
            if choice in {*KINDS, *asked} and (column := cells[choice].reset_index(drop=True)).nunique() > 1
        }
        is_informative = np.zeros(int(level.max(initial=-1)) + 1, dtype=bool)
        for choice in varied.keys() & asked:
            is_informative[level[varied[choice] != ""]] = True
        taken = is_informative[level]
        cells, level = cells[taken], pd.factorize(level[taken])[0]
        varied = {choice: own for choice, column in varied.items() if ((own := column[taken]) != "").any()}
        self.cells = cells.reset_index(drop=True)
        self.is_asked = np.ones(len(cells), dtype=bool) if not load else (self.cells["load"] == load).to_numpy()
        self.varied = varied
        self.effects: dict[Effect, int]
        rows, effects = self._incidence()
        self.kind_of = np.array([_kind(effect.value) for effect in self.effects], dtype=int)
        names = ("", *CONTEXTS)
        self.context_of = np.array([names.index(effect.context) for effect in self.effects], dtype=int)
        self.has_size = np.array([effect.has_size for effect in self.effects], dtype=bool)
        expected = np.array([effect.expected for effect in self.effects])
        outcome = self.cells["outcome"] - np.bincount(rows, expected[effects], len(cells))
        self.outcome = (outcome - outcome.groupby(level).transform("mean")).to_numpy(dtype=float)
        self.kinds = np.array([_KIND.get(choice, _KIND["setting"]) for choice in varied], dtype=int)
        # Sorted by a checksum of their numbers: random draws depend on a group's place, and must not on its name.
        checksum = (self.outcome + self.cells["variance"].to_numpy()) * np.bincount(rows, effects + 1.0, len(cells))
        of_group = pd.Series(checksum).groupby(self.cells["group"]).sum().round(9).sort_values(kind="stable")
        self.groups = [str(group) for group in of_group.index]
        number = pd.Series(range(len(of_group)), index=of_group.index)[self.cells["group"]].to_numpy(dtype=int)
        parts = self._codes(level, number, rows, effects)
        by_themselves = asked.difference(*_FOLLOWS.values())
        asked_for = [*(choice for choice in CHOICES if choice in by_themselves), *CONTEXTS.values()]
        own = self.cells["workload"].where(self.cells["laboratory"] == laboratory, "")
        groups = split_groups(parts, number_rows(self.cells.assign(own=own), [*asked_for, "own"]))
        measured = [(effect, group.number) for group in groups for effect in group.effects.tolist()]
        times = np.bincount(np.array([effect for effect, _ in measured], dtype=int), minlength=len(self.effects))
        self.shared = np.flatnonzero(times > 1)
        self.owner = {effect: group for effect, group in measured if times[effect] == 1}
        self.blocks = list(stack_groups(groups, parts, times > 1))

    def _incidence(self) -> tuple[np.ndarray, np.ndarray]:
        """Number the effects by name; return the rows of cells, and the number of an effect that each of them has."""
        kind = number_rows(
            pd.DataFrame({**self.varied, **self.cells[[*CONTEXTS.values()]]}), [*self.varied, *CONTEXTS.values()]
        )
        first = first_indices(kind)
        of_kinds: list[list[Effect]] = [[] for _ in first]
        for choice, values in self.varied.items():
            where = [(name, self.cells[column].to_numpy()[first]) for name, column in contexts_of(choice).items()]
            for row, value in enumerate(values[first].tolist()):
                if value:
                    of_kinds[row].append(Effect(f"{choice}={value}"))
                    of_kinds[row] += [Effect(f"{choice}={value}", name, at[row]) for name, at in where if at[row]]
        self.effects = {effect: number for number, effect in enumerate(sorted({e for own in of_kinds for e in own}))}
        numbers = [np.array([self.effects[effect] for effect in own], dtype=int) for own in of_kinds]
        counts = np.array([len(own) for own in numbers], dtype=int)
        of_cells = [np.array([], dtype=int), *(numbers[own] for own in kind.tolist())]
        return np.repeat(np.arange(len(kind)), counts[kind]), np.concatenate(of_cells)

    def _codes(self, level: np.ndarray, number: np.ndarray, rows: np.ndarray, effects: np.ndarray) -> Cells:
        """Return what the covariance of the cells depends on. number : (n,) of each cell's group"""
        laboratory, workload, configuration = (
            number_rows(self.cells, names)
            for names in (["laboratory"], ["laboratory", "workload"], ["laboratory", "workload", "configuration"])
        )
        values = [np.where(own == "", None, own) for own in self.varied.values()]
        return Cells(
            number,
            laboratory,
            workload,
            level,
            configuration,
            np.array([pd.factorize(own)[0] for own in values]).reshape(len(values), len(number)),
            self.outcome,
            self.cells["variance"].to_numpy(dtype=float),
            1 / self.cells["levels"].to_numpy() if "levels" in self.cells else np.ones(len(number)),
            self.is_asked,
            rows,
            effects,
        )

    def block_of(self, group: str) -> Block:
        """Return the block of one group alone."""
        return next(take(self.blocks, [self.groups.index(group)]))

    def prior(self, variances: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Return (S, effects) variances of the effects. sizes : (S, effects)"""
        sizes = np.where(self.has_size, sizes, 1.0)
        times = np.hstack([np.ones((len(variances), 1)), variances[:, 3 * _KINDS : 3 * _KINDS + len(CONTEXTS)]])
        return np.maximum(variances[:, self.kind_of] * times[:, self.context_of] * sizes, _LEAST)

    def block_covariance(
        self,
        block: Block,
        variances: np.ndarray,
        factors: np.ndarray,
        prior: np.ndarray,
        deviation: np.ndarray | float = 1.0,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the covariance of a block's cells given S draws, and its part that factors scale: (S, B, n, n).

        factors : (S, B) of its groups; prior : (S, effects) variances; deviation : as in Scales
        """
        level, configuration, cell = (variances[:, -3 + part, None, None, None] for part in range(3))
        of_workload = variances[:, 2 * _KINDS + self.kinds]
        inside = np.tensordot(of_workload, block.choice_level, 1) * level + np.tensordot(of_workload, block.workload, 1)
        inside += np.tensordot(variances[:, _KINDS + self.kinds], block.own, 1)
        inside += configuration * block.configuration
        _diagonal(inside)[...] += cell[..., 0] * block.cell
        times = np.where(block.is_asked, np.sqrt(np.reshape(deviation, (-1, 1, 1))), 1.0)
        inside *= times[..., None] * times[..., None, :]
        covariance = factors[..., None, None] * inside + _LEVEL * block.level
        covariance += (block.alone * prior[:, block.effects][:, :, None]) @ block.alone.swapaxes(1, 2)
        _diagonal(covariance)[...] += block.variance
        return covariance, inside

    def likelihood(self, variances: np.ndarray, factors: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, Slopes]:
        """Return (S,) ln likelihoods up to a constant, and their slopes. factors : (S, groups); sizes : (S, effects)"""
        prior = self.prior(variances, sizes)
        sums = NormalEquations(prior[:, self.shared])
        given = []
        for block in self.blocks:
            covariance, inside = self.block_covariance(block, variances, factors[:, block.numbers], prior)
            given.append((sums.add(block, covariance), inside))
        mean, covariance = sums.solve()
        return sums.log_likelihood(mean), self._slopes(variances, factors, prior, given, mean, covariance)

    def _log_likelihoods(self, scales: Scales) -> tuple[np.ndarray, np.ndarray]:
        """Return (S,) ln likelihoods of groups in the draws, and of all groups, others with the median factor."""
        prior = self.prior(scales.variances, scales.sizes_of([effect.name for effect in self.effects]))
        sums, usual = NormalEquations(prior[:, self.shared]), inverse_gamma_quantiles(np.array(0.5), scales.freedom)
        factors = _columns([scales.factors.get(group, usual) for group in self.groups], len(prior))
        values = [np.zeros(len(prior))]
        for is_known in (True, False):
            numbers = [number for number, group in enumerate(self.groups) if (group in scales.factors) == is_known]
            for block in take(self.blocks, numbers):
                own = factors[:, block.numbers]
                sums.add(block, self.block_covariance(block, scales.variances, own, prior, scales.deviation)[0])
            values.append(sums.log_likelihood(sums.solve()[0]) if numbers else values[-1])
        return values[1], values[2]

    def _slopes(
        self,
        variances: np.ndarray,
        factors: np.ndarray,
        prior: np.ndarray,
        given: Sequence[tuple[np.ndarray, np.ndarray]],
        mean: np.ndarray,
        covariance: np.ndarray,
    ) -> Slopes:
        of_effects = np.zeros_like(prior)
        of_effects[:, self.shared] = ((mean**2 + _diagonal(covariance)) / prior[:, self.shared] - 1) / 2
        by = np.zeros_like(variances)
        by_factor = np.empty_like(factors)
        level, configuration, cell = variances[:, -3:].T
        for block, (inverse, inside) in zip(self.blocks, given, strict=True):
            weighed = inverse @ block.shared
            rest = inverse @ block.outcome[..., None] - weighed @ mean[:, block.touched][..., None]
            slope = rest * rest.swapaxes(2, 3) - inverse
            slope += weighed @ _between(covariance, block.touched) @ weighed.swapaxes(2, 3)
            of_alone = np.einsum("sbij,bia,bja->sba", slope, block.alone, block.alone, optimize=True)
            np.add.at(of_effects.T, block.effects, np.moveaxis(of_alone * prior[:, block.effects] / 2, 0, -1))
            slope *= factors[:, block.numbers, None, None] / 2
            by_factor[:, block.numbers] = (slope * inside).sum(axis=(2, 3))
            own, workload, levels = (
                np.tensordot(slope, part, ([1, 2, 3], [1, 2, 3]))
                for part in (block.own, block.workload, block.choice_level)
            )
            of_workload = variances[:, 2 * _KINDS + self.kinds]
            np.add.at(by.T, _KINDS + self.kinds, (own * variances[:, _KINDS + self.kinds]).T)
            np.add.at(by.T, 2 * _KINDS + self.kinds, ((workload + level[:, None] * levels) * of_workload).T)
            by[:, -3] += (levels * of_workload).sum(axis=1) * level
            by[:, -2] += (slope * block.configuration).sum(axis=(1, 2, 3)) * configuration
            by[:, -1] += (_diagonal(slope) * block.cell).sum(axis=(1, 2)) * cell
        by[:, :_KINDS] += of_effects @ one_hot(self.kind_of, _KINDS)
        by[:, 3 * _KINDS : -3] = of_effects @ one_hot(self.context_of, len(CONTEXTS) + 1)[:, 1:]
        return Slopes(by, by_factor, of_effects * self.has_size)

    def fit(self, scales: Scales) -> "Fitted":
        """Return the posterior of the shared effects given each draw.

        For a group that is not in the draws, each draw samples a factor in proportion to the likelihood of its cells
        given the other groups, and is weighted by that likelihood (sequential Monte Carlo, Chopin 2002,
        10.1093/biomet/89.3.539). Then Gibbs sweeps draw sizes and factors given effects, and effects given these.
        """
        fitted = self._fit_draws(self._spread_multipliers(scales))
        if any(group not in scales.factors for group in self.groups):
            for sweep in range(_SWEEPS):
                fitted = self._fit_draws(self._resample(fitted, np.random.default_rng(sweep)))
        return fitted

    def _fit_draws(self, scales: Scales) -> "Fitted":
        sizes = scales.sizes_of([effect.name for effect in self.effects])
        prior, logs = self.prior(scales.variances, sizes), np.log(scales.weights)
        sums, inverses = NormalEquations(prior[:, self.shared]), dict[str, np.ndarray]()
        factors = _columns([scales.factors.get(group, np.ones(len(prior))) for group in self.groups], len(prior))
        for numbers, is_known in self._portions(scales.factors):
            blocks, estimate = list(take(self.blocks, numbers)), None if is_known else sums.solve()
            for block in blocks:
                if estimate:
                    candidates = inverse_gamma_quantiles(
                        (np.arange(_CANDIDATES) + 0.5) / _CANDIDATES, scales.freedom[:, None, None]
                    )
                    factors[:, block.numbers], foretold = self._draw_factors(
                        block, scales, prior, *estimate, candidates
                    )
                    logs = logs + foretold.sum(axis=1)
                covariance, _ = self.block_covariance(
                    block, scales.variances, factors[:, block.numbers], prior, scales.deviation
                )
                inverse = sums.add(block, covariance)
                if block.alone.any():  # others are needed only where one of their laboratories is asked for
                    inverses |= {self.groups[own]: inverse[:, place] for place, own in enumerate(block.numbers)}
        check_finite(logs)
        of_groups = dict(zip(self.groups, factors.T, strict=True))
        return Fitted(self, scales, prior, of_groups, inverses, normalised_weights(logs), *sums.solve())

    def _portions(self, factors: Collection[str]) -> Iterator[tuple[list[int], bool]]:
        """Yield numbers of groups, and whether their factors are known: these first, then growing portions of others.

        The factors of a portion are drawn given the groups before it; the first ones one by one.
        """
        known = [number for number, group in enumerate(self.groups) if group in factors]
        others = [number for number, group in enumerate(self.groups) if group not in factors]
        yield known, True
        done = len(known)
        while others:
            size = max(1, done // 2)
            yield others[:size], False
            others, done = others[size:], done + size

    def _resample(self, fitted: "Fitted", random: np.random.Generator) -> Scales:
        """Resample the draws by their weights, and draw new sizes and factors given random effects."""
        size = len(fitted.weights)
        draws = np.searchsorted(np.cumsum(fitted.weights), (np.arange(size) + 0.5) / size)
        draws = np.minimum(draws, size - 1)
        resampled = fitted.scales.with_multipliers(
            draws, np.ones(size), np.reshape(fitted.scales.deviation, -1)[draws], np.ones(size)
        )
        roots = np.linalg.cholesky(fitted.covariance[draws] + _LEAST * np.eye(len(self.shared)))
        effects = fitted.mean[draws] + np.einsum("sij,sj->si", roots, random.normal(size=(size, len(self.shared))))
        usual = self.prior(resampled.variances, np.ones((size, 1)))[:, self.shared]
        squares = (SIZES + effects**2 / usual) / 2 / random.gamma((SIZES + 1) / 2, size=effects.shape)
        names = [effect.name for effect in self.effects]
        sizes = {names[number]: squares[:, place] for place, number in enumerate(self.shared.tolist())}
        prior = self.prior(resampled.variances, replace(resampled, sizes={**resampled.sizes, **sizes}).sizes_of(names))
        factors = _columns([fitted.factors[group][draws] for group in self.groups], size)
        uniform = random.uniform(size=(size, len(self.groups), _OTHERS))
        for block in self.blocks:
            if block.outcome.shape[1] <= _LARGE:  # candidates: the present factor, and others from their distribution
                others = inverse_gamma_quantiles(uniform[:, block.numbers], resampled.freedom[:, None, None])
                candidates = np.concatenate([factors[:, block.numbers, None], others], axis=2)
                factors[:, block.numbers], _ = self._draw_factors(block, resampled, prior, effects, None, candidates)
        of_groups = dict(zip(self.groups, factors.T, strict=True))
        return replace(resampled, factors=of_groups, sizes={**resampled.sizes, **sizes})

    def _spread_multipliers(self, scales: Scales) -> Scales:
        """Return draws with multipliers from a grid, sampled by their likelihood under the mean draw and reweighted.

        The grid and the share _BEYOND of samples from the prior make sure that no mode is missed.
        """
        if not self.blocks:
            return scales
        effects, deviations = (part.ravel() for part in np.meshgrid(_GRID, _GRID))
        prior = np.exp(-(effects**2 + deviations**2) / 2)
        effects, deviations = np.exp(2 * EFFECTS * effects), np.exp(2 * DEVIATIONS * deviations)
        mean = Scales(
            np.ones(1),
            (scales.weights @ scales.variances)[None],
            np.array([scales.weights @ scales.freedom]),
            {group: np.array([np.exp(scales.weights @ np.log(own))]) for group, own in scales.factors.items()},
            {effect: np.array([np.exp(scales.weights @ np.log(own))]) for effect, own in scales.sizes.items()},
        ).with_multipliers(np.zeros(len(prior), dtype=int), effects, deviations, prior)
        known_logs, logs = self._log_likelihoods(mean)
        likely = prior * np.exp(logs - logs.max())
        frequency = (1 - _BEYOND) * likely / likely.sum() + _BEYOND * prior / prior.sum()
        size = self.points
        points = np.searchsorted(np.cumsum(frequency), (np.arange(size) + 0.5) / size)
        draws = np.arange(size) % len(scales.weights)
        known = np.exp(np.maximum(known_logs - known_logs.max(), -600.0))  # never 0, which has no logarithm
        weights = scales.weights[draws] * (prior * known / frequency)[points]
        return scales.with_multipliers(draws, effects[points], deviations[points], weights)

    @property
    def points(self) -> int:
        """Return the number of draws with multipliers: more where each costs less."""
        work = sum(block.outcome.size * block.outcome.shape[1] ** 2 for block in self.blocks) + len(self.shared) ** 3
        return int(np.clip(_WORK / (work + 1), _POINTS, _MOST_POINTS))

    def _draw_factors(
        self,
        block: Block,
        scales: Scales,
        prior: np.ndarray,
        mean: np.ndarray,
        covariance: np.ndarray | None,
        candidates: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Sample (S, B) factors of groups from candidates by likelihood; return also (S, B) ln mean likelihoods.

        mean, covariance : of the shared effects, None: they are known; candidates : (S, 1 or B, c)
        """
        draws = len(scales.weights)
        nothing = np.zeros((draws, len(block.numbers)))
        rest, inside = self.block_covariance(block, scales.variances, nothing, prior, scales.deviation)
        if covariance is not None:
            rest += block.shared @ _between(covariance, block.touched) @ block.shared.swapaxes(1, 2)
        root = np.linalg.inv(np.linalg.cholesky(rest))
        # In the eigenbasis the covariance is 1 + factor * own for every candidate: one decomposition a draw.
        own, axes = np.linalg.eigh(root @ inside @ root.swapaxes(2, 3))
        residual = block.outcome[..., None] - block.shared @ mean[:, block.touched][..., None]
        left = (axes.swapaxes(2, 3) @ (root @ residual)).swapaxes(2, 3)
        spread = 1 + candidates[..., None] * np.maximum(own, 0.0)[:, :, None]
        logs = -(left**2 / spread + np.log(spread)).sum(axis=3) / 2
        top = logs.max(axis=2, keepdims=True)
        likely = np.exp(logs - top)
        orders = [np.random.default_rng(number).permutation(draws) for number in block.numbers.tolist()]
        ahead = np.cumsum(likely, axis=2) / likely.sum(axis=2, keepdims=True)
        chosen = (ahead < (np.column_stack(orders) + 0.5)[..., None] / draws).sum(axis=2, keepdims=True)
        chosen = np.minimum(chosen, candidates.shape[2] - 1)
        drawn = np.take_along_axis(np.broadcast_to(candidates, likely.shape), chosen, axis=2)[..., 0]
        return drawn, np.log(_diagonal(root)).sum(axis=2) + top[..., 0] + np.log(likely.mean(axis=2))


class NormalEquations:
    """Precision (G, G, S) and right-hand side (S, G) of G shared effects, and the ln likelihood, summed over groups.

    prior : (S, G) variances of the effects
    """

    def __init__(self, prior: np.ndarray) -> None:
        self.precision = np.zeros((prior.shape[1], *prior.T.shape))  # draws last: sums are added up many times
        self.precision[np.diag_indices(prior.shape[1])] = 1.0 / prior.T
        self.right, self.logs = np.zeros_like(prior), -np.log(prior).sum(axis=1) / 2

    def add(self, block: Block, covariance: np.ndarray) -> np.ndarray:
        """Add groups; return the inverse of their covariance (S, B, n, n)."""
        inverse = np.linalg.inv(covariance)
        weighed = inverse @ block.shared
        information = np.moveaxis(block.shared.swapaxes(1, 2) @ weighed, 0, -1)
        right = (block.outcome[:, None] @ weighed)[:, :, 0]
        for group, count in enumerate(block.counts.tolist()):
            touched = block.touched[group, :count]
            self.precision[touched[:, None], touched] += information[group, :count, :count]
            self.right[:, touched] += right[:, group, :count]
        squares = (block.outcome[:, None] @ inverse @ block.outcome[..., None])[..., 0, 0]
        self.logs = self.logs - (squares + np.linalg.slogdet(covariance)[1]).sum(axis=1) / 2
        return inverse

    def solve(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (S, G) means and (S, G, G) covariances."""
        root = np.sqrt(_diagonal(self._precision))  # of a unit diagonal, as priors may differ by many powers of ten
        scale = root[:, :, None] * root[:, None]
        covariance = inv(self._precision / scale, assume_a="pos", check_finite=False) / scale
        return np.einsum("sij,sj->si", covariance, self.right), covariance

    @property
    def _precision(self) -> np.ndarray:
        return np.moveaxis(self.precision, -1, 0)

    def log_likelihood(self, mean: np.ndarray) -> np.ndarray:
        """Return (S,) ln likelihoods up to a constant. mean : as solved"""
        inside: np.ndarray = np.einsum("si,si->s", self.right, mean) - np.linalg.slogdet(self._precision)[1]
        return self.logs + inside / 2


@dataclass(frozen=True)
class Fitted:
    """The posterior of G effects that several groups share.

    prior : (S, effects) variances; factors : group to (S,)
    inverses : of groups that alone measured an effect, what `inverse` returns
    weights : (S,); mean : (S, G); covariance : (S, G, G)
    """

    hierarchy: Hierarchy
    scales: Scales
    prior: np.ndarray
    factors: Mapping[str, np.ndarray]
    inverses: Mapping[str, np.ndarray]
    weights: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray

    def leave_out(self, group: str) -> "Fitted":
        """Return the posterior without one group (Rasmussen and Williams 2006, 5.4.2), with the draws reweighted."""
        if group not in self.factors:
            return self
        incidence, outcome = self._cells(group)
        own = np.linalg.inv(self.inverse(group))
        towards = incidence @ self.covariance  # (S, n, G)
        gain = np.linalg.solve(own - towards @ incidence.T, towards)
        mean = self.mean - np.einsum("sng,sn->sg", gain, outcome - self.mean @ incidence.T)
        covariance = self.covariance + towards.swapaxes(1, 2) @ gain
        spread = incidence @ covariance @ incidence.T + own
        logs = np.log(self.weights) - _log_density(outcome - mean @ incidence.T, spread)
        others = {name: factors for name, factors in self.factors.items() if name != group}
        return replace(self, factors=others, weights=normalised_weights(logs), mean=mean, covariance=covariance)

    def _cells(self, group: str) -> tuple[np.ndarray, np.ndarray]:
        """Return incidence (n, G) and outcome (n,) of a group's cells."""
        block = self.hierarchy.block_of(group)
        incidence = np.zeros((block.outcome.shape[1], len(self.hierarchy.shared)))
        incidence[:, block.touched[0]] = block.shared[0]
        return incidence, block.outcome[0]

    def inverse(self, group: str) -> np.ndarray:
        """Return (S, n, n), the inverse of the covariance of a group's cells without shared effects."""
        if (kept := self.inverses.get(group)) is not None:
            return kept
        block, factors = self.hierarchy.block_of(group), self.factors[group][:, None]
        covariance, _ = self.hierarchy.block_covariance(
            block, self.scales.variances, factors, self.prior, self.scales.deviation
        )
        inverse: np.ndarray = np.linalg.inv(covariance[:, 0])
        return inverse

    def posterior(self, rows: pd.DataFrame, laboratory: str = "") -> Posterior:
        """Return the posterior of n rows in a new laboratory, or in one whose cells were fitted.

        rows : DataFrame, index their names; CHOICES, load, storage and workload str, "" or no column where not stated;
            with a column share float, rows of one name are one treatment: the sum of share times ln speed
        """
        names, sums = _treatments(rows)
        wanted = _RequestedRows(self, rows.reindex(columns=[*CHOICES, "load", "storage", "workload"], fill_value=""))
        here = self.hierarchy.cells["laboratory"] == laboratory
        own = str(self.hierarchy.cells["group"][here].iloc[0]) if here.any() else ""
        mean = np.zeros((len(self.weights), len(rows)))
        towards = np.broadcast_to(wanted.incidence, (len(self.weights), *wanted.incidence.shape)).copy()
        covariance = wanted.effects.copy()
        owners = {
            self.hierarchy.groups[self.hierarchy.owner[effect]]
            for effect in wanted.alone
            if effect in self.hierarchy.owner
        }
        for group in sorted((owners | {own}) & self.factors.keys()):  # add what only this group's cells tell
            incidence, outcome = self._cells(group)
            common = wanted.covariance_with(group, is_here=group == own, laboratory=laboratory)
            weighed = common @ self.inverse(group)
            mean += weighed @ outcome
            towards -= weighed @ incidence
            covariance -= weighed @ common.swapaxes(1, 2)
        mean += wanted.expected + np.einsum("srg,sg->sr", towards, self.mean)
        covariance += towards @ self.covariance @ towards.swapaxes(1, 2)
        mean = mean @ sums.T
        covariance, anywhere, inside = (sums @ part @ sums.T for part in (covariance, wanted.anywhere, wanted.inside))
        if own in self.factors:
            covariance += anywhere + self.factors[own][:, None, None] * inside
            return Posterior(names, self.weights, mean, covariance, np.zeros_like(covariance))
        shares = np.diff(_ENDS)
        new = inverse_gamma_quantiles((_ENDS[1:] + _ENDS[:-1]) / 2, self.scales.freedom[:, None])
        extras = anywhere[:, None] + new[:, :, None, None] * inside[:, None]
        return Posterior(
            names,
            np.outer(self.weights, shares).ravel(),
            np.repeat(mean, len(shares), axis=0),
            np.repeat(covariance, len(shares), axis=0),
            extras.reshape(-1, *extras.shape[2:]),
        )


class Knowledge:
    """All cells, with a fit for each set of kinds of choice that is made when first needed.

    cells : as for Hierarchy; networked : backends that several hosts use over the network
    """

    def __init__(self, cells: pd.DataFrame, scales: Scales, networked: Collection[str] = ()) -> None:
        self.cells, self.scales, self.networked = merge_levels(cells), scales, networked
        self._fitted: dict[tuple[frozenset[str], str, str], Fitted] = {}
        of_group = self.cells.groupby("group")["laboratory"]
        self._large = {*self.cells["laboratory"][of_group.transform("size") > MANY]}  # of groups that are averaged

    @property
    def containers(self) -> set[str]:
        """Return the hypervisors that run containers."""
        return set(self.cells["hypervisor"][self.cells["container"] == "yes"]) - {""}

    def fitted(self, choices: Collection[str], load: str = "", laboratory: str = "") -> Fitted:
        """Return the fit of these kinds of choice and those that follow from them. load, laboratory : as asked for"""
        kinds = frozenset(choices).union(*(_FOLLOWS.get(choice, ()) for choice in choices))
        key = kinds, load, laboratory if laboratory in self._large else ""
        if (fitted := self._fitted.get(key)) is None:
            fitted = Hierarchy(self.cells, *key).fit(self.scales)
            if len(kept := list(self._fitted)) >= MOST_KEPT:
                self._fitted.pop(kept[0], None)  # None: another thread may have removed it
            self._fitted[key] = fitted
        return fitted

    def posterior(self, rows: pd.DataFrame, laboratory: str = "", without: str = "") -> Posterior:
        """Return the posterior of rows from the fit of the choices in which they differ; see Fitted.posterior.

        without : research group to leave out
        """
        differ = {choice for choice in CHOICES if choice in rows and rows[choice].nunique() > 1}
        loads = set(rows["load"]) if "load" in rows else {""}
        fitted = self.fitted(differ, loads.pop() if len(loads) == 1 else "", laboratory)
        return (fitted.leave_out(without) if without else fitted).posterior(rows, laboratory)


def merge_levels(cells: pd.DataFrame) -> pd.DataFrame:
    """Average levels that compare the same configurations under the same contexts, such as numbers of machines.

    Differences between such levels inform residuals only. Adds the column levels, as for Hierarchy.
    """
    what = cells.groupby([name for name in cells if name not in ("level", "outcome", "variance")], sort=False).ngroup()
    compared = what.groupby(cells["level"]).agg(lambda own: (*sorted(own),))
    levels = pd.Series(pd.factorize(compared)[0], index=compared.index)
    means = cells.assign(level=cells["level"].map(levels), levels=1, what=what).groupby(["what", "level"], sort=False)
    first, count = means.head(1).set_index(["what", "level"], drop=False), means.size()
    own = means[["outcome", "variance"]].mean()
    return first.assign(outcome=own["outcome"], variance=own["variance"] / count, levels=count).reset_index(drop=True)


class _RequestedRows:
    """The parts of n requested rows, given S draws.

    incidence : (n, G) of the shared effects; expected : (n,) sums of their prior means
    effects, anywhere, inside : (S, n, n) prior covariances: of effects that fewer than two groups measured; of
        deviations by a context that is not stated; of deviations of a laboratory
    """

    def __init__(self, fitted: Fitted, rows: pd.DataFrame) -> None:
        self.fitted, self.rows = fitted, rows
        hierarchy, variances = fitted.hierarchy, fitted.scales.variances
        self.values = {
            choice: column.to_numpy(dtype=object) for choice in CHOICES if (column := rows[choice]).nunique() > 1
        }
        self.alone: dict[int, np.ndarray] = {}  # effect that one group measured to (n,) of its rows
        size = len(rows)
        shared = {number: place for place, number in enumerate(hierarchy.shared.tolist())}
        self.incidence = np.zeros((size, len(shared)))
        self.effects, self.anywhere, self.inside = (np.zeros((len(variances), size, size)) for _ in range(3))
        same_workload = same_code(pd.factorize(rows["workload"])[0][None])[0]
        self.expected = np.zeros(size)
        for choice, own in self.values.items():
            kind = _KIND.get(choice, _KIND["setting"])
            for value in sorted({*own} - {""}):
                has = own == value
                alike = np.outer(has, has)
                for effect, here, times in self._effects(choice, value, has):
                    self.expected += effect.expected * here
                    number = hierarchy.effects.get(effect, -1)
                    sizes = fitted.scales.sizes_of([effect.name])[:, 0] if effect.has_size else np.ones(len(times))
                    both = np.outer(here, here)
                    part = (variances[:, kind] * times * sizes)[:, None, None] * both
                    if effect.context and not effect.at:
                        self.anywhere += (
                            self._unstated_context(effect, shared, variances[:, kind] * times * sizes) * both
                        )
                    elif number in shared:
                        self.incidence[here, shared[number]] = 1.0
                    else:
                        self.effects += part
                        self.alone[number] = here
                by_workload = variances[:, 2 * _KINDS + kind] * (1 + variances[:, -3])
                self.inside += variances[:, _KINDS + kind, None, None] * alike
                self.inside += by_workload[:, None, None] * (alike * same_workload)
        _diagonal(self.inside)[...] += variances[:, -2:].sum(axis=1)[:, None]
        self.inside *= np.reshape(fitted.scales.deviation, (-1, 1, 1))
        self.alone.pop(-1, None)

    def _effects(self, choice: str, value: str, has: np.ndarray) -> Iterator[tuple[Effect, np.ndarray, np.ndarray]]:
        """Yield the effects of a value: which, (n,) rows, and (S,) its variance as a multiple of the main effect's."""
        times = self.fitted.scales.variances[:, 3 * _KINDS : -3]
        yield Effect(f"{choice}={value}"), has, np.ones(len(times))
        for name, column in contexts_of(choice).items():
            where = self.rows[column].to_numpy(dtype=object)
            for at in sorted({*where[has]}):
                yield Effect(f"{choice}={value}", name, at), has & (where == at), times[:, list(CONTEXTS).index(name)]

    def _unstated_context(self, effect: Effect, shared: Mapping[int, int], prior: np.ndarray) -> np.ndarray:
        """Return (S, 1, 1) variance of a deviation by an unstated context: if several are fitted, their mean square."""
        known = [
            shared[number]
            for other, number in self.fitted.hierarchy.effects.items()
            if (other.value, other.context) == (effect.value, effect.context) and number in shared
        ]
        if len(known) > 1:
            squares = self.fitted.mean[:, known] ** 2 + _diagonal(self.fitted.covariance)[:, known]
            prior = squares.mean(axis=1)
        return prior[:, None, None]

    def covariance_with(self, group: str, laboratory: str, *, is_here: bool) -> np.ndarray:
        """Return (S, n, outcomes) covariance with a group's outcomes apart from shared effects.

        is_here : whether the rows are of this laboratory, and that of this group
        """
        fitted = self.fitted
        hierarchy, variances = fitted.hierarchy, fitted.scales.variances
        block = hierarchy.block_of(group)
        common = np.zeros((len(variances), len(self.rows), block.outcome.shape[1]))
        for place, number in enumerate(block.effects[0].tolist()):
            if number in self.alone:
                common += fitted.prior[:, number, None, None] * np.outer(self.alone[number], block.alone[0, :, place])
        if is_here:
            places = block.places[0]
            cells = hierarchy.cells.iloc[places]
            here = (cells["laboratory"] == laboratory).to_numpy()
            same = np.equal.outer(self.rows["workload"].to_numpy(object), cells["workload"].to_numpy(object)) & here
            times = np.sqrt(np.reshape(fitted.scales.deviation, (-1, 1)))
            times = times * np.where(hierarchy.is_asked[places], times, 1.0)
            inside = np.zeros((len(variances), len(self.rows), len(places)))
            for choice, own in self.values.items():
                if choice in hierarchy.varied:
                    kind = _KIND.get(choice, _KIND["setting"])
                    alike = np.equal.outer(own, hierarchy.varied[choice][places]) & (own != "")[:, None]
                    inside += variances[:, _KINDS + kind, None, None] * (alike * np.where(here, 1.0, SHARED))
                    inside += variances[:, 2 * _KINDS + kind, None, None] * (alike & same)
            inside *= fitted.factors[group][:, None, None] * times[:, None, :]
            common += inside if block.shares is None else inside @ block.shares[0].T
        return common


def _treatments(rows: pd.DataFrame) -> tuple[tuple[str, ...], np.ndarray]:
    """Return the names of treatments, and (treatments, rows) the share that each row has in each."""
    if "share" not in rows:
        return tuple(rows.index), np.eye(len(rows))
    number, names = pd.factorize(rows.index)
    return tuple(names), one_hot(number, len(names)).T * rows["share"].to_numpy(dtype=float)


def contexts_of(choice: str) -> dict[str, str]:
    """Return the contexts that effects of a choice deviate by, each with its column."""
    return {name: column for name, column in CONTEXTS.items() if not (name == "platform" and choice in _PLATFORMS)}


def normalised_weights(logs: np.ndarray) -> np.ndarray:
    """Return the weights of draws from their logarithms, none above _HEAVIEST times the median."""
    weights = np.minimum(np.exp(np.minimum(logs - np.median(logs), 50.0)), _HEAVIEST)
    return weights / weights.sum()


def _log_density(rest: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Return (S,) ln densities of (S, n) residuals, up to a constant. covariance : (S, n, n)"""
    solved = np.linalg.solve(covariance, rest[..., None])[..., 0]
    return -(np.einsum("si,si->s", rest, solved) + np.linalg.slogdet(covariance)[1]) / 2


def _kind(key: str) -> int:
    return _KIND.get(key.partition("=")[0], _KIND["setting"])


def _between(covariance: np.ndarray, touched: np.ndarray) -> np.ndarray:
    """Return (S, B, t, t), the covariances of the effects that each group has. covariance : (S, G, G)"""
    return covariance[:, touched[:, :, None], touched[:, None, :]]


def _diagonal(stack: np.ndarray) -> np.ndarray:
    """Return the diagonals (..., n) of (..., n, n), to be written to."""
    return np.einsum("...ii->...i", stack)


def _columns(parts: Sequence[np.ndarray], length: int) -> np.ndarray:
    """Return (length, parts), of no parts too."""
    return np.array(parts).reshape(len(parts), length).T.copy()
