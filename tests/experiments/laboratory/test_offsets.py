"""Where requests begin: read from the kernel's trace as remote.sh prints it, and summed up."""

import random

import pytest

from experiments.laboratory.reach import offsets
from experiments.laboratory.reach.offsets import Offsets, Request

KIB = 2  # sectors
MIB = 1024 * KIB
ANSWER = """\
254,3\tlocal-lvm:vm-100-disk-0
254,4\t/dev/vg/idle
254,3 R 1960336 32
254,3 W 8 16
253,0 R 0 8
254,3 R 196 what
"""


def reads(*begins: int, sectors: int = 16 * KIB) -> list[Request]:
    return [Request(True, begin, sectors) for begin in begins]


def writes(*begins: int, sectors: int = 16 * KIB) -> list[Request]:
    return [Request(False, begin, sectors) for begin in begins]


def halved(requests: list[Request]) -> list[Request]:
    return [
        Request(request.is_read, request.begin + part, request.sectors // 2)
        for request in requests
        for part in (0, request.sectors // 2)
    ]


def test_requests_are_read_by_disk_and_what_is_none_is_left_out():
    assert offsets.read(ANSWER) == {
        "local-lvm:vm-100-disk-0": [Request(True, 1960336, 32), Request(False, 8, 16)],
        "/dev/vg/idle": [],
    }


def test_what_follows_on_is_one_row():
    begin = 5 * MIB
    sums = offsets.of_requests(reads(begin, begin + 16 * KIB, begin + 32 * KIB, 500 * MIB))
    assert (sums.requests, sums.read_runs, sums.read_run_bytes) == (4, 2, 4 * 16 * 1024)


def test_files_read_at_the_same_time_are_rows_of_their_own():
    together = [place for step in range(10) for place in (step * 16 * KIB, 900 * MIB + step * 16 * KIB)]
    assert offsets.of_requests(reads(*together)).read_runs == 2


def test_a_row_that_begins_soon_after_an_earlier_one_is_near_it_and_one_that_begins_before_it_is_not():
    assert offsets.of_requests(reads(9 * MIB, 9 * MIB + 20 * KIB, 50 * MIB, 8 * MIB)).near_read_runs == 1


def test_a_row_that_begins_in_what_was_just_written_is_written_again():
    sums = offsets.of_requests(writes(9 * MIB, 9 * MIB + 8 * KIB, 9 * MIB, 50 * MIB))
    assert (sums.write_runs, sums.again_write_runs) == (4, 2)
    assert offsets.of_requests([*reads(9 * MIB), *writes(9 * MIB)]).again_write_runs == 0


def test_a_host_that_divides_requests_makes_the_same_rows():
    rng = random.Random(1)
    requests = [*reads(*(rng.randrange(1000) * MIB for _ in range(300)))]
    whole, parts = offsets.of_requests(requests), offsets.of_requests(halved(requests))
    assert (whole.read_runs, whole.read_run_bytes) == (parts.read_runs, parts.read_run_bytes)


def test_samples_add_up():
    one, other = offsets.of_requests(reads(1, 9 * MIB)), offsets.of_requests(writes(7))
    assert offsets.joined([one, None, other]) == Offsets(
        requests=3, read_runs=2, read_run_bytes=2 * 16 * 1024, write_runs=1, write_run_bytes=16 * 1024
    )


@pytest.mark.parametrize("samples", [[], [None, None]])
def test_of_no_samples_nothing_is_known(samples):
    assert offsets.joined(samples) is None
