"""A visitor's own words in the form: what each was read as, and what is left to choose."""

import pytest

from modelling.ask.reading import reading

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]


def test_words_fill_the_fields_and_say_which(published_evidence):
    said = reading("mail server on Proxmox, NVMe, images on LVM", {})
    assert said.values == {"workload": "varmail", "hypervisor": "proxmox", "disks": "nvme", "images": "lvm"}
    assert ("mail server", "workload Mail server") in said.read
    assert [each.sentence for each in said.unsettled] == ["“images” is no name here and is not counted. To count it:"]


def test_what_is_chosen_stands_against_the_words(published_evidence):
    said = reading("kvm", {"hypervisor": "xen"})
    assert said.values == {}
    assert said.read == (("kvm", "hypervisor KVM, but the hypervisor is chosen below"),)


def test_several_workloads_are_none_and_offer_their_mix(published_evidence):
    said = reading("mail and web", {})
    assert "workload" not in said.values
    choices = dict(said.unsettled[0].choices)
    assert choices["Mail server"].endswith("workload=varmail")
    assert choices["all of them, as a mix"] == "/mix/?varmail=50&webserver=50"


def test_one_file_system_is_asked_for_its_place(published_evidence):
    said = reading("mail xfs", {})
    assert "guest_fs" not in said.values
    assert [label for label, _ in said.unsettled[0].choices] == ["XFS in the guest", "images on XFS"]


def test_a_word_of_a_description_offers_that_workload(published_evidence):
    said = reading("sizes", {})
    assert [label for label, _ in said.unsettled[0].choices] == ["ATTO transfer test"]


def test_a_pair_is_guest_on_host(published_evidence):
    assert reading("xfs on ext4", {}).values == {"guest_fs": "xfs", "host_fs": "ext4"}
