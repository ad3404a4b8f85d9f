"""What others published, as arms: every row counts or says why not."""

import numpy as np
import pytest
from django.conf import settings

from modelling.evidence.axes import AXES
from modelling.validation import outside

FOLDER = settings.BASE_DIR / "fixtures" / "outside"


@pytest.fixture(scope="module")
def found():
    return outside.read(FOLDER)


def test_every_row_is_in_an_arm_or_counted_with_its_reason(found):
    used = sum(frame["measurements"].sum() for frame in found.arms.values())
    assert used + sum(found.unused.values()) == found.rows == 814


def test_a_row_without_hypervisor_is_left_out_by_name(found):
    assert found.unused["measured without hypervisor, which no axis compares"] == 82


def test_an_arm_has_the_ln_of_its_printed_value(found):
    arms = found.arms["sequential-read"].set_index(["case_study", "guest_fs"])
    assert np.exp(arms.loc[("kvaps_guestfs_dd", "xfs"), "mean_log"].item()) == pytest.approx(
        _printed("kvaps_guestfs_dd", "seq read", "xfs")
    )


def test_of_seconds_less_is_better(found):
    assert set(found.arms["small-files"].set_index("unit").loc["s", "metric"]) == {"latency"}
    arms = found.arms["small-files"].set_index(["case_study", "guest_fs"])["mean_log"]
    assert np.exp(arms.loc[("kvaps_guestfs_dd", "ext4")]) == pytest.approx(
        _printed("kvaps_guestfs_dd", "small file write", "ext4")
    )


def test_a_workload_that_repeats_the_configuration_does_not_keep_its_arms_apart(found):
    sync = found.arms["sync-write"]
    backends = sync[sync["case_study"] == "temoto_lxd_vm_backends"]
    assert set(backends["host_fs"]) == {"lvm-thin", "zfs", "directory"}
    assert backends["variant_id"].nunique() == 1


def test_they_are_compared_as_published_arms_are(found):
    from modelling.evidence.arms import Spread, comparable_arms, trials

    compared = trials(comparable_arms(found.arms["database"], AXES["guest-fs"], Spread(0.05)))
    assert [(trial.name, trial.treatments) for trial in compared] == [
        ("dimoulis_pgbench", ("btrfs", "ext4", "xfs", "zfs"))
    ]


def _printed(case_study, operation, guest_fs):
    import csv

    with (FOLDER / "measurements.csv").open() as lines:
        (row,) = [
            row
            for row in csv.DictReader(lines)
            if (row["case_study"], row["operation"], row["guest_fs"]) == (case_study, operation, guest_fs)
        ]
    return float(row["value"])
