"""Group the numbers that may be compared with one another. No Django.

Two measurements are comparable if they differ in nothing but the configuration. Groups are computed from one list of
fields (kdb.fair_play) and never stored. The variant includes the benchmark's version, because Filebench 1.4.9.1 and 1.5
differ by a factor of four on the same disk.
"""

from collections.abc import Collection, Iterable, Sized

import numpy as np
import pandas as pd

from kdb.fair_play import MEASUREMENT_FIELDS as MEASUREMENT_FIELDS  # re-exported
from kdb.units import METRICS, OPERATION_RATE, THROUGHPUT, UNITS

FAIR_PLAY = ("case_study", *MEASUREMENT_FIELDS)
# Columns that identify a piece of work, in whichever metrics it was reported.
_WORK = ("configuration_id", "variant_id", "operation", "block_size_bytes", "vm_count", "origin")
ONE_QUANTITY = (THROUGHPUT, OPERATION_RATE)  # they differ by the factor of the block size
_MOST_NUMBERS = 2**62  # fits into an int64


def group_numbers(arms: pd.DataFrame, held: Iterable[str] = (), held_where_stated: Iterable[str] = ()) -> np.ndarray:
    """Return the number of the fair-play group that each arm belongs to.

    Parameters
    ----------
    arms : DataFrame with the columns of FAIR_PLAY (modelling.evidence.dataframes.arms)
    held : further columns that must agree, because the question's axis holds them fixed
    held_where_stated : columns in which two stated values must agree; an unstated value counts as the only value that
        a group states, and as a value of its own where the group states several

    Returns
    -------
    int array, one number a row, 0 to (number of groups - 1). A missing value equals only another
    missing value of the same case study.
    """
    numbers = number_rows(arms, [*FAIR_PLAY, *held])
    for column in held_where_stated:
        numbers = _split_where_stated(numbers, arms[column])
    return numbers


def _split_where_stated(numbers: np.ndarray, column: pd.Series) -> np.ndarray:
    """Split each group that states several values of the column: by value, with one part for unstated ones."""
    codes, values = _factorize(column)
    stated = is_stated(column)
    group_values = np.unique(numbers[stated] * len(values) + codes[stated])
    has_several = np.bincount(group_values // max(len(values), 1), minlength=int(numbers.max(initial=0)) + 1) > 1
    if not has_several.any():
        return numbers
    own = np.where(stated & has_several[numbers], codes + 1, 0)
    return pd.factorize(numbers * (len(values) + 1) + own)[0]


def is_stated(column: pd.Series) -> np.ndarray:
    """Return (rows,) bool, whether each value is neither missing nor "". column : of dataframes.arms"""
    values = column.array
    if isinstance(values, pd.Categorical):  # the code of a missing value is -1
        return np.append(np.asarray(values.categories != "", dtype=bool), False)[values.codes]
    return (column.notna() & (column != "")).to_numpy(dtype=bool)


def number_rows(rows: pd.DataFrame, columns: Iterable[str]) -> np.ndarray:
    """Return (rows,) int from 0, equal where rows are equal in these columns, in order of first appearance.

    A missing value equals a missing value. Does what groupby(...).ngroup() of pandas does, in a fifth of the time: an
    answer numbers all its arms by twenty columns several times.
    """
    number, size = np.zeros(len(rows), dtype=np.int64), 1
    for column in columns:
        codes, values = _factorize(rows[column])
        if size * (len(values) + 1) > _MOST_NUMBERS:
            number, distinct = pd.factorize(number)
            size = len(distinct)
        number = number * (len(values) + 1) + codes
        size *= len(values) + 1
    return pd.factorize(number)[0]


def _factorize(column: pd.Series) -> tuple[np.ndarray, Sized]:
    """Return the code of each value, -1 where it is missing, and the values that codes stand for."""
    values = column.array  # its accessor `cat` takes ten times as long
    if isinstance(values, pd.Categorical):
        return values.codes.astype(np.int64), values.categories
    return pd.factorize(values)


def deduplicate_work(arms: pd.DataFrame) -> pd.DataFrame:
    """Return the arms with one row for each piece of work: its throughput, else its first metric, in their order.

    Throughput and operation rate at one block size are one quantity, so work that is reported in both is no more
    evidence than work reported in one.

    arms : DataFrame of modelling.evidence.dataframes.arms, of metrics of speed
    """
    return arms[_one_row_per_work(arms, THROUGHPUT)]


def _one_row_per_work(arms: pd.DataFrame, first: str) -> np.ndarray:
    """Return (arms,) bool, True for one arm of each piece of work: that in the metric `first`, else its first arm."""
    order = np.argsort((arms["metric"] != first).to_numpy(), kind="stable")
    repeated = pd.Series(number_rows(arms, _WORK)).iloc[order].duplicated()
    is_kept = np.empty(len(arms), dtype=bool)
    is_kept[order] = ~repeated
    return is_kept


def same_quantity(metric: str, block_size_bytes: float | None) -> tuple[str, ...]:
    """Return the metrics to which a number of this metric can be converted: ONE_QUANTITY if it has a block size."""
    is_known = block_size_bytes is not None and block_size_bytes > 0  # a missing one (NaN) is not greater
    return ONE_QUANTITY if metric in ONE_QUANTITY and is_known else (metric,)


def convert_to_metric(arms: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the arms of a metric: those reported in it, and those converted from the other one of ONE_QUANTITY.

    arms : DataFrame of modelling.evidence.dataframes.arms of any metrics, with metric and unit as categories
    An arm is converted where its block size is stated and the work was not reported in the metric itself. Then all arms
    of its case study get the metric's own unit; else the sources' units stay. Variances of logarithms do not change.
    """
    own = (arms["metric"] == metric).to_numpy()
    if metric not in ONE_QUANTITY:
        return arms[own]
    sized = (arms["block_size_bytes"].astype(float) > 0).to_numpy()
    counts = own | (arms["metric"].isin(ONE_QUANTITY).to_numpy() & sized)
    if counts.sum() == own.sum():
        return arms[own]
    arms = arms[counts]
    arms = arms[_one_row_per_work(arms, metric)]
    converted = (arms["metric"] != metric).to_numpy()
    if not converted.any():
        return arms
    of_converted = arms["case_study"].isin(arms["case_study"][converted].unique()).to_numpy()
    block_size = np.log(arms["block_size_bytes"].astype(float).to_numpy() / 2**20)
    scale = arms["unit"].map({unit: np.log(factor) for unit, (_, factor) in UNITS.items()}).astype(float).to_numpy()
    scale = scale + np.where(converted, block_size if metric == THROUGHPUT else -block_size, 0.0)
    units = arms["unit"].astype(object)
    units[of_converted] = METRICS[metric].unit
    return arms.assign(
        metric=pd.Categorical([metric] * len(arms)),
        unit=units.astype("category"),
        mean_log=np.where(of_converted, arms["mean_log"] + scale, arms["mean_log"]),
    )


def first_indices(number: np.ndarray) -> np.ndarray:
    """Return the index at which each number of `number_rows` first appears."""
    first = np.empty(int(number.max(initial=-1)) + 1, dtype=np.int64)
    first[number[::-1]] = np.arange(len(number))[::-1]  # the last assignment to an index wins
    return first


def varies(number: np.ndarray, values: pd.Series) -> np.ndarray:
    """Return (numbers,) bool: whether rows of a number of `number_rows` differ in the values, missing being a value."""
    codes, _ = _factorize(values)
    first = first_indices(number)
    return np.bincount(number, codes != codes[first][number], len(first)) > 0


def find_confounders(
    arms: pd.DataFrame, columns: Iterable[str], set_by_hypervisor: Collection[str]
) -> dict[str, np.ndarray]:
    """Return for each column (arms,) bool: whether it may cause differences in the arm's fair-play group.

    It may where its values differ, missing being a value; a column of `set_by_hypervisor` also where hypervisors differ
    and an arm does not state it, because their defaults differ.

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
