"""What a person's own words ask: names and aliases are understood, the rest is told, nothing is guessed."""

import pytest

from experiments.search.find import search
from modelling.ask.wording import LONGEST, understood
from modelling.evidence.question import Question
from modelling.kept_answers.selectors import current_ranking
from tests.factories import make_case_study, make_measurement, publish

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("mail server kvm", {"workload": ("varmail",), "hypervisor_or_native": ("kvm",)}),
        ("MAIL on Proxmox-VE", {"workload": ("varmail",), "hypervisor_or_native": ("proxmox",)}),
        ("proxmox vs esxi", {"hypervisor_or_native": ("proxmox", "esxi")}),
        ("xfs or btrfs for a file server?", {"file_system": ("xfs", "btrfs"), "workload": ("fileserver",)}),
        ("kvm kvm", {"hypervisor_or_native": ("kvm",)}),
        ("Proxmox or ESXi for files?", {"hypervisor_or_native": ("proxmox", "esxi"), "workload": ("fileserver",)}),
    ],
)
def test_names_are_understood_in_any_spelling(published_evidence, text, named):
    assert understood(text).named == named
    assert understood(text).unknown == ()


def test_what_no_name_accounts_for_is_told(published_evidence):
    said = understood("mail server with MySQL")
    assert said.only("workload") == "varmail"
    assert said.unknown == ("MySQL",)


def test_a_pair_is_guest_on_host(published_evidence):
    assert understood("btrfs on ext4 or ext4 on xfs").pairs == (("btrfs", "ext4"), ("ext4", "xfs"))


def test_several_of_a_kind_are_none_alone(published_evidence):
    assert understood("proxmox vs esxi").only("hypervisor_or_native") is None


def test_a_long_text_is_cut(published_evidence):
    assert understood("x " * LONGEST + "kvm").named == {}


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


def test_the_search_finds_every_workload_that_compares_them(client):
    study = make_case_study("lab")
    workloads = [f"load-{number}" for number in range(7)]
    for workload in workloads:
        for hypervisor, value in (("kvm", 10.0), ("xen", 20.0)):
            make_measurement(value, case_study=study, hypervisor=hypervisor, workload=workload)
    publish(study)
    for workload in workloads:
        current_ranking(Question("hypervisor", workload))

    compared = [hit for hit in search("kvm or xen") if hit.kind == "Comparison"]

    assert len(compared) == len(workloads)
    assert "of one kind at most" not in client.get("/search/", {"q": "kvm or xen"}).content.decode()


def test_the_search_finds_pairs(published_evidence, client):
    kind, _, address = first("btrfs on ext4 vs ext4 on ext4 mail")
    assert kind == "Comparison"
    assert "axis=fs-pair&workload=varmail&a=btrfs-on-ext4&b=ext4-on-ext4" in address
    assert client.get(address).status_code == 200


def test_other_words_find_no_answer(published_evidence):
    assert {hit.kind for hit in search("ext4 journal")} <= {"File system", "Case study", "Claim", "Publication"}
