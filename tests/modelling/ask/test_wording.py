"""What a person's own words ask: names and aliases are understood, the rest is told, nothing is guessed."""

import pytest

from experiments.search.find import search
from modelling.ask.wording import LONGEST, understood

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("mail server kvm", {"workload": ("varmail",), "hypervisor": ("kvm",)}),
        ("MAIL on Proxmox-VE", {"workload": ("varmail",), "hypervisor": ("proxmox",)}),
        ("proxmox vs esxi", {"hypervisor": ("proxmox", "esxi")}),
        ("xfs or btrfs for a file server?", {"file_system": ("xfs", "btrfs"), "workload": ("fileserver",)}),
        ("kvm kvm", {"hypervisor": ("kvm",)}),
        ("Proxmox or ESXi for files?", {"hypervisor": ("proxmox", "esxi"), "workload": ("fileserver",)}),
    ],
)
def test_names_are_understood_in_any_spelling(published_evidence, text, found):
    assert understood(text).found == found
    assert understood(text).unknown == ()


def test_what_no_name_accounts_for_is_told(published_evidence):
    said = understood("mail server with MySQL")
    assert said.only("workload") == "varmail"
    assert said.unknown == ("MySQL",)


def test_a_pair_is_guest_on_host(published_evidence):
    assert understood("btrfs on ext4 or ext4 on xfs").pairs == (("btrfs", "ext4"), ("ext4", "xfs"))


def test_several_of_a_kind_are_none_alone(published_evidence):
    assert understood("proxmox vs esxi").only("hypervisor") is None


def test_a_long_text_is_cut(published_evidence):
    assert understood("x " * LONGEST + "kvm").found == {}


def first(text: str) -> tuple[str, str, str]:
    hit = search(text)[0]
    return hit.kind, hit.title, hit.address


def test_the_search_finds_the_answer(published_evidence, client):
    kind, title, address = first("mail server kvm")
    assert kind == "Answer"
    assert title.startswith("Mail server on KVM")
    page = client.get(address)
    assert page.status_code == 200
    assert "answer-heading" in page.content.decode()


def test_the_search_finds_the_comparison(published_evidence, client):
    kind, title, address = first("proxmox vs esxi")
    assert kind == "Comparison"
    assert title.startswith("Proxmox VE or ESXi: ")
    assert "a=proxmox&b=esxi" in address
    assert client.get(address).status_code == 200


def test_the_search_finds_pairs(published_evidence, client):
    kind, _, address = first("btrfs on ext4 vs ext4 on ext4 mail")
    assert kind == "Comparison"
    assert "axis=fs-pair&workload=varmail&a=btrfs-on-ext4&b=ext4-on-ext4" in address
    assert client.get(address).status_code == 200


def test_other_words_find_no_answer(published_evidence):
    assert {hit.kind for hit in search("ext4 journal")} <= {"File system", "Case study", "Claim", "Publication"}
