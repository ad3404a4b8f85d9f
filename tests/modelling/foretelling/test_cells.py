"""Cells of the hierarchical model from arms and tier lists built by hand."""

import numpy as np
import pandas as pd
import pytest

from modelling.estimation.arms import Spread
from modelling.foretelling.cells import choices, kind_of_load, of_lists, of_numbers
from tests.modelling.frames import arm, arms, finding, findings

SPREAD = Spread(0.05)


def numbers(*rows: dict, groups: dict[str, str] | None = None) -> pd.DataFrame:
    return of_numbers(arms(*rows).assign(workload="random-read"), groups or {}, SPREAD)


def test_arms_that_differ_in_a_choice_are_cells_with_what_is_stated():
    cells = numbers(
        arm(100.0, cache_mode="none", case_study="lab"), arm(150.0, cache_mode="writeback", case_study="lab")
    )

    assert list(cells["cache_mode"]) == ["none", "writeback"]
    assert cells["outcome"].diff().iloc[1] == pytest.approx(np.log(1.5))
    assert set(cells["pair"]) == {"ext4-on-ext4"}
    assert set(cells["direction"]) == {"read"}
    assert set(cells["access"]) == {"random"}
    assert cells["level"].nunique() == 1


def test_latency_is_turned_so_that_more_is_faster():
    cells = numbers(
        *(arm(value, metric="latency", unit="ms", cache_mode=mode) for value, mode in ((2.0, "none"), (4.0, "unsafe")))
    )

    assert cells["outcome"].diff().iloc[1] == pytest.approx(-np.log(2))


def test_of_throughput_and_rate_of_one_block_size_one_counts():
    both = [
        arm(value, metric=metric, unit=unit, cache_mode=mode, configuration_id=number)
        for number, mode in enumerate(("none", "unsafe"))
        for value, metric, unit in ((40.0, "throughput", "MiB/s"), (10_240.0, "operation_rate", "ops/s"))
    ]

    assert len(numbers(*both)) == 2


def test_what_no_choice_tells_apart_and_what_is_emulated_is_left_out():
    assert numbers(arm(100.0, disk_bus="virtio"), arm(90.0, disk_bus="virtio", guest_mount_options="x")).empty
    emulated = [arm(100.0, cache_mode=mode, virtualisation="emulated") for mode in ("none", "unsafe")]
    assert numbers(*emulated).empty


def test_laboratories_of_one_group_carry_its_name():
    rows = [arm(100.0, cache_mode=mode, case_study=study) for study in ("p1", "p2") for mode in ("none", "unsafe")]

    cells = numbers(*rows, groups={"p1": "p1", "p2": "p1"})

    assert set(cells["group"]) == {"p1"}
    assert set(cells["laboratory"]) == {"p1", "p2"}


def test_a_tier_list_is_a_level_of_its_own_and_counts_once():
    tiers = [("btrfs", "ext4", "best"), ("ext4", "ext4", "unlisted"), ("xfs", "ext4", "worst")]
    once, thrice = (
        of_lists({"varmail": findings(*(finding(*tier, case_studies=sources) for tier in tiers))}, {}, 0.25, 0.5)
        for sources in (("one",), ("one", "two", "three"))
    )

    assert list(once["guest_fs"]) == ["btrfs", "ext4", "xfs"]
    assert list(once["outcome"].diff().dropna() < 0) == [True, True]
    pd.testing.assert_frame_equal(once, thrice)


def test_a_container_is_a_choice_and_what_is_missing_is_empty():
    stated = choices({"hypervisor": "docker", "virtualisation": "container", "guest_fs": np.nan, "host_fs": "xfs"})

    assert (stated["container"], stated["guest_fs"], stated["host_fs"], stated["pair"]) == ("yes", "", "xfs", "")


def test_what_a_load_does_is_read_from_its_name_and_operation():
    assert kind_of_load("sequential-write", "") == ("write", "sequential")
    assert kind_of_load("atto", "read") == ("read", "")
    assert kind_of_load("random-mixed", "random read+write") == ("", "random")
    assert kind_of_load("varmail", "mixed") == ("write", "")


def test_loads_are_never_compared_with_each_other():
    rows = [arm(100.0, cache_mode=mode) for mode in ("none", "unsafe")]
    apart = arms(*rows).assign(workload=["random-read", "random-write"])

    assert of_numbers(apart, {}, SPREAD).empty
