"""An entry has what a visitor needs, or lacks it: by facts worked by hand."""

import pytest

from experiments.published_evidence.abilities import ABILITIES, HOST, HYPERVISOR, IMAGE, Fact
from modelling.evidence.question import Question
from modelling.evidence.requirements import LEFT_OPEN, NOT_KNOWN, fulfilment, lacking, parts_of


def known(**told):
    """Return facts by choice, each told as its state or as (state, part that it goes through)."""
    facts = {}
    for choice, fact in told.items():
        state, through = fact if isinstance(fact, tuple) else (fact, "")
        kind = (
            "hypervisor"
            if choice in ("kvm", "docker")
            else "image-format"
            if choice in ("raw", "qcow2")
            else "host-storage"
        )
        limit = "Partly." if state == "with limits" else ""
        facts[kind, choice] = {
            slug: Fact(kind, choice, choice, slug, state, limit, through, "https://example.org", "2026-11-25")
            for slug in ABILITIES
        }
    return facts


PARTS = {HYPERVISOR: ("hypervisor", "kvm"), HOST: ("host-storage", "lvm"), IMAGE: ("image-format", "raw")}


@pytest.mark.parametrize(
    ("told", "found"),
    [
        # A snapshot: the hypervisor has to be able, and beside it the host storage or the image format.
        ({"kvm": "yes", "lvm": "yes", "raw": "no"}, "yes"),
        ({"kvm": "yes", "lvm": "no", "raw": "yes"}, "yes"),
        ({"kvm": "yes", "lvm": "no", "raw": "no"}, "no"),
        ({"kvm": "no", "lvm": "yes", "raw": "yes"}, "no"),
        ({"kvm": "yes", "lvm": "with limits", "raw": "no"}, "with limits"),
        ({"kvm": "with limits", "lvm": "yes", "raw": "no"}, "with limits"),
        # What is not known is no yes, and no no either.
        ({"lvm": "yes", "raw": "yes"}, "not known"),
        ({"kvm": "yes", "raw": "no"}, "not known"),
        ({"kvm": "yes", "raw": "yes"}, "yes"),
        ({"kvm": "no", "raw": "no"}, "no"),
        # What the host has only through the image format is asked of the image format.
        ({"kvm": "yes", "lvm": ("with limits", IMAGE), "raw": "no"}, "no"),
        ({"kvm": "yes", "lvm": ("with limits", IMAGE), "raw": "yes"}, "yes"),
    ],
)
def test_parts_together_have_an_ability(told, found):
    assert fulfilment(ABILITIES["snapshot"], PARTS, known(**told)).found == found


def test_what_goes_through_a_part_that_nobody_names_is_had_with_limits():
    parts = {HOST: PARTS[HOST]}
    told = fulfilment(ABILITIES["snapshot"], parts, known(lvm=("with limits", IMAGE)))
    assert (told.found, told.is_lacking) == ("with limits", False)


def test_each_named_part_has_to_have_what_all_must_have():
    grown = ABILITIES["online-growth"]
    assert fulfilment(grown, PARTS, known(kvm="yes", lvm="yes", raw="yes")).found == "yes"
    told = fulfilment(grown, PARTS, known(kvm="yes", lvm="no", raw="with limits"))
    assert (told.found, [fact.choice for fact in told.facts]) == ("no", ["lvm"])


def test_an_ability_that_rests_on_nothing_named_is_left_open():
    told = fulfilment(ABILITIES["windows-boot"], {HOST: PARTS[HOST]}, known(lvm="no"))
    assert (told.found, told.is_lacking) == (LEFT_OPEN, False)


def test_what_is_not_known_is_named():
    told = fulfilment(ABILITIES["shared-access"], PARTS, {})
    assert (told.found, told.is_lacking, told.not_known) == (NOT_KNOWN, True, (("host-storage", "lvm"),))


def test_an_entry_stands_for_its_parts_and_for_what_the_question_fixes():
    assert parts_of("fs-pair", "ext4-on-xfs", {"hypervisor": "kvm"}, ["zvol"]) == {
        "hypervisor": ("hypervisor", "kvm"),
        "guest-fs": ("file-system", "ext4"),
        "host": ("file-system", "xfs"),
    }
    assert parts_of("host-storage", "dir-xfs", {}, ["zvol"])["host"] == ("file-system", "xfs")
    assert parts_of("host-storage", "zfs", {}, ["zvol"])["host"] == ("file-system", "zfs")
    assert parts_of("host-storage", "zvol", {"host_fs": "ext4"}, ["zvol"])["host"] == ("host-storage", "zvol")
    assert parts_of("host-storage", "dir", {}, ["zvol"]) == {}
    assert parts_of("host-fs", "xfs", {"hypervisor": "native"}, ["zvol"]) == {"host": ("file-system", "xfs")}
    # A volume is the disk itself: no image lies in it.
    assert "image-format" not in parts_of("host-storage", "zvol", {"image_format": "raw"}, ["zvol"])
    assert parts_of("host-fs", "xfs", {"image_format": "qcow2"}, ["zvol"])["image-format"] == ("image-format", "qcow2")


def test_entries_of_the_published_facts_lack_what_they_lack():
    needs = ("snapshot", "thin-provisioning", "shared-access")
    told = lacking(Question("host-storage", "varmail", needs=needs), ["zvol"])
    assert told("lvm") == ("thin-provisioning",)
    assert told("lvm-thin") == ("shared-access",)
    assert told("rbd") == ()
    assert told("nvme-tcp") == ("snapshot", "thin-provisioning", "shared-access")  # nothing is known of it


def test_a_question_keeps_its_needs_in_its_key():
    question = Question("guest-fs", "varmail", hypervisor="kvm", needs=("checksums", "trim"))
    assert question.key == "guest-fs?workload=varmail&hypervisor=kvm&needs=checksums,trim"
    assert Question.from_key(question.key) == question
    assert "needs" not in question.filters
