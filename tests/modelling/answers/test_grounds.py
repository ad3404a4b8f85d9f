"""An answer describes the evidence it rests on, case study by case study."""

import pytest

from modelling.answers.grounds import describe_protocols
from tests.modelling.frames import arm, arms

MISSING = float("nan")


@pytest.mark.parametrize(
    ("runs", "seconds", "assumed", "protocol"),
    [
        ([3, 3], [120, 120], [False, False], "3 runs a number, of 120 s; spread stated"),
        ([1, 1], [60, 60], [True, True], "1 run a number, of 60 s; no spread"),
        ([5, 3, 4], [120, 30, 60], [False, True, True], "3 to 5 runs a number, of 30 to 120 s; spread of 1 of 3"),
        ([3, MISSING], [120, 120], [True, True], "number of runs not stated, of 120 s; no spread"),
        ([3, 3], [MISSING, 90], [True, True], "3 runs a number, of 90 s; no spread"),
        ([3, 3], [MISSING, MISSING], [True, True], "3 runs a number, length not stated; no spread"),
    ],
)
def test_how_numbers_were_measured_is_told_of_each_case_study(runs, seconds, assumed, protocol):
    told = zip(runs, seconds, assumed, strict=True)
    mine = [(arm(100.0, case_study="mine", runs=run, run_seconds=length), by_us) for run, length, by_us in told]
    other = (arm(100.0, case_study="other", runs=7, run_seconds=7), True)
    rows = [*mine[:1], other, *mine[1:]]  # case studies need not stand together
    frame = arms(*(row for row, _ in rows)).assign(assumed=[by_us for _, by_us in rows])
    assert describe_protocols(frame) == {"mine": protocol, "other": "7 runs a number, of 7 s; no spread"}


def test_without_numbers_nothing_is_told_of_how_they_were_measured():
    assert describe_protocols(arms().assign(assumed=[])) == {}
