"""From arms to what each case study says about an axis. No Django.

Inside a case study the log ratios are averaged over its fair-play groups (VM counts, block sizes,
operations, and the values of what the axis holds fixed), because those are not independent trials:
a case study counts once. Source: design rules 1-3; docs/models/ranking.md.
"""

import numpy as np
import pandas as pd

from modelling.estimation.graph import connected
from modelling.estimation.network import Trial

from .axes import Axis, entry_key
from .fairplay import MEASUREMENT_FIELDS, group_numbers

NORMAL_95 = 1.959964


def comparable_arms(arms: pd.DataFrame, axis: Axis, default_variation: float) -> pd.DataFrame:
    """The arms that take part in at least one contrast of the axis.

    Parameters
    ----------
    arms : DataFrame of modelling.evidence.frames.arms
    axis : what is ranked
    default_variation : standard deviation of one run as a share of its value, where none is stated

    Returns
    -------
    The same columns without arms that have nothing to be compared with, and
    entry str, key of the axis entry; group int, fair-play group with the axis' held fields;
    assumed bool, whether the variance rests on the default; arm_variance float > 0, of mean_log.
    Where a cell has a measured and a derived value, the measured one stands.
    """
    known = arms.dropna(subset=[column for column in axis.entry if column != "cache_mode"])
    measured_first = known.sort_values("origin", ascending=False, kind="stable")  # "measured" > "derived"
    arms = measured_first.drop_duplicates(["configuration_id", *MEASUREMENT_FIELDS]).sort_index()
    values = arms[list(axis.entry)].itertuples(index=False, name=None)
    arms = arms.assign(entry=[entry_key(axis, value) for value in values], group=group_numbers(arms, axis.held))
    arms = arms[arms.groupby("group")["entry"].transform("nunique") > 1]
    # A printed interval of a derived value covers its rounding only, so the spread of a run comes on top.
    default = default_variation**2 / arms["runs"].astype(float).fillna(1.0)
    derived = arms["origin"] == "derived"
    assumed = arms["variance"].isna() | derived
    stated = arms["variance"].astype(float).fillna(0.0)
    return arms.assign(assumed=assumed, arm_variance=stated + default.where(assumed, 0.0))


def trials(arms: pd.DataFrame) -> list[Trial]:
    """One Trial for each case study and each set of entries it connects.

    Parameters
    ----------
    arms : DataFrame of comparable_arms

    Returns
    -------
    list of Trial of two arms or more, in the order of case studies. Effects solve, by least squares
    over the groups, mean_log = effect(entry) + level(group); where every group holds every entry that
    is the mean of the log ratios against the geometric mean of the group. The variance of an entry
    is the mean of its arms' variances: VM counts of one case study share their errors, so more of
    them make no more certainty. Where the ratios vary more from group to group than that explains
    (an entry that wins at one VM count and loses at three), the excess, divided by the number of
    groups, comes on top.
    """
    found = []
    for case_study, rows in arms.groupby("case_study"):
        entries, entry = np.unique(rows["entry"].to_numpy(dtype=str), return_inverse=True)
        _, group = np.unique(rows["group"].to_numpy(), return_inverse=True)
        counts = np.zeros((len(entries), group.max() + 1))
        np.add.at(counts, (entry, group), 1.0)
        sizes = counts.sum(axis=0)
        laplacian = np.diag(counts.sum(axis=1)) - (counts / sizes) @ counts.T
        levels = np.bincount(group, rows["mean_log"]) / sizes
        right = np.bincount(entry, rows["mean_log"].to_numpy() - levels[group])
        effects = np.linalg.lstsq(laplacian, right, rcond=None)[0]
        occurrences = np.bincount(entry)
        variances = np.bincount(entry, rows["arm_variance"]) / occurrences
        variances += _excess(rows, effects, entry, group, laplacian) / occurrences
        for members in connected(laplacian):
            names = tuple(entries[members].tolist())
            found.append(Trial.from_arms(str(case_study), names, effects[members], variances[members]))
    return found


def _excess(
    rows: pd.DataFrame, effects: np.ndarray, entry: np.ndarray, group: np.ndarray, laplacian: np.ndarray
) -> float:
    """Variance of single arms around the fit beyond their own; 0 where the fit leaves no freedom to tell."""
    rest = rows["mean_log"].to_numpy() - effects[entry]
    rest = rest - (np.bincount(group, rest) / np.bincount(group))[group]
    freedom = len(rows) - (group.max() + 1) - len(effects) + len(connected(laplacian))
    return max(0.0, float(rest @ rest) / freedom - float(rows["arm_variance"].mean())) if freedom > 0 else 0.0
