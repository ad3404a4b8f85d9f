"""Which advice bears on a question, and what it comes to."""

import pytest

from modelling.guidance import matching
from modelling.guidance.content import Disagreement, QuestionContext, Statement


def said(code, recommended="", discouraged="", *, axis="cache-mode", wording="should", **fields) -> Statement:
    context = dict.fromkeys(("hypervisors", "host_storages", "storages", "guest_oses", "workloads"), ())
    source = {"title": "Manual", "publisher": code, "kind": "vendor manual", "version": "2026-04", "read": "whole"}
    about = {"condition": "", "reason": "performance", "statement": "Do so.", "address": "https://example.org/"}
    values = {"recommended": tuple(recommended.split()), "discouraged": tuple(discouraged.split())}
    return Statement(code=code, axis=axis, wording=wording, **{**context, **source, **about, **values, **fields})


def advise(entries, *statements, axis="cache-mode", asked=None, disagreements=()):
    return matching.advise(axis, entries.split(), asked or QuestionContext(), statements, disagreements)


@pytest.mark.parametrize(
    ("context", "asked", "is_admitted"),
    [
        ({}, QuestionContext(hypervisor="kvm", workload="varmail"), True),
        ({"hypervisors": ("kvm",)}, QuestionContext(hypervisor="xen"), False),
        ({"hypervisors": ("kvm",)}, QuestionContext(hypervisor="proxmox"), True),  # it runs KVM
        ({"hypervisors": ("proxmox",)}, QuestionContext(hypervisor="kvm"), False),
        ({"workloads": ("mail",)}, QuestionContext(workload="fileserver"), False),
        ({"host_storages": ("dir",)}, QuestionContext(host_storage="dir-xfs"), True),
        ({"host_storages": ("dir-xfs",)}, QuestionContext(host_storage="dir-ext4"), False),
        ({"storages": ("ssd",)}, QuestionContext(storage="nvme"), True),
        ({"guest_oses": ("windows",)}, QuestionContext(guest_os="linux"), False),
    ],
)
def test_advice_is_left_out_where_its_context_contradicts_the_question(context, asked, is_admitted):
    assert matching.admits(said("a", **context), asked) is is_admitted


def test_what_names_the_workload_or_the_hypervisor_comes_before_the_general():
    rows = [
        said("general"),
        said("kvm", hypervisors=("kvm",)),
        said("elsewhere", workloads=("mail",), host_storages=("zvol",), hypervisors=("proxmox",)),
        said("paper", hypervisors=("proxmox",), kind="paper"),
        said("own", hypervisors=("proxmox",)),
        said("both", workloads=("mail",), hypervisors=("proxmox",)),
    ]
    asked = QuestionContext(workload="varmail", hypervisor="proxmox")
    codes = [row.code for row in matching.closest(rows, asked)]
    assert codes == ["both", "elsewhere", "own", "paper", "kvm", "general"]


def test_a_publisher_counts_once_for_an_entry_by_its_strongest_word():
    rows = [said("a", "none", "unsafe", wording="must"), said("b", "none", publisher="a"), said("c", "", "none")]
    told = advise("none writeback unsafe", *rows)
    assert {entry: advice.score for entry, advice in told.entries.items()} == {"none": 1, "writeback": 0, "unsafe": -4}
    assert told.advised == ("none",)
    assert told.discouraged == ("unsafe",)


@pytest.mark.parametrize(
    ("narrowed", "asked", "score"),
    [
        ({}, {}, 3),
        ({"condition": "images on ZFS"}, {}, 1),
        ({"condition": "InnoDB data files", "workloads": ("database",)}, {"workload": "database"}, 3),
        ({"hypervisors": ("kvm",)}, {}, 1),
        ({"hypervisors": ("kvm",)}, {"hypervisor": "kvm"}, 3),
        ({"host_storages": ("rbd",)}, {}, 1),
        ({"host_storages": ("rbd",)}, {"host_storage": "rbd"}, 3),
    ],
)
def test_what_the_question_does_not_decide_makes_an_option_of_a_statement(narrowed, asked, score):
    told = matching.advise("cache-mode", ["none"], QuestionContext(**asked), [said("a", "none", **narrowed)], [])
    assert told.entries["none"].score == score


def test_no_entry_is_advised_where_as_much_speaks_against_it():
    assert advise("none writeback", said("a", "none"), said("b", "", "none")).advised == ()
    assert advise("none", said("a", "none", wording="may")).advised == ()
    assert advise("none", said("a", "none", kind="paper")).advised == ()
    assert advise("none", said("a", "none", wording="no difference")).advised == ()


def test_of_two_that_are_advised_alike_either_is_unless_somebody_speaks_against_one():
    both = said("a", "none writeback")
    assert advise("none writeback unsafe", both).advised == ("none", "writeback")
    against = (said("b", "", "none", wording="avoid"), said("c", "", "writeback", wording="avoid"))
    assert advise("none writeback unsafe", both, *against).advised == ()


@pytest.mark.parametrize(
    ("context", "hypervisor", "is_meant"),
    [
        ({"hypervisors": ("esxi",)}, "esxi", True),
        ({"hypervisors": ("kvm",)}, "proxmox", True),
        ({"host_storages": ("zvol",)}, "kvm", True),
        ({"host_storages": ("zvol",)}, "", True),
        ({"host_storages": ("zvol",)}, "esxi", False),
    ],
)
def test_advice_is_meant_for_the_hypervisor_that_it_names_and_of_storage_for_kvm(context, hypervisor, is_meant):
    asked = QuestionContext(hypervisor=hypervisor)
    assert matching.advise("cache-mode", ["none"], asked, [said("a", "none", **context)], []).is_meant is is_meant


def test_advice_on_its_parts_applies_to_a_pair():
    rows = [
        said("guest", "ext4", axis="guest-fs"),
        said("host", "", "btrfs", axis="host-fs"),
        said("storage", "zfs", axis="host-storage"),
        said("pair", "ext4-on-xfs", axis="fs-pair"),
    ]
    told = advise("ext4-on-xfs ext4-on-btrfs xfs-on-zfs", *rows, axis="fs-pair")
    assert {entry: advice.score for entry, advice in told.entries.items()} == {
        **{"ext4-on-xfs": 6, "ext4-on-btrfs": 0, "xfs-on-zfs": 3}
    }


def test_the_default_is_that_of_the_hypervisor_itself():
    default = {"wording": "product default", "kind": "product default"}
    rows = [
        said("p", "none", hypervisors=("proxmox",), **default),
        said("k", "writeback", hypervisors=("kvm",), **default),
    ]
    told = advise("none writeback", *rows, asked=QuestionContext(hypervisor="proxmox"))
    assert (told.default, [one.code for one in told.defaults], told.statements) == ("none", ["p"], ())
    assert advise("none writeback", *rows, asked=QuestionContext(hypervisor="kvm")).default == "writeback"
    assert advise("none writeback", *rows).defaults == ()


def test_five_statements_are_shown_the_closest_of_each_publisher_first_with_contradictions_that_touch_them():
    rows = [said(f"s{n}", "none", publisher=f"p{max(n, 2)}") for n in range(8)]
    sides = {"one_view": "", "other_view": "", "why": "", "subject": ""}
    touching = Disagreement(1, **sides, one_side=("s7",), other_side=("s3",))
    other = Disagreement(2, **sides, one_side=("s7",), other_side=("s1",))
    told = advise("none", *rows, disagreements=[touching, other])
    assert [one.code for one in told.shown] == ["s0", "s3", "s4", "s5", "s6"]
    assert told.disagreements == (touching,)


@pytest.mark.parametrize(
    ("statement", "summary"),
    [
        (said("a", "none", "unsafe", wording="must"), "cache mode must be none, never unsafe"),
        (said("a", "", "ide sata", axis="disk-bus"), "disk bus not IDE or SATA"),
        (
            said("a", "raw qcow2", axis="image-format", wording="no difference"),
            "image format raw or qcow2: no difference",
        ),
        (said("a"), "Do so."),
    ],
)
def test_a_statement_is_said_in_one_line_without_slugs(statement, summary):
    assert statement.summary == summary
    assert statement.source == "Manual (2026)"
