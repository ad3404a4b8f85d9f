"""fixtures/abilities.csv says what choices can do, by the rules of its table."""

import re
from datetime import date

from django.utils.text import slugify

from experiments.catalogue.glossary import glossary
from experiments.published_evidence.abilities import ABILITIES, COLUMNS, FOUND, PATH, facts
from experiments.published_evidence.files import read_csv

PARTS_OF = {  # which kind of choice may be which part of an entry
    "hypervisor": {"hypervisor"},
    "file-system": {"guest-fs", "host"},
    "host-storage": {"host"},
    "image-format": {"image-format"},
}


def test_the_facts_of_every_kind_of_choice_are_read():
    told = {(kind, choice) for kind, choice in facts()}
    for kind, choices in {
        "file-system": "ext4 xfs btrfs zfs ntfs refs vmfs f2fs cephfs glusterfs",
        "host-storage": "lvm lvm-thin zvol rbd nfs iscsi longhorn",
        "hypervisor": "kvm proxmox esxi hyper-v xen virtualbox docker lxc",
        "image-format": "raw qcow2 vmdk vhdx vdi",
    }.items():
        assert {(kind, choice) for choice in choices.split()} <= told


def test_each_fact_says_what_where_and_when():
    told = [fact for of_choice in facts().values() for fact in of_choice.values()]
    assert {fact.found for fact in told} == set(FOUND)
    assert all(fact.source.startswith("https://") for fact in told)
    assert all(date.fromisoformat(fact.read_on) <= date.today() for fact in told if fact.read_on)
    assert {fact.ability for fact in told} == set(ABILITIES)


def test_what_is_well_known_stands_there():
    told = facts()
    assert told["file-system", "zfs"]["checksums"].found == "yes"
    assert told["file-system", "ext4"]["checksums"].found == "no"
    assert told["host-storage", "lvm"]["thin-provisioning"].found == "no"
    assert told["host-storage", "lvm-thin"]["thin-provisioning"].found == "yes"
    assert told["image-format", "qcow2"]["snapshot"].found == "yes"
    assert "compression" not in told["file-system", "vmfs"]  # not known is left out, never a no


def test_every_ability_is_a_word_of_the_glossary():
    anchors = {anchor for section in glossary() for term in section.terms for anchor in term.anchors}
    assert {slugify(ability.name) for ability in ABILITIES.values()} <= anchors


def test_every_line_keeps_to_the_rules_of_the_table():
    entries = read_csv(PATH, COLUMNS)
    assert len(entries) == sum(map(len, facts().values()))  # no ability of a choice twice
    names = {(fact.kind, fact.choice, fact.name) for of_choice in facts().values() for fact in of_choice.values()}
    assert len(names) == len(facts())
    for fact in (fact for of_choice in facts().values() for fact in of_choice.values()):
        parts, ability = PARTS_OF[fact.kind], ABILITIES[fact.ability]
        assert parts & {*ability.parts}, fact
        assert re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", fact.choice), fact
        assert fact.name.strip(), fact
        assert fact.limit or fact.found != "with limits", fact
        assert not fact.limit or (fact.limit.endswith(".") and len(fact.limit) <= 160), fact
        others = {*ability.any_of} - parts
        assert not fact.through or (fact.found == "with limits" and fact.through in others), fact


def test_page_and_api_say_the_same(client):
    page = client.get("/abilities/").content.decode()
    told = client.get("/api/v1/abilities/").json()
    lines = client.get("/api/v1/abilities/?format=csv").content.decode().splitlines()
    assert len(told["facts"]) == len(lines) - 1 == page.count('aria-label="Source of ')
    assert lines[0].split(",") == list(COLUMNS)
    for fact in told["facts"]:
        assert f'href="{fact["source"]}" aria-label="Source of {fact["name"]}: {fact["ability"]}"' in page
    assert [ability["slug"] for ability in told["abilities"]] == list(ABILITIES)
    assert all(ability["question"] in page for ability in told["abilities"])
    assert client.get("/api/v1/abilities/?kind=hypervisor").status_code == 400
