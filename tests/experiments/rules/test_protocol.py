"""Each condition that a result must meet to count is held against numbers made by hand."""

import pytest

from experiments.rules.protocol import (
    MET,
    NOT_MET,
    NOT_STATED,
    Number,
    files_bytes,
    is_anecdote,
    is_direct,
    judge,
    memory_of,
    seconds_of,
    warm_up_of,
)

GIB = 2**30


@pytest.mark.parametrize(
    ("runs", "has_spread", "seconds", "is_described", "expected"),
    [
        (None, False, None, False, True),  # of which nothing is said
        (1, False, 4, False, True),  # one run of 4 s
        (1, False, 4, True, True),  # words do not make it longer
        (None, False, 4, True, True),
        (1, False, 30, False, False),  # long enough
        (1, False, 29, True, True),
        (2, False, 4, False, False),  # repeated
        (None, True, None, False, False),  # a spread needs runs
        (None, False, None, True, False),  # as most that is published: a mean with a description
        (1, False, None, True, False),
    ],
)
def test_a_number_counts_where_it_was_repeated_or_long_or_else_described(
    runs, has_spread, seconds, is_described, expected
):
    assert is_anecdote(runs, has_spread, seconds, is_described, 30.0) is expected


def states(*numbers: Number) -> dict[str, str]:
    return {tick.name: tick.state for tick in judge(numbers).ticks}


def test_of_nothing_stated_nothing_is_met_and_nothing_broken():
    assert set(states(Number()).values()) == {NOT_STATED, MET}  # no setting is told to be missing
    assert states(Number(unstated=("disk bus",)))["settings"] == NOT_STATED


def test_a_whole_protocol_meets_everything():
    whole = Number(
        runs=3,
        has_spread=True,
        seconds=120,
        is_described=True,
        warm_up_seconds=20,
        quiet="yes",
        files_bytes=64 * GIB,
        guest_bytes=4 * GIB,
        host_bytes=32 * GIB,
        cache_mode="none",
    )
    protocol = judge([whole])
    assert {tick.state for tick in protocol.ticks} == {MET}
    assert (protocol.met, len(protocol.ticks), protocol.numbers, protocol.anecdotes) == (9, 9, 1, 0)
    assert not any(tick.remedy for tick in protocol.ticks)


def test_what_is_known_to_fall_short_is_not_met():
    short = Number(runs=1, seconds=4, warm_up_seconds=0, quiet="no", files_bytes=GIB, guest_bytes=4 * GIB)
    by_condition = states(short)
    assert [name for name, state in by_condition.items() if state == NOT_MET] == [
        *("runs", "length", "warm-up", "memory", "quiet host"),
    ]


@pytest.mark.parametrize(
    ("fields", "state"),
    [
        ({"files_bytes": 8 * GIB, "machines": 3, "host_bytes": 32 * GIB}, NOT_MET),  # 24 GiB of files, 32 of memory
        ({"files_bytes": 8 * GIB, "machines": 4, "host_bytes": 32 * GIB}, MET),
        ({"files_bytes": 8 * GIB, "guest_bytes": 4 * GIB, "host_bytes": 32 * GIB}, NOT_MET),  # fits into the host's
        ({"files_bytes": 8 * GIB}, NOT_STATED),
        ({"is_direct": True, "cache_mode": "none"}, MET),
        ({"is_direct": True, "cache_mode": "writeback"}, NOT_STATED),  # the host's page cache may answer
        ({"is_direct": True, "cache_mode": None}, MET),  # on the host itself
        # What the virtual disk passes by caches nothing.
        ({"files_bytes": 8 * GIB, "guest_bytes": 4 * GIB, "host_bytes": 32 * GIB, "cache_mode": "none"}, MET),
        ({"files_bytes": 8 * GIB, "guest_bytes": 4 * GIB, "host_bytes": 32 * GIB, "cache_mode": "writeback"}, NOT_MET),
    ],
)
def test_files_are_held_against_memory(fields, state):
    assert states(Number(**fields))["memory"] == state


def test_one_number_that_falls_short_is_enough_and_the_others_are_counted():
    ticks = {tick.name: tick for tick in judge([Number(runs=3), Number(runs=1), Number()]).ticks}
    assert (ticks["runs"].state, ticks["runs"].met, ticks["runs"].of) == (NOT_MET, 1, 3)


def test_the_remedy_names_what_is_left_open():
    ticks = judge([Number(unstated=("disk bus",)), Number(unstated=("kind of disk", "disk bus"))]).ticks
    (settings,) = (tick for tick in ticks if tick.name == "settings")
    assert settings.remedy == "State what is left open: disk bus, kind of disk."


def test_a_run_without_a_virtual_disk_is_not_asked_for_its_cache_mode():
    assert "cache mode" not in states(Number(cache_mode=None))


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"runtime": "4"}, 4.0),
        ({"runtime": "60s"}, 60.0),
        ({"runtime": "2m"}, 120.0),
        ({"run_seconds": 3}, 3.0),
        ({"job": "fio: randread 60 s under /root"}, 60.0),
        ({"job": "fio: 16 jobs"}, None),
        ({}, None),
    ],
)
def test_the_length_of_a_run_is_told_by_the_load(parameters, expected):
    assert seconds_of(parameters) == expected


def test_parameters_tell_of_warm_up_direct_access_and_files():
    assert (warm_up_of({"ramp_time": "10"}), warm_up_of({"ramp_time": "10s"}), warm_up_of({})) == (10, 10, None)
    assert (is_direct({"direct": "1"}), is_direct({"job": "IOzone: O_DIRECT"}), is_direct({"direct": "0"})) == (
        *(True, True, False),
    )
    assert files_bytes({"size": "1g", "numjobs": 4}) == 4 * GIB
    assert files_bytes({"file_size_bytes": 131_072, "files": 8192, "threads": 50}) == GIB  # as KDB states it
    assert files_bytes({"mean_file_kib": 128, "files": 8192, "threads": 50}) == GIB  # as campaigns stated it


@pytest.mark.parametrize(("is_native", "expected"), [(True, (None, GIB)), (False, (GIB, 32 * GIB))])
def test_a_load_may_be_limited_to_less_than_the_memory_of_its_machine(is_native, expected):
    sizes = {"guest_gib": None if is_native else 4, "host_gib": 32}
    assert memory_of({"memory_bytes": GIB}, is_native=is_native, **sizes) == expected
    assert memory_of({}, is_native=is_native, **sizes) == ((None if is_native else 4 * GIB), 32 * GIB)
