"""The test for a change at the newest point of a series: one p-value a point, valid wherever the change is.

Source: docs/models/change.md. Outliers are drawn in, the variance is that of the whole series, and Bonferroni's
inequality pays for looking at several places.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from .divisive import WINDOW, best_split, segments
from .student import RESOLUTION, Difference, difference

Numbers = NDArray[np.float64]

LAGS = np.array([3, 4, 5, 6, 8, 12, 20])  # a change is looked for so many points before the end
LEAST_BEFORE = 5  # points that a level is known by
FARTHEST = 3.0  # standard deviations from the level before, at which what is farther off counts
_NORMAL = 1.4826  # standard deviation of normal numbers, as a multiple of their median distance from the median


def newest_p(values: Numbers, changed: Sequence[int] = ()) -> float | None:
    """Return the p-value of the level not having changed in the last points; None while too few points tell.

    values : ln speed, in order of time; changed : places of the changes that are known, ascending
    """
    parts = [values[part] for part in segments(len(values), changed)]
    count = len(parts[-1])
    lags = LAGS[count - LEAST_BEFORE >= LAGS]
    if not len(lags):
        return None
    settled = [*parts[:-1], parts[-1][: -LAGS[0]]]  # without the points that a change would be in first
    middles = [float(np.median(part)) for part in settled]
    apart = np.concatenate([np.abs(part - middle) for part, middle in zip(settled, middles, strict=True)])
    farthest = FARTHEST * max(_NORMAL * float(np.median(apart)), RESOLUTION)
    *earlier, level = [np.clip(part - middle, -farthest, farthest) for part, middle in zip(parts, middles, strict=True)]
    squares = sum(float(((part - part.mean()) ** 2).sum()) for part in earlier)
    freedom = sum(len(part) - 1 for part in earlier) + count - 2
    sums = np.concatenate([[0.0], np.cumsum(level)])
    before = sums[count - lags] / (count - lags)
    after = (sums[count] - sums[count - lags]) / lags
    squares = squares + float((level**2).sum()) - (count - lags) * before**2 - lags * after**2
    variance = np.maximum(squares / freedom, RESOLUTION**2)
    t = np.abs(after - before) / np.sqrt(variance * (1 / lags + 1 / (count - lags)))
    return min(1.0, len(lags) * 2 * float(stdtr(freedom, -t.max())))


def located(values: Numbers, changed: Sequence[int] = ()) -> tuple[int, Difference]:
    """Return the place of the first point after a change that the newest point shows, and the change.

    values, changed : as of newest_p, which was not None
    """
    parts = [values[part] for part in segments(len(values), changed)]
    start = len(values) - len(parts[-1])
    first = max(start, len(values) - WINDOW)
    place = first + best_split(values[first:], to_end=True)[0]
    place = min(max(place, start + 2), len(values) - int(LAGS[0]) + 1)
    squares = sum(float(((part - part.mean()) ** 2).sum()) for part in parts[:-1])
    freedom = sum(len(part) - 1 for part in parts[:-1])
    return place, difference(values[start:place], values[place:], squares, freedom)
