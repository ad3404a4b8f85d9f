"""From arms to what each laboratory says about an axis. No Django.

Inside a case study the log ratios are averaged over its fair-play groups (VM counts, block sizes,
operations, and the values of what the axis holds fixed), and inside a laboratory over its case studies,
because those are not independent trials: a laboratory counts once. Source: design rules 1-3, 7;
docs/models/ranking.md.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.special import stdtrit

from kdb.units import METRICS
from modelling.estimation.network import Trial

from .axes import Axis, entry_key
from .fairplay import MEASUREMENT_FIELDS, group_numbers

NORMAL_95 = 1.959964


@dataclass(frozen=True)
class Spread:
    """What is taken for granted of the spread of repetitions, before any is seen.

    variation : standard deviation of one run as a share of its value
    study_freedom : degrees of freedom with which a case study's own spread is expected to be that
    arm_freedom : degrees of freedom with which an arm's is expected to be its case study's
    """

    variation: float
    study_freedom: float = 4.0
    arm_freedom: float = 4.0


def comparable_arms(arms: pd.DataFrame, axis: Axis, spread: Spread) -> pd.DataFrame:
    """The arms that take part in at least one contrast of the axis.

    Parameters
    ----------
    arms : DataFrame of modelling.evidence.frames.arms
    axis : what is ranked

    Returns
    -------
    The same columns without arms that have nothing to be compared with, and
    entry str, key of the axis entry; group int, fair-play group with the axis' held fields;
    assumed bool, whether the source states no spread of the arm's runs; arm_variance float > 0, of mean_log.
    Where a cell has a measured and a derived value, the measured one stands.
    """
    known = arms.dropna(subset=[column for column in axis.entry if column != "cache_mode"])
    measured_first = known.sort_values("origin", ascending=False, kind="stable")  # "measured" > "derived"
    arms = measured_first.drop_duplicates(["configuration_id", *MEASUREMENT_FIELDS]).sort_index()
    group = group_numbers(arms, axis.held, axis.held_where_stated)
    arms = arms.assign(entry=entry_keys(arms, axis), group=group, **_variances(arms, spread))
    return arms[arms.groupby("group")["entry"].transform("nunique") > 1]


def entry_keys(arms: pd.DataFrame, axis: Axis) -> np.ndarray:
    """(arms,) key of each arm's entry. arms : none misses a column of the axis' entries but the cache mode"""
    columns = list(axis.entry)
    place = arms.groupby(columns, sort=False, observed=True, dropna=False).ngroup().to_numpy()
    values = arms[columns].drop_duplicates().itertuples(index=False, name=None)
    return np.array([entry_key(axis, value) for value in values], dtype=object)[place]


def _variances(arms: pd.DataFrame, spread: Spread) -> dict[str, np.ndarray]:
    """The columns `assumed` and `arm_variance`: the spread of runs, pooled from the prior over case study to arm.

    With nu degrees of freedom and a variance s² of one run in an arm, c the expected coefficient of variation:

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
    study = arms.groupby(["case_study", "variant_id", "metric"], sort=False).ngroup().to_numpy()
    d0, d1 = spread.study_freedom, spread.arm_freedom
    behind = d0 + np.bincount(study, freedom)[study]
    of_study = (d0 * spread.variation**2 + np.bincount(study, squares)[study]) / behind
    of_arm = (d1 * of_study + squares) / (d1 + freedom)
    # The relative variance of a variance is 2 / degrees; that of the case study's enters with its weight.
    degrees = 1.0 / (1.0 / (d1 + freedom) + (d1 / (d1 + freedom)) ** 2 / behind)
    of_mean = of_arm / runs * (stdtrit(degrees, 0.975) / NORMAL_95) ** 2
    rounding = np.where(measured, 0.0, np.nan_to_num(stated))
    return {"assumed": freedom == 0, "arm_variance": of_mean + rounding}


def _own_spread(arms: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Runs of each arm; degrees of freedom of their spread, 0 where none is stated; and freedom times the variance of
    one run, of ln(value)."""
    stated = arms["variance"].to_numpy(dtype=float, na_value=np.nan)
    runs = arms["runs"].to_numpy(dtype=float, na_value=np.nan)
    rows = arms["measurements"].to_numpy(dtype=float)
    runs = np.where(np.isnan(runs), 1.0, runs)
    measured = (arms["origin"] == "measured").to_numpy()
    freedom = np.where(measured & ~np.isnan(stated), np.where(rows > 1, rows, runs) - 1.0, 0.0)
    return runs, freedom, freedom * np.where(freedom > 0, stated * runs, 0.0)


def spread_of_entries(arms: pd.DataFrame) -> dict[str, tuple[float, float]]:
    """Entry to (degrees of freedom, variance of one run of ln(value)), pooled over its arms that state a spread.

    arms : DataFrame of comparable_arms. Without one whose runs are all equal: that is rounding, and tells of no spread.
    """
    _, freedom, squares = _own_spread(arms)
    sums = pd.DataFrame({"entry": arms["entry"].to_numpy(), "freedom": freedom, "squares": squares})
    sums = sums.groupby("entry").sum()
    known = sums[sums["squares"] > 0]
    return {str(row.Index): (float(row.freedom), float(row.squares / row.freedom)) for row in known.itertuples()}


def trials(arms: pd.DataFrame) -> list[Trial]:
    """One Trial for each laboratory and each set of entries it connects.

    Parameters
    ----------
    arms : DataFrame of comparable_arms

    Returns
    -------
    list of Trial of two arms or more, in the order of laboratories. Effects of a case study solve, by least squares
    over its groups, mean_log = effect(entry) + level(group), with -mean_log of a metric that is better when lower, so
    that a larger effect is always better; where every group holds every entry that
    is the mean of the log ratios against the geometric mean of the group. The variance of an entry
    is the mean of its arms' variances: VM counts of one case study share their errors, so more of
    them make no more certainty. Where the ratios vary more from group to group than that explains
    (an entry that wins at one VM count and loses at three), the excess, divided by the number of
    groups, comes on top. The case studies of a laboratory are averaged in the same way, as its groups.
    """
    if arms.empty:
        return []
    entry, names = pd.factorize(arms["entry"].to_numpy(dtype=object), sort=True)
    laboratory, laboratories = pd.factorize(arms["laboratory"].to_numpy(dtype=object), sort=True)
    study, studies = pd.factorize(arms["case_study"].to_numpy(dtype=object), sort=True)
    group, mean, variance = (arms[column].to_numpy() for column in ("group", "mean_log", "arm_variance"))
    mean = mean * arms["metric"].map(lambda metric: METRICS[metric].direction).to_numpy(dtype=float)
    found = []
    for of_laboratory in _positions(laboratory):
        own = [of_laboratory[at] for at in _positions(study[of_laboratory])]
        averages = [part for at in own for part in _averages(entry[at], group[at], mean[at], variance[at])]
        if len(own) > 1:
            number = np.repeat(np.arange(len(averages)), [len(members) for members, _, _ in averages])
            members, effects, variances = (np.concatenate(each) for each in zip(*averages, strict=True))
            averages = _averages(members, number, effects, variances)
        sources = tuple(studies[study[at[0]]] for at in own)
        name = str(laboratories[laboratory[of_laboratory[0]]])
        for members, effects, variances in averages:
            found.append(Trial.from_arms(name, tuple(names[members]), effects, variances, sources))
    return found


def _positions(number: np.ndarray) -> list[np.ndarray]:
    """The places of each number, ascending."""
    order = np.argsort(number, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(number[order])) + 1)


def _averages(
    entry: np.ndarray, group: np.ndarray, mean: np.ndarray, variance: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Entries, effects and variances of each set that groups connect, the largest first; (a,) arrays of arms in."""
    entries, entry = np.unique(entry, return_inverse=True)
    _, group = np.unique(group, return_inverse=True)
    size, groups = len(entries), group.max() + 1
    occurrences, sizes = np.bincount(entry), np.bincount(group)
    if len(entry) == size * groups and (np.bincount(entry * groups + group, minlength=size * groups) == 1).all():
        part, parts = np.zeros(size, dtype=int), 1
        levels = np.bincount(group, mean) / sizes
        effects = np.bincount(entry, mean - levels[group]) / occurrences
    else:
        counts = csr_array((np.ones(len(entry)), (entry, group)), shape=(size, groups))
        links = csr_array((np.ones(len(entry)), (entry, size + group)), shape=(size + groups,) * 2)
        parts, label = connected_components(links, directed=False)
        part = label[:size]
        effects = _fitted(counts, label, entry, group, mean)
    rest = mean - effects[entry]
    rest = rest - (np.bincount(group, rest) / sizes)[group]
    freedom = len(entry) - groups - size + parts
    excess = max(0.0, float(rest @ rest) / freedom - float(variance.mean())) if freedom > 0 else 0.0
    variances = (np.bincount(entry, variance) + excess) / occurrences
    found = [np.flatnonzero(part == number) for number in range(parts)]
    found.sort(key=lambda members: (-len(members), members[0]))
    return [(entries[members], effects[members], variances[members]) for members in found]


def _fitted(counts: csr_array, label: np.ndarray, entry: np.ndarray, group: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """(entries,) effects of least squares where groups hold different entries, solved for the fewer of the two.

    counts : (entries, groups) arms; label : the connected part of each entry, then of each group
    """
    size, groups = counts.shape
    occurrences, sizes = np.bincount(entry), np.bincount(group)
    of_entries, of_groups = np.bincount(entry, mean), np.bincount(group, mean)
    if size <= groups:
        right = of_entries - counts @ (of_groups / sizes)
        information = np.diag(occurrences.astype(float)) - (counts / sizes @ counts.T).toarray()
        return _solved(information, label[:size], right)
    right = of_groups - counts.T @ (of_entries / occurrences)
    information = np.diag(sizes.astype(float)) - (counts.T / occurrences @ counts).toarray()
    levels = _solved(information, label[size:], right)
    return (of_entries - counts @ levels) / occurrences


def _solved(laplacian: np.ndarray, label: np.ndarray, right: np.ndarray) -> np.ndarray:
    """A solution of the Laplacian's equations: each connected part's level is free, and is fixed by a shift."""
    shift = (label[:, None] == label[None, :]) * (np.trace(laplacian) / len(laplacian) ** 2 + 1.0 / len(laplacian))
    return np.linalg.solve(laplacian + shift, right)
