"""Judge whether a disk answers slower than it did at the same hours of the two weeks before. No Django.

An hour is compared with the same hour and its neighbours on earlier days, so that a nightly backup raises no alarm.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
HOURS = 3  # one after the other in which a disk must be slow
DAYS = 14
LEAST_PAST = 21  # hours of the past that must be known, half of all
LEAST_REQUESTS = 1000  # in an hour whose mean is used
SLOW, RELIEVED = 3.0, 1.5  # times the median of the past: notify above the first, re-arm below the second


@dataclass(frozen=True)
class Judgement:
    """A disk in its last full hours. seconds : of a request, mean of the last hour; usual : median of the past"""

    seconds: float
    usual: float
    is_slow: bool

    @property
    def is_relieved(self) -> bool:
        return self.seconds <= RELIEVED * self.usual


def judge(seconds: Mapping[datetime, float], last: datetime) -> Judgement | None:
    """Judge a disk; return None where too little is known of the last hour or of the past.

    seconds : of a request, by the beginning of the hour; last : the beginning of the last full hour
    """
    hours = [_hour(seconds, last - back * HOUR) for back in range(HOURS)]
    if hours[0] is None:
        return None
    is_slow = all(hour is not None and hour.is_slow for hour in hours)
    return Judgement(hours[0].seconds, hours[0].usual, is_slow)


def hours_needed(last: datetime) -> list[datetime]:
    """Return all hours that the judgement of the last full hour needs."""
    return [last - day * DAY - back * HOUR for day in range(DAYS + 1) for back in range(-1 if day else 0, HOURS + 1)]


def _hour(seconds: Mapping[datetime, float], at: datetime) -> Judgement | None:
    near = [at - day * DAY + hours * HOUR for day in range(1, DAYS + 1) for hours in (-1, 0, 1)]
    past = [seconds[hour] for hour in near if hour in seconds]
    if at not in seconds or len(past) < LEAST_PAST:
        return None
    usual = median(past)
    return Judgement(seconds[at], usual, seconds[at] > max(past) and seconds[at] >= SLOW * usual)
