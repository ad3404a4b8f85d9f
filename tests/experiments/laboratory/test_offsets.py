"""Requests are read from the kernel's trace as remote.sh prints it, and what follows on is counted."""

import random

import pytest

from experiments.laboratory.transport import offsets
from experiments.laboratory.transport.offsets import Offsets, Request

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


def test_requests_are_read_by_disk_and_what_is_none_is_left_out():
    assert offsets.read(ANSWER) == {
        "local-lvm:vm-100-disk-0": [Request(True, 1960336, 32), Request(False, 8, 16)],
        "/dev/vg/idle": [],
    }


def test_a_request_follows_on_at_the_end_of_one_of_its_kind():
    begin = 5 * MIB
    sums = offsets.of_requests([*reads(begin, begin + 16 * KIB, 500 * MIB), *writes(begin + 32 * KIB, 7)])
    assert sums == Offsets(sampled_reads=3, following_reads=1, sampled_writes=2, following_writes=0)


@pytest.mark.parametrize(("files", "following"), [(2, 18), (32, 288), (33, 0)])
def test_files_that_are_read_at_the_same_time_are_followed_up_to_thirty_two(files, following):
    places = [file * 900 * MIB + step * 16 * KIB for step in range(10) for file in range(files)]
    assert offsets.of_requests(reads(*places)).following_reads == following


def test_rate_and_place_do_not_matter():
    begins = [random.Random(1).randrange(1000) * MIB for _ in range(50)]
    in_a_row = [begin + step * 16 * KIB for begin in begins for step in range(4)]
    elsewhere = [place + 77 * MIB for place in in_a_row]
    assert offsets.of_requests(reads(*in_a_row)) == offsets.of_requests(reads(*elsewhere))
    assert offsets.of_requests(reads(*in_a_row)).following_reads == 150


def test_samples_add_up():
    one, other = offsets.of_requests(reads(0, 16 * KIB)), offsets.of_requests(writes(7))
    assert offsets.joined([one, None, other]) == Offsets(2, 1, 1, 0)


@pytest.mark.parametrize("samples", [[], [None, None]])
def test_of_no_samples_nothing_is_known(samples):
    assert offsets.joined(samples) is None
