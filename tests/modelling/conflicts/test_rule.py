"""Research groups that disagree by more than laboratories usually do, worked by hand."""

from math import log, sqrt

import numpy as np
import pytest

from modelling.conflicts.rule import LIMIT, differing, disagreements
from modelling.estimation.arms import Spread, comparable_arms
from modelling.estimation.hierarchy import CHOICES
from modelling.estimation.partial_pooling import Scales
from modelling.evidence.axes import AXES
from tests.modelling.frames import arm, arms

AXIS = AXES["guest-fs"]
ONE = np.array([1.0])
EFFECT, RESIDUAL = 0.02, 0.01  # variances
# One draw: groups, kinds of disk, laboratories and trials deviate by as much as choices differ.
SCALES = Scales(tuple(CHOICES), ONE, np.full((1, len(CHOICES)), EFFECT), ONE, ONE, ONE, ONE, np.array([RESIDUAL]))


def of(laboratory: str, ratio: float, **facts) -> list[dict]:
    """Return two arms of a laboratory in which ext4 is `ratio` times as fast as XFS."""
    names = {"case_study": laboratory, **facts}
    return [arm(100.0 * ratio, guest_fs="ext4", **names), arm(100.0, guest_fs="xfs", **names)]


def compared(*rows: list[dict]):
    frame = comparable_arms(arms(*(row for some in rows for row in some)), AXIS, Spread(0.01))
    return frame, disagreements(frame, AXIS, SCALES)


def test_z_is_the_difference_over_what_groups_usually_differ_by():
    frame, (pairs, conflicts) = compared(of("one", 30.0), of("two", 1 / 30.0))
    variance = frame["arm_variance"].iloc[0]
    # Both sides of a ratio deviate by group, laboratory and trial; the kind of disk is the same.
    tau = 2 * EFFECT * 3 + 2 * RESIDUAL
    assert pairs == 1
    assert conflicts[0].z == pytest.approx(2 * log(30.0) / sqrt(2 * (2 * variance + tau)))
    assert conflicts[0].entries == ("ext4", "xfs")
    assert [finding.group for finding in conflicts[0].findings] == ["one", "two"]
    _, (_, on_other_disks) = compared(of("one", 30.0), of("two", 1 / 30.0, storage="nvme"))
    assert on_other_disks[0].z == pytest.approx(2 * log(30.0) / sqrt(2 * (2 * variance + tau + 2 * EFFECT)))


def test_groups_that_differ_as_usual_do_not_disagree_and_one_group_never_does():
    _, (pairs, conflicts) = compared(of("one", 1.2), of("two", 1 / 1.2))
    assert (pairs, conflicts) == (1, [])
    together = [row | {"research_group": "us"} for row in (*of("one", 30.0), *of("two", 1 / 30.0))]
    assert compared(together)[1] == (0, [])
    assert LIMIT > 3


def test_what_differs_is_told_and_what_one_of_them_leaves_open_comes_last():
    frame, _ = compared(
        of("one", 30.0, cache_mode="none", disk_bus="virtio", image_format="raw"),
        of("two", 1 / 30.0, cache_mode="writeback", image_format="raw"),
    )
    told = differing(frame, ("ext4", "xfs"), ("one", "two"), ("disk_bus", "cache_mode", "image_format", "vm_count"))
    assert list(told.items()) == [("cache_mode", (("none",), ("writeback",))), ("disk_bus", (("virtio",), ()))]
