"""An answer says whether its evidence fits the visitor's machine, and only of what is stated on both sides."""

import pytest

from modelling.ask.fit import fit
from modelling.ask.machine import Machine

NAMES = {
    "hypervisor": {"kvm": "KVM"},
    "file_system": {"ext4": "ext4", "xfs": "XFS"},
    "host_storage": {"dir-ext4": "Directory on ext4", "dir-xfs": "Directory on XFS", "rbd": "Ceph RBD"},
    "storage": {"hdd": "hard disk", "ssd": "solid state", "nvme": "NVMe"},
}
STATED = {
    **{"hypervisor": ["kvm"], "storage": ["hdd"], "host_storage": ["dir-ext4", "dir-xfs"]},
    "guest_os_family": ["", "linux"],
}


def fitting(stated=STATED, machine=None, **asked):
    return fit("guest-fs", asked, machine or Machine(), stated, NAMES)


def state(machine_fit, name) -> str:
    return next(fact.state for fact in machine_fit.facts if fact.name == name)


def test_disks_that_were_never_measured_come_first():
    machine_fit = fitting(machine=Machine(disks="nvme"), hypervisor="kvm")
    assert machine_fit.sentence == "Your NVMe was never measured here: all evidence is from hard disks."
    assert state(machine_fit, "storage") == "differs"


def test_images_on_what_no_study_has_differ():
    machine_fit = fitting(machine=Machine(images="rbd"))
    assert (
        machine_fit.sentence
        == "Your images on Ceph RBD were never measured here: all evidence is with images on ext4 and XFS."
    )


@pytest.mark.parametrize(
    ("asked", "name", "expected"),
    [
        ({"hypervisor": "kvm"}, "hypervisor", "matches"),
        ({"guest_os_family": "linux"}, "guest_os_family", "assumed equal"),
        ({"host_fs": "ext4"}, "host_storage", "matches in part"),
        ({"vm_count": 3}, "vm_count", "not stated"),
        ({}, "hypervisor", "not given"),
        ({}, "guest_fs", "what the answer chooses"),
    ],
)
def test_each_fact_says_how_it_stands(asked, name, expected):
    assert state(fitting(**asked), name) == expected


def test_what_no_source_states_is_not_called_like_yours():
    machine_fit = fitting({**STATED, "storage": [""]}, Machine(disks="hdd"))
    assert (
        machine_fit.sentence
        == "Whether the evidence is from your hard disks is not known: its sources do not state that."
    )


def test_a_machine_like_the_evidence_says_what_is_only_assumed():
    machine_fit = fitting(machine=Machine(disks="hdd"), hypervisor="kvm", guest_os_family="linux")
    assert machine_fit.sentence.startswith("Guest system: assumed equal, some source does not state it")


def test_without_evidence_nothing_is_said():
    assert fitting({"storage": []}, Machine(disks="hdd")).sentence == ""
