"""The difference of two configurations, split into what its components contribute."""

import numpy as np
import pytest

from modelling.estimation.network import Trial
from modelling.estimation.shares import _partitions, decompose, fit


def configuration(key: str) -> dict[str, str]:
    hypervisor, guest_fs, host_fs = key.split()
    return {"hypervisor": hypervisor, "guest_fs": guest_fs, "host_fs": host_fs}


def model(*trials: dict[str, float], variance: float = 0.005):
    studies = [
        Trial.from_arms(f"study {n}", list(means), np.array(list(means.values())), np.full(len(means), variance))
        for n, means in enumerate(trials)
    ]
    return fit(studies, {key: configuration(key) for means in trials for key in means})


def split(fitted, a: str, b: str):
    return decompose(fitted, configuration(a), configuration(b))


def test_contributions_add_up_to_the_difference_and_shares_to_one():
    # ln effects: kvm 0, xen -0.4; guest ext4 0, xfs 0.1; host ext4 0, xfs 0.2.
    fitted = model(
        {"kvm ext4 ext4": 0.0, "kvm xfs ext4": 0.1, "kvm ext4 xfs": 0.2, "xen ext4 ext4": -0.4, "xen xfs ext4": -0.3}
    )
    difference = split(fitted, "kvm xfs xfs", "xen ext4 ext4")
    assert {share.components: np.log(share.ratio) for share in difference.shares} == pytest.approx(
        {("hypervisor",): 0.4, ("guest_fs",): 0.1, ("host_fs",): 0.2}
    )
    assert sum(share.share for share in difference.shares) == pytest.approx(1)
    assert np.log(difference.predicted) == pytest.approx(0.7)  # of a pair that nobody measured on xen


def test_of_no_difference_nothing_is_a_share():
    fitted = model({"kvm ext4 ext4": 0.0, "kvm xfs ext4": 0.1, "kvm ext4 xfs": 0.1})
    difference = split(fitted, "kvm xfs ext4", "kvm ext4 xfs")
    assert np.log(difference.predicted) == pytest.approx(0)
    assert [(np.log(share.ratio), share.share) for share in difference.shares] == [
        (pytest.approx(0.1), None),
        (pytest.approx(-0.1), None),
    ]


def test_components_that_are_equal_do_not_appear():
    fitted = model({"kvm ext4 ext4": 0.0, "kvm xfs ext4": 0.1})
    assert [share.components for share in split(fitted, "kvm xfs ext4", "kvm ext4 ext4").shares] == [("guest_fs",)]


def test_a_host_file_system_that_comes_with_its_hypervisor_is_told_together_with_it():
    fitted = model({"proxmox ext4 ext4": 0.3, "esxi ext4 vmfs": 0.0, "proxmox xfs ext4": 0.4, "esxi xfs vmfs": 0.1})
    difference = split(fitted, "proxmox xfs ext4", "esxi ext4 vmfs")
    assert {share.components: np.log(share.ratio) for share in difference.shares} == pytest.approx(
        {("hypervisor", "host_fs"): 0.3, ("guest_fs",): 0.1}
    )


def test_what_no_evidence_joins_is_untold_and_not_made_up():
    fitted = model({"kvm ext4 ext4": 0.0, "kvm xfs ext4": 0.1}, {"xen btrfs ext4": 0.0, "xen ntfs ext4": 0.2})
    difference = split(fitted, "kvm ext4 ext4", "xen btrfs ext4")
    assert (difference.predicted, difference.shares, difference.untold) == (None, (), ("hypervisor", "guest_fs"))


def test_a_component_that_was_never_measured_is_named():
    fitted = model({"kvm ext4 ext4": 0.0, "kvm xfs ext4": 0.1})
    assert split(fitted, "kvm zfs ext4", "kvm ext4 ext4").untold == ("guest_fs",)


def test_what_can_be_told_is_told_beside_what_cannot():
    fitted = model({"kvm ext4 ext4": 0.0, "kvm xfs ext4": 0.1})
    difference = split(fitted, "kvm xfs btrfs", "kvm ext4 ext4")
    assert [share.components for share in difference.shares] == [("guest_fs",)]
    assert (difference.untold, difference.predicted) == (("host_fs",), None)


def test_what_stands_before_it_in_the_list_hides_nothing():
    fitted = model({"kvm ext4 ext4": 0.0, "kvm xfs ext4": 0.1})
    difference = split(fitted, "hyper-v xfs ext4", "kvm ext4 ext4")
    assert ([share.components for share in difference.shares], difference.untold) == ([("guest_fs",)], ("hypervisor",))


def test_every_way_to_group_the_components_is_tried_once():
    """As many as Bell's numbers say, each with every component in one set."""
    for kinds, ways in (((), 1), (("a",), 1), (("a", "b"), 2), (("a", "b", "c"), 5), (("a", "b", "c", "d"), 15)):
        groupings = {frozenset(map(frozenset, way)) for way in _partitions(kinds)}
        assert len(groupings) == len(_partitions(kinds)) == ways
        assert all(sorted(kind for block in way for kind in block) == sorted(kinds) for way in groupings)


def test_an_interval_says_whether_the_direction_is_known():
    fitted = model({"kvm ext4 ext4": 0.0, "kvm xfs ext4": 0.15, "kvm btrfs ext4": 0.3})
    # Standard error of a contrast: sqrt(2 x 0.005) = 0.1; 0.15 is within 1.96 of it, 0.3 is not.
    assert not split(fitted, "kvm xfs ext4", "kvm ext4 ext4").shares[0].is_told
    assert split(fitted, "kvm btrfs ext4", "kvm ext4 ext4").shares[0].is_told


def test_configurations_without_a_difference_have_no_shares():
    fitted = model({"kvm ext4 ext4": 0.0, "kvm xfs ext4": 0.1})
    assert split(fitted, "kvm ext4 ext4", "kvm ext4 ext4").shares == ()
