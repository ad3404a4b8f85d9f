"""Where the steady part of a run begins, told from its throughput over time, and what a write cache took before."""

from collections.abc import Sequence
from statistics import fmean, quantiles

LEAST, LEAST_PART = 10, 2  # intervals of a curve of which anything is told, and of each part of it
CLEARLY = 1.15  # times, between the slow quarter of the faster part and the fast quarter of the slower one


def steady_part(curve: Sequence[float]) -> tuple[int, int]:
    """Return where the steady part begins, and where the last fast part before it ended; 0: there was none.

    curve : throughput of equal intervals, in any unit. It is cut in two where the squares about the means of the two
    parts are least (Page 1955), as long as the parts differ clearly; the last part is the steady one.
    """
    start = filled = 0
    while len(curve) - start >= LEAST:
        cut = min(range(start + LEAST_PART, len(curve) - LEAST // 2 + 1), key=lambda at: _squares(curve, start, at))
        before, after = quantiles(curve[start:cut], n=4), quantiles(curve[cut:], n=4)
        falls, rises = before[0] > CLEARLY * after[2], after[0] > CLEARLY * before[2]
        if not (falls or rises):
            break
        start, filled = cut, cut if falls else filled
    return start, filled


def steady_rate(
    rate: float, curve: Sequence[float], written: float, ahead: float, prepared: float = 0
) -> tuple[float, str]:
    """Return the rate of a run's steady part, and what is to be said of the part before; "": nothing.

    rate : mean of the curve; ahead : intervals that the run went on before; written : bytes with these, 0: not known
    prepared : bytes of files that were written before, some of which the cache may have held already
    """
    start, filled = steady_part(curve)
    rest = curve[start + 1 :] if start else curve  # it changed somewhere within the interval
    if not start or fmean(rest) <= 0:
        return rate, ""
    before = curve[:filled]
    steady = rate * fmean(rest) / fmean(curve)
    if not before or fmean(before) <= fmean(rest):
        return steady, ""
    times, early = fmean(before) / fmean(rest), ahead * fmean(before)
    gib = written * (early + sum(before)) / (early + sum(curve)) / 2**30
    told = f"the first {gib:.1f} GiB went to a cache at {times:.1f} times the speed"
    told += f", after {prepared / 2**20:,.0f} MiB of files were made" if prepared else ""
    return steady, told if written else f"it was {times:.1f} times as fast at first"


def _squares(curve: Sequence[float], start: int, cut: int) -> float:
    """Return the sum of squares about the means of two parts."""
    parts = curve[start:cut], curve[cut:]
    return sum(sum((value - fmean(part)) ** 2 for value in part) for part in parts)
