"""The track record of the mechanisms: how often they were right, counted by hand on small evidence."""

from modelling.estimation.arms import Spread
from modelling.workloads.track_record import TrackRecord, track_record
from tests.modelling import frames
from tests.modelling.workloads.test_mechanisms import KNOWN, MATRIX

SPREAD = Spread(0.05)
# On random file access the mechanisms put Btrfs first and ext4 last (test_mechanisms.py).
AS_EXPECTED, REVERSED = (90.0, 100.0, 110.0), (110.0, 100.0, 90.0)


def guests(study, values):
    return [
        frames.arm(value, case_study=study, guest_fs=guest, host_fs="ext4")
        for guest, value in zip(("ext4", "xfs", "btrfs"), values, strict=True)
    ]


def record(*rows, findings=()):
    lists = frames.findings(*findings)
    return track_record(frames.arms(*rows), lists, MATRIX, KNOWN["randomfileaccess"], SPREAD)


def test_every_pair_of_a_laboratory_is_a_comparison():
    tally = record(*guests("a", AS_EXPECTED), *guests("b", REVERSED))
    assert tally == TrackRecord(right=3, compared=6)


def test_a_tier_list_counts_where_it_tells_two_apart():
    listed = [
        frames.finding("btrfs", "ext4", "best", publication="p"),
        frames.finding("xfs", "ext4", "worst", publication="p"),
        frames.finding("ext4", "ext4", "worst", publication="p"),
    ]
    assert record(findings=listed) == TrackRecord(right=2, compared=2)


def test_what_has_no_stated_mechanism_is_not_counted():
    rows = [frames.arm(value, guest_fs=guest) for guest, value in (("ntfs", 90.0), ("ext4", 100.0))]
    assert record(*rows) == TrackRecord()
