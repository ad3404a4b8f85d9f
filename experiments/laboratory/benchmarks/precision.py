"""When enough is known: how well a campaign's repetitions tell its configurations apart."""

import math
from collections.abc import Mapping, Sequence

LEAST_REPETITIONS = 3
CONFIDENCE = 0.95


def widest_percent(samples: Mapping[str, Sequence[float]]) -> float | None:
    """Return how far the least known ratio to the fastest configuration may be off, in percent (95 %).

    samples : configuration to the throughputs of its repetitions
    None where a configuration has fewer than three, or there is nothing to compare.

    Welch's interval of the difference of mean logarithms; its half-width h means a factor exp(h). The rule
    looks at the width only, never at which configuration leads, so stopping by it favours none.
    """
    if len(samples) < 2 or any(len(values) < LEAST_REPETITIONS for values in samples.values()):
        return None
    logs = {name: [math.log(value) for value in values] for name, values in samples.items()}
    best = max(logs, key=lambda name: sum(logs[name]) / len(logs[name]))
    widths = [_half_width(logs[best], values) for name, values in logs.items() if name != best]
    return (math.exp(max(widths)) - 1) * 100


def _half_width(first: Sequence[float], second: Sequence[float]) -> float:
    from scipy.stats import ttest_ind  # half of what starting a process takes, and few need it

    interval = ttest_ind(first, second, equal_var=False).confidence_interval(CONFIDENCE)
    half = (interval.high - interval.low) / 2
    return 0.0 if math.isnan(half) else float(half)  # no spread at all: nothing is in doubt
