"""Group the numbers that may be compared with one another. No Django.

Two measurements are comparable where they differ in nothing but the configuration. That is one list
of fields (kdb.fair_play); groups are computed from it and stored nowhere. The variant carries benchmark, its
version and the workload's parameters: Filebench 1.4.9.1 and 1.5 differ by a factor of four on the
same disk, so a version is never a detail.
"""

from collections.abc import Collection, Iterable, Sized

import numpy as np
import pandas as pd

from kdb.fair_play import MEASUREMENT_FIELDS as MEASUREMENT_FIELDS  # the rooms of modelling ask here
from kdb.units import METRICS, OPERATION_RATE, THROUGHPUT, UNITS

FAIR_PLAY = ("case_study", *MEASUREMENT_FIELDS)
# The coordinates of one piece of work that was done, whatever of it was reported.
_WORK = ("configuration_id", "variant_id", "operation", "block_size_bytes", "vm_count", "origin")
ONE_QUANTITY = (THROUGHPUT, OPERATION_RATE)  # at one block size, which is what they differ by
_MOST_NUMBERS = 2**62  # what an int64 holds


def group_numbers(arms: pd.DataFrame, held: Iterable[str] = (), held_where_stated: Iterable[str] = ()) -> np.ndarray:
    """Return the number of the fair-play group that each arm belongs to.

    Parameters
    ----------
    arms : DataFrame with the columns of FAIR_PLAY (modelling.evidence.dataframes.arms)
    held : further columns that must agree, because the question's axis holds them fixed
    held_where_stated : columns in which two stated values must agree; not stated is taken for the one value that a
        group states, and stands alone where it states several

    Returns
    -------
    int array, one number a row, 0 to (number of groups - 1). A missing value equals only another
    missing value of the same case study.
    """
    numbers = numbered(arms, [*FAIR_PLAY, *held])
    for column in held_where_stated:
        numbers = _apart_where_stated(numbers, arms[column])
    return numbers


def _apart_where_stated(numbers: np.ndarray, column: pd.Series) -> np.ndarray:
    """Return the numbers of groups, which are several where one states several values of the column: one of each value
    and one of what is not stated."""
    codes, values = _coded(column)
    stated = is_stated(column)
    group_values = np.unique(numbers[stated] * len(values) + codes[stated])
    has_several = np.bincount(group_values // max(len(values), 1), minlength=int(numbers.max(initial=0)) + 1) > 1
    if not has_several.any():
        return numbers
    own = np.where(stated & has_several[numbers], codes + 1, 0)
    return pd.factorize(numbers * (len(values) + 1) + own)[0]


def is_stated(column: pd.Series) -> np.ndarray:
    """Return (rows,) bool, whether each is neither missing nor empty. column : of modelling.evidence.dataframes.arms"""
    values = column.array
    if isinstance(values, pd.Categorical):  # the code of a missing value is -1
        return np.append(np.asarray(values.categories != "", dtype=bool), False)[values.codes]
    return (column.notna() & (column != "")).to_numpy(dtype=bool)


def numbered(rows: pd.DataFrame, columns: Iterable[str]) -> np.ndarray:
    """Return (rows,) int, equal where rows are equal in these columns; from 0, in the order in which they first appear.

    A missing value equals a missing value. As groupby(...).ngroup() of pandas says it, in a fifth of the time: an
    answer numbers all its arms by twenty columns several times.
    """
    number, size = np.zeros(len(rows), dtype=np.int64), 1
    for column in columns:
        codes, values = _coded(rows[column])
        if size * (len(values) + 1) > _MOST_NUMBERS:
            number, distinct = pd.factorize(number)
            size = len(distinct)
        number = number * (len(values) + 1) + codes
        size *= len(values) + 1
    return pd.factorize(number)[0]


def _coded(column: pd.Series) -> tuple[np.ndarray, Sized]:
    """Return the number of each value, -1 of a missing one, and the values that there may be."""
    values = column.array  # its accessor `cat` takes ten times as long
    if isinstance(values, pd.Categorical):
        return values.codes.astype(np.int64), values.categories
    return pd.factorize(values)


def counted_once(arms: pd.DataFrame) -> pd.DataFrame:
    """Return the arms with one row for each piece of work: its throughput, or else the metric that comes first.

    Throughput and operation rate of one block size are one quantity, so work that is reported by both is no more
    evidence than work that is reported by one. The rows stay in their order.

    arms : DataFrame of modelling.evidence.dataframes.arms, of metrics that say how fast the same work is done
    """
    return arms[_stands(arms, THROUGHPUT)]


def _stands(arms: pd.DataFrame, first: str) -> np.ndarray:
    """Return (arms,) bool: True once for each piece of work, at its arm in the metric `first`, or else at its first."""
    order = np.argsort((arms["metric"] != first).to_numpy(), kind="stable")
    repeated = pd.Series(numbered(arms, _WORK)).iloc[order].duplicated()
    stands = np.empty(len(arms), dtype=bool)
    stands[order] = ~repeated
    return stands


def same_quantity(metric: str, block_size_bytes: float | None) -> tuple[str, ...]:
    """Return the metrics in which a number of this metric counts: throughput and operation rate of one block size are
    one quantity."""
    is_known = block_size_bytes is not None and block_size_bytes > 0  # a missing one (NaN) is not greater
    return ONE_QUANTITY if metric in ONE_QUANTITY and is_known else (metric,)


def in_metric(arms: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the arms that count in a metric: those reported in it, and those of one stated block size that were
    reported in the other metric of ONE_QUANTITY alone, turned into this one.

    arms : DataFrame of modelling.evidence.dataframes.arms of any metrics, with metric and unit as categories
    If any arm of a case study is converted, all of them come in the metric's own unit, else the sources' units stay.
    Variances are of logarithms, which a factor leaves as they are.
    """
    own = (arms["metric"] == metric).to_numpy()
    if metric not in ONE_QUANTITY:
        return arms[own]
    sized = (arms["block_size_bytes"].astype(float) > 0).to_numpy()
    counts = own | (arms["metric"].isin(ONE_QUANTITY).to_numpy() & sized)
    if counts.sum() == own.sum():
        return arms[own]
    arms = arms[counts]
    arms = arms[_stands(arms, metric)]
    turned = (arms["metric"] != metric).to_numpy()
    if not turned.any():
        return arms
    beside = arms["case_study"].isin(arms["case_study"][turned].unique()).to_numpy()
    block_size = np.log(arms["block_size_bytes"].astype(float).to_numpy() / 2**20)
    scale = arms["unit"].map({unit: np.log(factor) for unit, (_, factor) in UNITS.items()}).astype(float).to_numpy()
    scale = scale + np.where(turned, block_size if metric == THROUGHPUT else -block_size, 0.0)
    units = arms["unit"].astype(object)
    units[beside] = METRICS[metric].unit
    return arms.assign(
        metric=pd.Categorical([metric] * len(arms)),
        unit=units.astype("category"),
        mean_log=np.where(beside, arms["mean_log"] + scale, arms["mean_log"]),
    )


def first_of_each(number: np.ndarray) -> np.ndarray:
    """Return the index at which each number of `numbered` first appears."""
    first = np.empty(int(number.max(initial=-1)) + 1, dtype=np.int64)
    first[number[::-1]] = np.arange(len(number))[::-1]  # of several, the last that is set stays
    return first


def varies(number: np.ndarray, values: pd.Series) -> np.ndarray:
    """Return (numbers,) bool: whether rows of one number of `numbered` differ in the values; missing is one of them."""
    codes, _ = _coded(values)
    first = first_of_each(number)
    return np.bincount(number, codes != codes[first][number], len(first)) > 0


def came_along(arms: pd.DataFrame, columns: Iterable[str], set_by_hypervisor: Collection[str]) -> dict[str, np.ndarray]:
    """Return for each column (arms,) bool: whether it may be the cause of what differs in the arm's fair-play group.

    It may where its values differ, missing being one of them; a column of `set_by_hypervisor` also where hypervisors
    differ and one arm leaves it open, because the default of one is not that of another.

    arms : DataFrame of modelling.estimation.arms.comparable_arms
    """
    group = pd.factorize(arms["fair_play_group"])[0]
    hypervisors_differ = varies(group, arms["hypervisor"])
    causes = {}
    for column in columns:
        may_be = varies(group, arms[column])
        if column in set_by_hypervisor:
            is_open = np.bincount(group, (arms[column] == "").to_numpy(), len(may_be)) > 0
            may_be = may_be | (hypervisors_differ & is_open)
        causes[column] = may_be[group]
    return causes
