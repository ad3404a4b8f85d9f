"""Arms become contrasts only where everything but the asked-for axis is equal."""

import numpy as np
import pytest

from modelling.evidence.arms import comparable_arms, trials
from modelling.evidence.axes import AXES
from tests.modelling.frames import arm, arms

PAIR, GUEST, HYPERVISOR = AXES["fs-pair"], AXES["guest-fs"], AXES["hypervisor"]


def effects(frame, axis) -> list[dict[str, float]]:
    found = trials(comparable_arms(frame, axis, 0.05))
    return [dict(zip(trial.treatments, trial.effects[:, 0], strict=True)) for trial in found]


@pytest.mark.parametrize(
    ("field", "other"),
    [
        ("case_study", "two"),
        ("variant_id", 2),
        ("operation", "write"),
        ("block_size_bytes", 4096),
        ("vm_count", 2),
        ("metric", "latency"),
        ("unit", "MB/s"),
    ],
)
def test_numbers_that_differ_in_more_than_the_configuration_are_not_compared(field, other):
    frame = arms(arm(100, guest_fs="ext4"), arm(200, guest_fs="xfs", **{field: other}))
    assert trials(comparable_arms(frame, PAIR, 0.05)) == []


@pytest.mark.parametrize(
    ("axis", "field", "other"),
    [
        ("fs-pair", "hypervisor", "xen"),
        ("fs-pair", "cache_mode", "none"),
        ("fs-pair", "guest_os", "debian"),
        ("fs-pair", "vm_ram_gib", 8.0),
        ("guest-fs", "host_fs", "xfs"),
    ],
)
def test_arms_are_compared_only_where_they_agree_in_what_the_axis_holds(axis, field, other):
    frame = arms(arm(100, guest_fs="ext4"), arm(200, guest_fs="xfs", **{field: other}))
    assert trials(comparable_arms(frame, AXES[axis], 0.05)) == []


def test_the_hypervisor_axis_lets_the_host_file_system_come_along():
    frame = arms(arm(100, hypervisor="kvm"), arm(50, hypervisor="esxi", host_fs="vmfs"))
    (found,) = effects(frame, HYPERVISOR)
    assert found["kvm"] - found["esxi"] == pytest.approx(np.log(2))


def test_a_case_study_counts_once_however_many_vm_counts_it_ran():
    frame = arms(arm(400, guest_fs="xfs"), arm(100), arm(40, guest_fs="xfs", vm_count=2), arm(10, vm_count=2))
    (found,) = trials(comparable_arms(frame, PAIR, 0.1))
    assert np.exp(found.effects[1, 0]) == pytest.approx(4)
    assert found.variances[1, 0] == pytest.approx(0.02)  # of the difference; not halved by the second VM count


def test_ratios_that_vary_over_the_vm_counts_make_the_mean_less_certain():
    # Ratios 2 and 8: their geometric mean is 4. Each arm lies ln(2)/2 off the fit: 4 (ln(2)/2)^2 = ln(2)^2 on
    # 4 - 2 groups - 2 entries + 1 = 1 degree of freedom; the excess over 0.01, over 2 groups, in both entries.
    frame = arms(arm(200, guest_fs="xfs"), arm(100), arm(80, guest_fs="xfs", vm_count=2), arm(10, vm_count=2))
    (found,) = trials(comparable_arms(frame, PAIR, 0.1))
    assert np.exp(found.effects[1, 0]) == pytest.approx(4)
    assert found.variances[1, 0] == pytest.approx(0.02 + 2 * (np.log(2) ** 2 - 0.01) / 2)


def test_effects_of_unequal_groups_are_not_biased_by_who_else_was_measured():
    # ext4 = 100, xfs = 200, btrfs = 400 where measured; the second group lacks btrfs and is twice as fast.
    frame = arms(
        arm(100),
        arm(200, guest_fs="xfs"),
        arm(400, guest_fs="btrfs"),
        arm(200, vm_count=2),
        arm(400, guest_fs="xfs", vm_count=2),
    )
    (found,) = effects(frame, PAIR)
    assert found["btrfs-on-ext4"] - found["ext4-on-ext4"] == pytest.approx(np.log(4))
    assert found["xfs-on-ext4"] - found["ext4-on-ext4"] == pytest.approx(np.log(2))


def test_entries_that_no_group_joins_are_trials_apart():
    frame = arms(
        arm(1),
        arm(2, guest_fs="xfs"),
        arm(3, host_fs="vmfs", hypervisor="esxi"),
        arm(4, guest_fs="xfs", host_fs="vmfs", hypervisor="esxi"),
    )
    assert [set(found) for found in effects(frame, PAIR)] == [
        {"ext4-on-ext4", "xfs-on-ext4"},
        {"ext4-on-vmfs", "xfs-on-vmfs"},
    ]


def test_a_stated_spread_is_used_and_a_missing_one_is_the_default_over_the_runs():
    frame = arms(
        arm(100, variance=0.0004, runs=3), arm(200, guest_fs="xfs", runs=4), arm(50, guest_fs="btrfs", runs=None)
    )
    used = comparable_arms(frame, PAIR, 0.06)
    assert dict(zip(used["entry"], used["arm_variance"], strict=True)) == pytest.approx(
        {"ext4-on-ext4": 0.0004, "xfs-on-ext4": 0.0036 / 4, "btrfs-on-ext4": 0.0036}
    )
    assert list(used["assumed"]) == [False, True, True]


def test_the_printed_interval_of_a_derived_value_adds_to_the_default():
    frame = arms(arm(100, origin="derived", variance=0.0001, runs=None), arm(200, guest_fs="xfs"))
    used = comparable_arms(frame, PAIR, 0.1)
    assert used["arm_variance"].to_numpy() == pytest.approx([0.0101, 0.01])


def test_a_measured_value_stands_where_the_same_cell_was_also_derived():
    frame = arms(arm(999, origin="derived", variance=0.1), arm(100), arm(200, guest_fs="xfs"))
    (found,) = effects(frame, PAIR)
    assert found["xfs-on-ext4"] - found["ext4-on-ext4"] == pytest.approx(np.log(2))


def test_a_file_system_the_source_does_not_name_is_no_entry():
    frame = arms(arm(100), arm(200, host_fs=None))
    assert comparable_arms(frame, PAIR, 0.05).empty
