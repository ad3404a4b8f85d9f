"""A product that runs another hypervisor is told of where a sentence sets one against the other."""

import pytest

from modelling.evidence import families


@pytest.mark.parametrize(
    ("named", "is_told"),
    [
        (("kvm", "esxi"), True),
        (("proxmox:xfs-on-ext4",), True),
        (("esxi", "xen"), False),
    ],
)
def test_it_is_told_where_one_of_them_is_named_and_both_may_be_chosen(named, is_told):
    entries = ("esxi", "kvm:ext4-on-ext4", "proxmox:xfs-on-ext4", "xen")
    assert families.shared(named, entries) == ([("proxmox", "kvm")] if is_told else [])


def test_it_is_not_told_where_the_other_is_no_choice():
    assert families.shared(("kvm",), ("kvm", "esxi")) == []


@pytest.mark.parametrize(
    "key", ["bsd-zfs", "bsd-zfs-on-ext4", "dir-flexclone-ext4", "kvm:openzfs-on-xfs:none", "virtiofs auto"]
)
def test_what_nobody_can_run_today_is_not_offered(key):
    assert not families.may_be_offered(key)


@pytest.mark.parametrize("key", ["zfs", "zfs-on-ext4", "dir-ext4", "kvm:xfs-on-zfs:none"])
def test_what_people_run_is_offered(key):
    assert families.may_be_offered(key)
