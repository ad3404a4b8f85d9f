"""Find the arms that may be compared, their variances, and the trial that each laboratory makes. No Django.

Inside a case study the log ratios are averaged over its fair-play groups (VM counts, block sizes,
operations, and the values of what the axis holds fixed), and inside a laboratory over its case studies,
because those are not independent trials: a laboratory counts once. Source: docs/models/ranking.md.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.special import stdtrit

from kdb.units import METRICS
from modelling.evidence.axes import AXES, Axis, entry_key
from modelling.evidence.fairplay import MEASUREMENT_FIELDS, first_indices, group_numbers, is_stated, number_rows, varies
from modelling.evidence.normal import NORMAL_95

from .network import Trial


@dataclass(frozen=True)
class Spread:
    """The prior on the spread of repetitions.

    variation : standard deviation of one run as a share of its value
    study_freedom : degrees of freedom of that prior on a case study's spread
    arm_freedom : degrees of freedom of the case study's spread as the prior on an arm's
    whole_seconds : length of a run with that variation; a shorter one averages over less time, so it varies more
    """

    variation: float
    study_freedom: float = 4.0
    arm_freedom: float = 4.0
    whole_seconds: float = 30.0

    def expected(self, run_seconds: np.ndarray) -> np.ndarray:
        """Return the expected variance of ln(value) of runs of these lengths, NaN: not stated."""
        short = np.maximum(1.0, self.whole_seconds / np.nan_to_num(run_seconds, nan=self.whole_seconds))
        return self.variation**2 * short


_NO_ARMS = {
    "entry": pd.Categorical([], categories=pd.Index([], dtype=object)),
    "fair_play_group": np.empty(0, dtype=np.int64),
    "assumed": np.empty(0, dtype=bool),
    "arm_variance": np.empty(0),
}


def comparable_arms(arms: pd.DataFrame, axis: Axis, spread: Spread) -> pd.DataFrame:
    """Return the arms that take part in at least one contrast of the axis.

    Parameters
    ----------
    arms : DataFrame of modelling.evidence.dataframes.arms
    axis : what is ranked

    Returns
    -------
    The same columns without arms that have nothing to be compared with, and
    entry category of str, key of the axis entry; fair_play_group int, with the axis' held fields;
    assumed bool, whether the source states no spread of the arm's runs; arm_variance float > 0, of mean_log.
    Where a cell has a measured and a derived value, the derived one is dropped.
    """
    arms = arms_stating_entry(arms, axis)
    if not number_rows(arms, axis.entry).any():
        return arms[:0].assign(**_NO_ARMS)  # a single entry, as on most axes of most case studies
    measured_first = np.argsort((arms["origin"] != "measured").to_numpy(), kind="stable")
    cell = pd.Series(number_rows(arms, ["configuration_id", *MEASUREMENT_FIELDS]))
    is_first = np.empty(len(arms), dtype=bool)
    is_first[measured_first] = ~cell.iloc[measured_first].duplicated()
    arms = arms if is_first.all() else arms[is_first]
    group = group_numbers(arms, axis.held, axis.held_where_stated)
    arms = arms.assign(entry=entry_keys(arms, axis), fair_play_group=group, **_variances(arms, spread))
    return arms[varies(group, arms["entry"])[group]]


def find_compared(arms: pd.DataFrame, spread: Spread) -> pd.Series:
    """Return (arms,) bool, whether each takes part in a contrast of at least one axis.

    arms : DataFrame of modelling.evidence.dataframes.arms
    """
    compared = pd.Series(False, index=arms.index)
    for axis in AXES.values():
        compared[comparable_arms(arms, axis, spread).index] = True
    return compared


def arms_stating_entry(arms: pd.DataFrame, axis: Axis) -> pd.DataFrame:
    """Return the arms that state all columns that an entry of the axis requires."""
    states = np.ones(len(arms), dtype=bool)
    for column in axis.required:
        states &= is_stated(arms[column])
    return arms if states.all() else arms[states] if states.any() else arms[:0]


def entry_keys(arms: pd.DataFrame, axis: Axis) -> pd.Categorical:
    """Return the (arms,) keys of the arms' entries. arms : of arms_stating_entry"""
    columns = list(axis.entry)
    place = number_rows(arms, columns)
    values = arms[columns].iloc[first_indices(place)].itertuples(index=False, name=None)
    number, keys = pd.factorize(np.array([entry_key(axis, value) for value in values], dtype=object), sort=True)
    return pd.Categorical.from_codes(number[place], keys)


def _variances(arms: pd.DataFrame, spread: Spread) -> dict[str, np.ndarray]:
    """Compute the columns `assumed` and `arm_variance`: the spread of runs, pooled from prior over case study to arm.

    With nu degrees of freedom and a variance s² of one run in an arm, c the expected coefficient of variation (of runs
    as long as the case study's):

        study² = (d0 c² + sum of nu s²) / (d0 + sum of nu)      over the arms of one workload variant and metric
        arm² = (d1 study² + nu s²) / (d1 + nu)

    so nothing jumps where two runs are equal. The mean of n runs has arm² / n, times (t / 1.96)², t the 97.5 %
    point of Student's with the degrees of freedom behind arm². A printed interval of a derived value covers its
    rounding only, so the spread of a run is added to it.
    Source: Smyth 2004 (10.2202/1544-6115.1027); docs/models/ranking.md.
    """
    measured = (arms["origin"] == "measured").to_numpy()
    stated = arms["variance"].to_numpy(dtype=float, na_value=np.nan)
    runs, freedom, squares = _own_spread(arms)
    study = number_rows(arms, ["case_study", "variant_id", "metric"])
    d0, d1 = spread.study_freedom, spread.arm_freedom
    study_degrees = d0 + np.bincount(study, freedom)[study]
    expected = spread.expected(arms["run_seconds"].to_numpy(dtype=float, na_value=np.nan))
    study_variance = (d0 * expected + np.bincount(study, squares)[study]) / study_degrees
    arm_variance = (d1 * study_variance + squares) / (d1 + freedom)
    # The relative variance of a variance is 2 / degrees; that of the case study's enters with its weight.
    degrees = 1.0 / (1.0 / (d1 + freedom) + (d1 / (d1 + freedom)) ** 2 / study_degrees)
    distinct, number = np.unique(degrees, return_inverse=True)
    mean_variance = arm_variance / runs * (stdtrit(distinct, 0.975) / NORMAL_95)[number] ** 2
    rounding = np.where(measured, 0.0, np.nan_to_num(stated))
    return {"assumed": freedom == 0, "arm_variance": mean_variance + rounding}


def _own_spread(arms: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return three (arms,): number of runs; degrees of freedom of their spread, 0 where none is stated; and freedom
    times the variance of ln(value) of one run."""
    stated = arms["variance"].to_numpy(dtype=float, na_value=np.nan)
    runs = arms["runs"].to_numpy(dtype=float, na_value=np.nan)
    rows = arms["measurements"].to_numpy(dtype=float)
    runs = np.where(np.isnan(runs), 1.0, runs)
    measured = (arms["origin"] == "measured").to_numpy()
    freedom = np.where(measured & ~np.isnan(stated), np.where(rows > 1, rows, runs) - 1.0, 0.0)
    return runs, freedom, freedom * np.where(freedom > 0, stated * runs, 0.0)


def spread_of_entries(arms: pd.DataFrame) -> dict[str, tuple[float, float]]:
    """Return entry to (degrees of freedom, variance of one run of ln(value)), pooled over its arms that state a spread.

    arms : DataFrame of comparable_arms
    Leaves out entries whose runs are all equal: that comes from rounding and says nothing about their spread.
    """
    _, freedom, squares = _own_spread(arms)
    entry, names = pd.factorize(arms["entry"], sort=True)
    sums = zip(names, np.bincount(entry, freedom).tolist(), np.bincount(entry, squares).tolist(), strict=True)
    return {str(name): (degrees, total / degrees) for name, degrees, total in sums if total > 0}


def trials(arms: pd.DataFrame) -> list[Trial]:
    """Return one Trial for each laboratory and each set of entries it connects.

    Parameters
    ----------
    arms : DataFrame of comparable_arms

    Returns
    -------
    list of Trial of two arms or more, in the order of laboratories. Effects of a case study solve, by least squares
    over its groups, mean_log = effect(entry) + level(group), with -mean_log of a metric that is better when lower, so
    that a larger effect is always better. Where every group holds every entry, the effect is the mean log ratio to the
    geometric mean of the group. The variance of an entry is the mean of its arms' variances, not divided by their
    number, because VM counts of one case study share their errors. Where ratios vary more between groups than that
    explains (an entry wins at one VM count and loses at three), the excess, divided by the number of groups, is added.
    The case studies of a laboratory are averaged in the same way, as its groups.
    """
    if arms.empty:
        return []
    (entry, names), (laboratory, laboratories), (study, studies) = (
        _factorize(arms[column]) for column in ("entry", "laboratory", "case_study")
    )
    group, mean, variance = (arms[column].to_numpy() for column in ("fair_play_group", "mean_log", "arm_variance"))
    mean = mean * arms["metric"].map(lambda metric: METRICS[metric].direction).to_numpy(dtype=float)
    averages = _averages(study, entry, group, mean, variance)
    laboratory_of = np.zeros(len(studies), dtype=int)
    laboratory_of[study] = laboratory
    own = _positions(laboratory_of)
    several = [number for number, numbers in enumerate(own) if len(numbers) > 1]
    parts = [[part for number in own[of_laboratory] for part in averages[number]] for of_laboratory in several]
    laboratory_averages = iter(_averages_of_parts(parts))
    laboratory_trials = []
    for name, numbers in zip(laboratories, own, strict=True):
        sources = tuple(studies[numbers])
        for members, effects, variances in averages[numbers[0]] if len(numbers) == 1 else next(laboratory_averages):
            laboratory_trials.append(Trial.from_arms(str(name), tuple(names[members]), effects, variances, sources))
    return laboratory_trials


def _factorize(column: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of each value in sorted order, and the (values,) as an object array."""
    number, values = pd.factorize(column, sort=True)
    return number, np.array(values, dtype=object)


def _positions(number: np.ndarray) -> list[np.ndarray]:
    """Return the positions of each number 0, 1, ..., ascending."""
    return _split(np.argsort(number, kind="stable"), np.bincount(number))


def _split(values: np.ndarray, sizes: np.ndarray) -> list[np.ndarray]:
    """Split the values into pieces of these sizes. np.split would take microseconds for each of many pieces."""
    ends = np.cumsum(sizes).tolist()
    return [values[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]


_Average = tuple[np.ndarray, np.ndarray, np.ndarray]  # entries, effects and variances of a connected set


def _averages_of_parts(parts: list[list[_Average]]) -> list[list[_Average]]:
    """Average each list, taking each of its averages as a group."""
    flat = [part for some in parts for part in some]
    if not flat:
        return []
    unit = np.repeat(np.arange(len(parts)), [sum(len(members) for members, _, _ in some) for some in parts])
    group = np.repeat(np.arange(len(flat)), [len(members) for members, _, _ in flat])
    entry, mean, variance = (np.concatenate(column) for column in zip(*flat, strict=True))
    return _averages(unit, entry, group, mean, variance)


def _averages(
    unit: np.ndarray, entry: np.ndarray, group: np.ndarray, mean: np.ndarray, variance: np.ndarray
) -> list[list[_Average]]:
    """Average the arms of each unit, a case study or laboratory, by sets that its groups connect, the largest first.

    unit, entry, group, mean, variance : (a,) of the arms; units are numbered 0, 1, ...

    Where every group holds every entry in the same proportion, all are averaged in one go; the others are solved one
    by one.
    """
    cells, cell = np.unique(unit * (entry.max() + 1) + entry, return_inverse=True)
    of_cell, entry_of_cell = np.divmod(cells, entry.max() + 1)
    group, _ = pd.factorize(group)
    occurrences, sizes = np.bincount(cell), np.bincount(group)
    met, times = np.unique(group * len(cells) + cell, return_counts=True)
    group_met, cell_met = np.divmod(met, len(cells))
    rows, entries, groups = np.bincount(unit), np.bincount(of_cell), np.bincount(unit[first_indices(group)])
    of_met = of_cell[cell_met]
    in_proportion = times * rows[of_met] == occurrences[cell_met] * sizes[group_met]
    is_whole = np.bincount(of_met, in_proportion, len(rows)) == entries * groups
    levels = np.bincount(group, mean) / sizes
    effects = np.bincount(cell, mean - levels[group]) / occurrences
    rest = mean - effects[cell]
    rest = rest - (np.bincount(group, rest) / sizes)[group]
    excess = _excess(np.bincount(unit, rest**2), rows - groups - entries + 1, np.bincount(unit, variance) / rows)
    variances = (np.bincount(cell, variance) + excess[of_cell]) / occurrences
    averages = zip(*(_split(column, entries) for column in (entry_of_cell, effects, variances)), strict=True)
    sets = [[average] for average in averages]
    others = np.flatnonzero(~is_whole)
    at_all = _positions(unit) if len(others) else []
    for number in others:
        at = at_all[number]
        sets[number] = _connected_averages(entry[at], group[at], mean[at], variance[at])
    return sets


def _excess(squares: np.ndarray, freedom: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Return the variance between groups beyond what the variance of their arms explains, >= 0."""
    return np.where(freedom > 0, np.maximum(0.0, squares / np.maximum(freedom, 1) - variance), 0.0)


def _connected_averages(entry: np.ndarray, group: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> list[_Average]:
    """Return the sets that groups connect, by least squares."""
    entries, entry = np.unique(entry, return_inverse=True)
    _, group = np.unique(group, return_inverse=True)
    size, groups = len(entries), group.max() + 1
    occurrences, sizes = np.bincount(entry), np.bincount(group)
    counts = csr_array((np.ones(len(entry)), (entry, group)), shape=(size, groups))
    links = csr_array((np.ones(len(entry)), (entry, size + group)), shape=(size + groups,) * 2)
    parts, label = connected_components(links, directed=False)
    part = label[:size]
    effects = _fit(counts, label, entry, group, mean)
    rest = mean - effects[entry]
    rest = rest - (np.bincount(group, rest) / sizes)[group]
    excess = _excess(rest @ rest, len(entry) - groups - size + parts, variance.mean())
    variances = (np.bincount(entry, variance) + excess) / occurrences
    sets = [np.flatnonzero(part == number) for number in range(parts)]
    sets.sort(key=lambda members: (-len(members), members[0]))
    return [(entries[members], effects[members], variances[members]) for members in sets]


def _fit(counts: csr_array, label: np.ndarray, entry: np.ndarray, group: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Fit the (entries,) effects of least squares if groups hold different entries, solved for the fewer of the two.

    counts : (entries, groups) arms; label : the connected part of each entry, then of each group
    """
    size, groups = counts.shape
    occurrences, sizes = np.bincount(entry), np.bincount(group)
    of_entries, of_groups = np.bincount(entry, mean), np.bincount(group, mean)
    if size <= groups:
        right = of_entries - counts @ (of_groups / sizes)
        information = np.diag(occurrences.astype(float)) - (counts / sizes @ counts.T).toarray()
        return _solve_laplacian(information, label[:size], right)
    right = of_groups - counts.T @ (of_entries / occurrences)
    information = np.diag(sizes.astype(float)) - (counts.T / occurrences @ counts).toarray()
    levels = _solve_laplacian(information, label[size:], right)
    return (of_entries - counts @ levels) / occurrences


def _solve_laplacian(laplacian: np.ndarray, label: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return a solution of the Laplacian's equations: each connected part's level is free, and is fixed by a shift."""
    shift = (label[:, None] == label[None, :]) * (np.trace(laplacian) / len(laplacian) ** 2 + 1.0 / len(laplacian))
    return np.linalg.solve(laplacian + shift, right)
