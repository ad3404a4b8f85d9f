"""Which numbers may be compared with one another. No Django.

Two measurements are comparable where they differ in nothing but the configuration. That is one list
of fields, here; groups are computed from it and stored nowhere. The variant carries benchmark, its
version and the workload's parameters: Filebench 1.4.9.1 and 1.5 differ by a factor of four on the
same disk, so a version is never a detail.
"""

from collections.abc import Iterable

import numpy as np
import pandas as pd

# The coordinates of a measurement inside a case study, as columns of its table.
MEASUREMENT_FIELDS = ("variant_id", "operation", "block_size_bytes", "vm_count", "metric", "unit", "reference")
FAIR_PLAY = ("case_study", *MEASUREMENT_FIELDS)


def group_numbers(arms: pd.DataFrame, held: Iterable[str] = (), held_where_stated: Iterable[str] = ()) -> np.ndarray:
    """The number of the fair-play group that each arm belongs to.

    Parameters
    ----------
    arms : DataFrame with the columns of FAIR_PLAY (modelling.evidence.frames.arms)
    held : further columns that must agree, because the question's axis holds them fixed
    held_where_stated : columns in which two stated values must agree; not stated is taken for the one value that a
        group states, and stands alone where it states several

    Returns
    -------
    int array, one number a row, 0 to (number of groups - 1). A missing value equals only another
    missing value of the same case study.
    """
    numbers = arms.groupby([*FAIR_PLAY, *held], dropna=False, sort=False).ngroup()
    for column in held_where_stated:
        values = arms[column].where(arms[column] != "")
        if values.nunique() < 2:
            continue
        several = values.groupby(numbers).transform("nunique") > 1
        numbers = arms.groupby([numbers, values.where(several)], dropna=False, sort=False).ngroup()
    return numbers.to_numpy()
