"""fixtures/abilities.csv says what choices can do, and a file that is wrong is refused where it is wrong."""

from datetime import date

import pytest
from django.utils.text import slugify

from experiments.catalogue.glossary import glossary
from experiments.published_evidence.abilities import ABILITIES, COLUMNS, FOUND, facts, read
from experiments.published_evidence.files import EvidenceError

GOOD = {
    "kind": "file-system",
    "choice": "ext4",
    "name": "ext4",
    "ability": "snapshot",
    "found": "with limits",
    "limit": "An image format does it.",
    "through": "image-format",
    "source": "https://example.org/ext4",
    "read_on": "2026-11-25",
}


def written(path, *rows):
    lines = [",".join(COLUMNS), *(",".join(f'"{row[name]}"' for name in COLUMNS) for row in rows)]
    path.write_text("\n".join(lines))
    return path


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


def test_a_good_line_is_read(tmp_path):
    (fact,) = read(written(tmp_path / "abilities.csv", GOOD))["file-system", "ext4"].values()
    assert fact.sentence == "ext4: with limits. An image format does it."


@pytest.mark.parametrize(
    ("field", "found", "allowed"),
    [
        ("kind", "filesystem", "one of hypervisor, file-system, host-storage, image-format"),
        ("choice", "Ext 4", "a slug of small letters, digits and single hyphens"),
        ("name", " ", "what a reader calls it"),
        ("ability", "snapshots", "one of snapshot, live-migration"),
        ("found", "maybe", "one of yes, with limits, no"),
        ("limit", "", "a sentence where something is found with limits"),
        ("limit", "no full stop", "nothing, or a sentence of at most 160 characters with its full stop"),
        ("through", "hypervisor", "nothing, or where found with limits one of image-format"),
        ("source", "http://example.org", "an address that begins with https://"),
        ("source", "see the manual", "an address that begins with https://"),
        ("read_on", "25.11.2026", "a day as YYYY-MM-DD, or nothing where it was not read yet"),
        ("read_on", "2026-02-30", "a day as YYYY-MM-DD, or nothing where it was not read yet"),
    ],
)
def test_a_wrong_field_is_named_with_its_line_and_what_is_allowed(tmp_path, field, found, allowed):
    path = written(tmp_path / "abilities.csv", GOOD | {"ability": "trim", "through": ""}, GOOD | {field: found})
    with pytest.raises(EvidenceError) as refusal:
        read(path)
    assert str(refusal.value).startswith(f'abilities.csv, line 3, {field}: found "{found}", allowed is {allowed}')


def test_a_kind_has_only_abilities_that_rest_on_it(tmp_path):
    line = GOOD | {"kind": "image-format", "choice": "raw", "ability": "windows-boot", "found": "yes", "through": ""}
    with pytest.raises(
        EvidenceError, match=r"line 2, ability: .* allowed is one that rests on this kind of choice: snap"
    ):
        read(written(tmp_path / "abilities.csv", line))


def test_nothing_is_said_twice_and_no_choice_has_two_names(tmp_path):
    with pytest.raises(EvidenceError, match=r"line 3, ability: .* one that no earlier line says of ext4"):
        read(written(tmp_path / "abilities.csv", GOOD, GOOD))
    with pytest.raises(EvidenceError, match=r"line 3, name: .* allowed is 'ext4', as in an earlier line on ext4"):
        read(written(tmp_path / "abilities.csv", GOOD, GOOD | {"ability": "trim", "through": "", "name": "Ext4"}))


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
