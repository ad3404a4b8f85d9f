"""Research groups that disagree by more than laboratories usually do, worked by hand."""


import numpy as np

from modelling.estimation.arms import Spread
from modelling.estimation.partial_pooling import Scales
from modelling.evidence.axes import AXES

AXIS = AXES["guest-fs"]
SPREAD = Spread(0.05)


def scales(effect: float) -> Scales:
    """One draw in which every choice has this standard deviation, and groups, laboratories and trials deviate by it."""
    from modelling.estimation.hierarchy import CHOICES

    one = np.array([1.0])
    return Scales(tuple(CHOICES), one, np.full((1, len(CHOICES)), effect**2), one, one, one, one, np.array([0.01]))


def of(laboratory: str, ratio: float, **facts):
    rows = [{"guest_fs": "ext4", "value": 100.0 * ratio}, {"guest_fs": "xfs", "value": 100.0}]
    return [{"laboratory": laboratory, "case_study": laboratory, **row, **facts} for row in rows]
