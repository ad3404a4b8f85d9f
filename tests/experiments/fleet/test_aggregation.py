"""Counters into sums by minute: numbers worked by hand."""

from datetime import UTC, datetime, timedelta

import pytest

from experiments.fleet.aggregation import LONGEST_GAP, by_minute
from experiments.laboratory.transport.counters import Counts

NOON = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def test_what_happened_in_one_minute_is_the_difference_of_its_looks():
    looks = [
        (at(0), Counts(reads=5)),
        (at(10), Counts(reads=8, read_bytes=4096)),
        (at(20), Counts(reads=8, read_bytes=4096)),
    ]
    (watched,) = by_minute(looks).values()
    assert (watched.seconds, watched.busy_seconds) == (20, 10)
    assert (watched.counts.reads, watched.counts.read_bytes) == (3, 4096)


def test_a_difference_over_two_minutes_is_shared_out_by_time_and_adds_up():
    minutes = by_minute([(at(50), Counts()), (at(65), Counts(writes=10, write_seconds=3.0))])
    assert {minute: (watched.seconds, watched.counts.writes) for minute, watched in minutes.items()} == {
        at(0): (10, 7),
        at(60): (5, 3),
    }
    assert sum(watched.counts.write_seconds for watched in minutes.values()) == pytest.approx(3.0)


def test_of_a_restarted_machine_nothing_is_known_between_the_two_looks():
    looks = [(at(0), Counts(reads=100)), (at(10), Counts(reads=40)), (at(20), Counts(reads=45))]
    (watched,) = by_minute(looks).values()
    assert (watched.seconds, watched.counts.reads) == (10, 5)


def test_a_machine_that_did_not_run_makes_no_row():
    assert by_minute([(at(0), None), (at(10), None), (at(20), Counts(reads=7))]) == {}


def test_looks_too_far_apart_are_not_joined():
    later = NOON + LONGEST_GAP
    assert by_minute([(NOON, Counts()), (later + timedelta(seconds=1), Counts(reads=9))]) == {}
    assert (
        sum(watched.counts.reads for watched in by_minute([(NOON, Counts()), (later, Counts(reads=9))]).values()) == 9
    )


def test_a_look_that_is_not_later_adds_nothing():
    assert by_minute([(at(10), Counts()), (at(10), Counts(reads=9)), (at(5), Counts(reads=12))]) == {}
