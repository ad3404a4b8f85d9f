"""Cells of the one model from arms and tier lists built by hand, and the rows by which it is asked."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from modelling.estimation.arms import Spread
from modelling.estimation.cells import (
    COLUMNS,
    IMPLAUSIBLE,
    choices,
    entry_rows,
    load_class,
    measurement_cells,
    tier_list_cells,
)
from modelling.evidence.axes import AXES
from tests.modelling.frames import arm, arms, finding, findings

MODES = ("none", "unsafe")
TIERS = [("btrfs", "ext4", "best"), ("ext4", "ext4", "unlisted"), ("xfs", "ext4", "worst")]


def numbers(*rows: dict, workload: str | list[str] = "random-read") -> pd.DataFrame:
    return measurement_cells(arms(*rows).assign(workload=workload), Spread(0.05))


def lists(*rows: dict, workload: str | list[str] = "varmail") -> pd.DataFrame:
    return tier_list_cells(findings(*rows).assign(workload=workload), AXES["fs-pair"], tier_scale=0.25, tier_doubt=0.5)


def test_arms_that_differ_in_a_choice_are_cells_with_what_is_stated():
    cells = numbers(
        arm(100.0, cache_mode="none", case_study="lab"), arm(150.0, cache_mode="writeback", case_study="lab")
    )

    assert tuple(cells.columns) == COLUMNS
    assert list(cells["cache_mode"]) == ["none", "writeback"]
    assert cells["outcome"].diff().iloc[1] == pytest.approx(np.log(1.5))
    assert set(cells[["pair", "load", "hypervisor"]].itertuples(index=False, name=None)) == {
        ("ext4-on-ext4", "random read", "kvm")
    }
    assert cells["level"].nunique() == 1


def test_latency_is_turned_so_that_more_is_faster():
    rows = (
        arm(value, metric="latency", unit="ms", cache_mode=mode) for value, mode in zip((2.0, 4.0), MODES, strict=True)
    )

    cells = measurement_cells(arms(*rows).assign(workload=""), Spread(0.05), ("latency",))

    assert cells["outcome"].diff().iloc[1] == pytest.approx(-np.log(2))


def test_what_a_cache_may_have_caused_is_a_less_certain_cell():
    one, other = MODES
    plain, doubted = (
        numbers(arm(100.0, cache_mode=one), arm(150.0, cache_mode=other, is_implausible=is_doubted))
        for is_doubted in (False, True)
    )

    assert list(doubted["variance"] - plain["variance"]) == pytest.approx([0.0, IMPLAUSIBLE**2])
    assert list(doubted["outcome"]) == list(plain["outcome"])


def test_of_throughput_and_rate_of_one_block_size_one_counts():
    both = [
        arm(value, metric=metric, unit=unit, cache_mode=mode, configuration_id=number)
        for number, mode in enumerate(MODES)
        for value, metric, unit in ((40.0, "throughput", "MiB/s"), (10_240.0, "operation_rate", "ops/s"))
    ]

    assert len(numbers(*both)) == 2


def test_a_rate_is_held_against_throughput_by_its_block_size():
    """256 operations a second in blocks of 4 KiB are 1 MiB/s, half of 2 MiB/s."""
    rate = {"metric": "operation_rate", "unit": "ops/s"}
    cells = numbers(arm(2.0, block_size_bytes=4096), arm(256.0, guest_fs="xfs", block_size_bytes=4096, **rate))
    outcome = dict(zip(cells["guest_fs"], cells["outcome"], strict=True))
    assert outcome["ext4"] - outcome["xfs"] == pytest.approx(np.log(2.0))
    assert cells["level"].nunique() == 1


def test_what_no_choice_tells_apart_and_what_is_emulated_is_left_out():
    assert numbers(arm(100.0, disk_bus="virtio"), arm(90.0, disk_bus="virtio", guest_mount_options="x")).empty
    assert numbers(*(arm(100.0, cache_mode=mode, virtualisation="emulated") for mode in MODES)).empty


def test_laboratories_of_one_group_carry_its_name():
    cells = numbers(
        *(arm(1.0, cache_mode=mode, case_study=name, research_group="p1") for name in ("p1", "p2") for mode in MODES)
    )

    assert (set(cells["group"]), set(cells["laboratory"])) == ({"p1"}, {"p1", "p2"})


def test_loads_are_never_compared_with_each_other():
    assert numbers(*(arm(1.0, cache_mode=mode) for mode in MODES), workload=["random-read", "random-write"]).empty


def test_a_tier_list_is_a_level_of_its_own_and_counts_once():
    once, thrice = (
        lists(*(finding(*tier, case_studies=sources) for tier in TIERS))
        for sources in (("one",), ("one", "two", "three"))
    )

    assert list(once["guest_fs"]) == ["btrfs", "ext4", "xfs"]
    assert list(once["outcome"].diff().dropna() < 0) == [True, True]
    pd.testing.assert_frame_equal(once, thrice)


def test_two_entries_of_a_tier_list_are_as_far_apart_and_as_uncertain_as_worked_by_hand():
    # 1.5 statements for one and 0.5 for the other: log odds ln 3, information 2 x 3/4 x 1/4, in units of 0.25.
    cells = lists(*(finding(*tier) for tier in (TIERS[0], TIERS[2])))

    assert np.ptp(cells["outcome"]) == pytest.approx(0.25 * np.log(3))
    assert cells["variance"].sum() == pytest.approx(0.25**2 / 0.375)  # of their difference


def test_the_more_a_tier_list_is_doubted_the_closer_together_are_its_entries():
    stated = findings(*(finding(*tier) for tier in TIERS)).assign(workload="varmail")
    little, much = (tier_list_cells(stated, AXES["fs-pair"], tier_scale=0.25, tier_doubt=doubt) for doubt in (0.1, 1.0))

    assert np.ptp(much["outcome"]) < np.ptp(little["outcome"])


def test_lists_of_two_workloads_are_two_levels_that_no_numbers_have():
    cells = lists(*(finding(*tier) for tier in TIERS * 2), workload=["varmail"] * 3 + ["webserver"] * 3)

    by_workload = {workload: set(own) for workload, own in cells.groupby("workload")["level"]}
    assert [len(levels) for levels in by_workload.values()] == [1, 1]
    assert not set.intersection(*by_workload.values())
    assert (cells["level"] < 0).all()
    assert set(cells["load"]) == {"synchronous", "read"}


@pytest.mark.parametrize(
    ("stated", "follows"),
    [
        (
            {"virtualisation": "container", "guest_fs": np.nan, "host_fs": "xfs"},
            {"container": "yes", "guest_fs": "", "pair": ""},
        ),
        ({"virtualisation": "full", "guest_fs": "ext4", "host_fs": "xfs"}, {"container": "", "pair": "ext4-on-xfs"}),
        ({"guest_fs": "ext4", "host_fs": "zfs"}, {"copy_on_write": "yes"}),
        ({"guest_fs": "ext4", "host_fs": "xfs"}, {"copy_on_write": ""}),
        ({"backend": "quokka"}, {"networked": "yes"}),
        ({"backend": "file", "host_fs": "cephfs"}, {"networked": "yes"}),
        ({"backend": "lvm-thin"}, {"networked": ""}),
        ({"cache_mode": "writethrough"}, {"flushed": "yes"}),
        ({"cache_mode": "writeback"}, {"flushed": ""}),
    ],
)
def test_choices_that_follow_from_what_is_stated(stated, follows):
    assert follows.items() <= choices(stated, {"quokka"}).items()


@pytest.mark.parametrize(
    ("workload", "operation", "load"),
    [
        ("sequential-write", "", "sequential write"),
        ("atto", "read", "read"),
        ("random-mixed", "random read+write", "random"),
        ("varmail", "mixed", "synchronous"),
        ("fileserver", "mixed", "mixed"),
        ("fio", "Sync writes", "synchronous"),
        ("webserver", "", "read"),
    ],
)
def test_what_a_load_does_is_read_from_its_name_and_operation(workload, operation, load):
    assert load_class(workload, operation) == load


def test_an_entry_is_asked_for_with_all_that_it_implies():
    where = {"workload": "varmail", "load": "synchronous", "storage": "ssd"}
    known = SimpleNamespace(containers={"docker"}, networked={"rbd"})

    pair = entry_rows(AXES["fs-pair"], ["ext4-on-zfs"], known, where).loc["ext4-on-zfs"]
    storage = entry_rows(AXES["host-storage"], ["rbd"], known, where).loc["rbd"]
    hypervisors = entry_rows(AXES["hypervisor"], ["docker", "kvm"], known, where)

    assert (pair["guest_fs"], pair["host_fs"], pair["copy_on_write"], pair["storage"]) == ("ext4", "zfs", "yes", "ssd")
    assert (storage["backend"], storage["host_fs"], storage["networked"]) == ("rbd", "", "yes")
    assert list(hypervisors["container"]) == ["yes", ""]
