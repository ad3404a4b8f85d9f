"""The rate of false alarms about slow disks, and the delay of true ones, on made-up hours with a known truth."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from experiments.fleet import latency

HOUR = timedelta(hours=1)
BEGIN = datetime(2026, 11, 1, tzinfo=UTC)
LEARNT = 24 * latency.DAYS
SPREAD, MEMORY = 0.3, 0.8  # of the logarithm: hours far from their mean, and like the hour before


def hours(rng: np.random.Generator, number: int) -> np.ndarray:
    """Return ms of a request by hour: a wave of a day, a backup at two, and noise that lasts."""
    noise = np.zeros(number)
    for at in range(1, number):
        noise[at] = MEMORY * noise[at - 1] + rng.normal(0, SPREAD * (1 - MEMORY**2) ** 0.5)
    of_day = np.arange(number) % 24
    return np.exp(0.7 + 0.4 * np.sin(2 * np.pi * of_day / 24) + (of_day == 2) + noise)


def told(milliseconds: np.ndarray, since: int = LEARNT) -> list[int]:
    """Return the hours in which the disk is called slow."""
    seconds = {BEGIN + at * HOUR: float(mean) for at, mean in enumerate(milliseconds)}
    judged = {at: latency.judge(seconds, BEGIN + at * HOUR) for at in range(since, len(milliseconds))}
    return [at for at, judgement in judged.items() if judgement and judgement.is_slow]


@pytest.mark.slow
def test_a_disk_like_itself_is_called_slow_less_than_once_in_a_disk_year():
    rng = np.random.default_rng(1)
    days = 40
    alarms = [told(hours(rng, LEARNT + 24 * days)) for _ in range(10)]  # 400 days of disks
    assert sum(map(bool, alarms)) <= 1


def test_a_disk_six_times_as_slow_is_told_within_six_hours():
    rng = np.random.default_rng(2)
    soon = 0
    for _ in range(50):
        milliseconds = hours(rng, LEARNT + 30)
        milliseconds[LEARNT + 10 :] *= 6
        first = told(milliseconds)
        soon += bool(first) and first[0] < LEARNT + 16
    assert soon >= 45
