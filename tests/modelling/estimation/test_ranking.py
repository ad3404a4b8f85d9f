"""The order, the sets, the grades, and what holds whatever the numbers are."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modelling.estimation.arms import Spread
from modelling.estimation.ranking import Assumptions, rank
from modelling.estimation.verdict import Basis, strength
from modelling.evidence.axes import AXES, SET_BY_HYPERVISOR
from tests.modelling.frames import arm, arms, finding, findings, having
from tests.modelling.scales import ALIKE

PAIR, GUEST, CONFIGURATION = AXES["fs-pair"], AXES["guest-fs"], AXES["configuration"]
NO_FINDINGS = findings()


def ranked(frame, axis=PAIR, stated=NO_FINDINGS, variation=0.05, **scales):
    spread = Spread(variation, 1e9, 1e9)
    return rank(frame, stated, axis, Assumptions(spread, 0.087, tier_doubt=0.5, **scales)).parts


def test_the_best_comes_first_and_ratios_are_against_it():
    (part,) = ranked(arms(arm(100), arm(200, guest_fs="xfs"), arm(50, guest_fs="btrfs")), scales=ALIKE)
    assert [(entry.key, entry.rank, entry.ratio) for entry in part.entries] == [
        ("xfs-on-ext4", 1, 1.0),
        ("ext4-on-ext4", 2, pytest.approx(0.5, rel=2e-3)),
        ("btrfs-on-ext4", 3, pytest.approx(0.25, rel=5e-3)),
    ]
    # One laboratory: it is told what leads there, and nothing is to be used or avoided.
    assert (having(part, "use"), having(part, "avoid"), part.leading) == ((), (), ("xfs-on-ext4",))
    assert [entry.verdict for entry in part.entries] == ["leads", "unknown", "unknown"]
    assert (part.verdict.kind, part.verdict.strength) == ("leads", "very weak")
    assert part.verdict.contrast.measured == (pytest.approx(2.0),)


def test_the_interval_is_worked_from_the_spread_of_both_entries():
    # ln ratio = ln 0.5, standard error sqrt(0.05^2 + 0.05^2) = 0.0707, 1.96 of it = 0.1386.
    (part,) = ranked(arms(arm(100), arm(200, guest_fs="xfs")), scales=ALIKE)
    entry = part.entries[1]
    assert (entry.mean_low, entry.mean_high) == (pytest.approx(entry.low), pytest.approx(entry.high))
    assert (entry.low, entry.high) == (
        pytest.approx(0.5 * np.exp(-0.13859), rel=2e-3),
        pytest.approx(0.5 * np.exp(0.13859), rel=2e-3),
    )
    assert (part.entries[0].low, part.entries[0].high) == (1.0, 1.0)


def test_entries_whose_difference_may_be_chance_are_tied_and_share_the_best_set():
    (part,) = ranked(arms(arm(100), arm(105, guest_fs="xfs"), arm(50, guest_fs="btrfs")), scales=ALIKE)
    assert part.leading == ("xfs-on-ext4", "ext4-on-ext4")
    assert part.entries[0].tied_with == ("ext4-on-ext4",)
    assert (part.verdict.contrast.second, having(part, "avoid")) == ("btrfs-on-ext4", ())


def test_nothing_is_called_worst_where_everything_may_be_best():
    (part,) = ranked(arms(arm(100), arm(101, guest_fs="xfs")), scales=ALIKE)
    assert ([entry.verdict for entry in part.entries], having(part, "avoid")) == (["no difference"] * 2, ())


def test_one_laboratory_foretells_less_than_it_measured():
    (part,) = ranked(arms(arm(100), arm(200, guest_fs="xfs")))
    entry = part.entries[1]
    assert entry.low < entry.mean_low < entry.ratio < 1
    assert entry.high > entry.mean_high


def test_one_laboratory_that_cannot_tell_two_apart_is_not_known():
    (part,) = ranked(arms(arm(100), arm(101, guest_fs="xfs")))
    assert (part.verdict.kind, part.verdict.strength) == ("not known", "very weak")
    assert [rule for rule, _ in part.verdict.reasons] == ["groups"]
    assert part.entries[1].verdict == "unknown"


def test_laboratories_that_agree_say_what_to_use():
    rows = [
        arm(value, guest_fs=fs, case_study=f"lab{i}", storage=("hdd", "ssd")[i % 2])
        for i in range(6)
        for fs, value in (("ext4", 100), ("xfs", 300))
    ]
    (part,) = ranked(arms(*rows), scales=ALIKE)
    assert (part.verdict.kind, part.verdict.strength, part.verdict.reasons) == ("use", "strong", ())
    assert (part.entries[0].laboratories, part.entries[0].expected_loss) == (6, pytest.approx(0, abs=0.5))


def test_an_entry_without_numbers_is_not_used_for_want_of_evidence():
    stated = findings(finding("btrfs", "btrfs", "best"), finding("ext4", "ext4", "unlisted"))
    (part,) = ranked(arms(arm(200), arm(100, guest_fs="xfs")), stated=stated, scales=ALIKE)
    by_key = {entry.key: entry for entry in part.entries}
    assert by_key["btrfs-on-btrfs"].rank == 1
    assert (by_key["btrfs-on-btrfs"].verdict, by_key["btrfs-on-btrfs"].expected_loss) == ("unknown", None)
    assert part.leading == ("ext4-on-ext4",)


@pytest.mark.parametrize(
    ("basis", "word", "rules"),
    [
        (Basis(3, measured=True, has_numbers=True), "strong", []),
        (Basis(2, measured=True, has_numbers=True), "moderate", ["groups"]),
        (Basis(1, measured=True, has_numbers=True), "very weak", ["groups"]),
        (Basis(3, measured=False, has_numbers=True), "moderate", ["derived"]),
        (Basis(5, measured=False, has_numbers=False), "very weak", ["listed"]),
        (Basis(4, measured=True, has_numbers=True, wider=2.5), "moderate", ["spread"]),
        (Basis(4, measured=True, has_numbers=True, direct=False, confounded=True), "weak", ["indirect", "confounded"]),
        (Basis(4, measured=True, has_numbers=True, unsafe=True), "moderate", ["durability"]),
        (Basis(4, measured=True, has_numbers=True, newest=2010, this_year=2026), "moderate", ["age"]),
        (Basis(4, measured=True, has_numbers=True, this_year=2026), "strong", []),
    ],
)
def test_each_step_down_in_strength_has_its_rule(basis, word, rules):
    strength_word, reasons = strength(basis)
    assert (strength_word, [rule for rule, _ in reasons]) == (word, rules)


@pytest.mark.parametrize(
    ("rows", "grade"),
    [
        ([{"variance": 0.01, "runs": 3}, {"variance": 0.01, "runs": 3, "case_study": "two"}], "A"),
        ([{"variance": 0.01, "runs": 3}, {"case_study": "two"}], "B"),
        ([{}], "B"),
        ([{"origin": "derived"}], "C"),
    ],
)
def test_the_grade_says_how_strong_the_evidence_is(rows, grade):
    frame = arms(*(arm(value, guest_fs=fs, **row) for row in rows for value, fs in ((100, "ext4"), (200, "xfs"))))
    assert {entry.grade for part in ranked(frame) for entry in part.entries} == {grade}


def test_counts_of_evidence_are_those_that_were_compared():
    frame = arms(
        arm(100, measurements=3), arm(200, guest_fs="xfs", measurements=5), arm(70, guest_fs="btrfs", vm_count=4)
    )
    (part,) = ranked(frame)
    assert {entry.key: entry.measurements for entry in part.entries} == {"xfs-on-ext4": 5, "ext4-on-ext4": 3}


def test_tier_lists_rank_without_numbers_where_no_numbers_exist():
    stated = findings(
        finding("ext4", "ext4", "best", outstanding=True),
        finding("xfs", "ext4", "best"),
        finding("btrfs", "ext4", "unlisted"),
        finding("btrfs", "xfs", "worst"),
        finding("xfs", "btrfs", "worst", outstanding=True),
    )
    (part,) = ranked(arms(), stated=stated)
    assert [entry.key for entry in part.entries] == [
        "ext4-on-ext4",
        "xfs-on-ext4",
        "btrfs-on-ext4",
        "btrfs-on-xfs",
        "xfs-on-btrfs",
    ]
    assert {(entry.ratio, entry.low, entry.high, entry.grade) for entry in part.entries} == {(None, None, None, "D")}
    assert (having(part, "use"), having(part, "avoid"), part.verdict.kind) == ((), (), "not known")


def test_equal_tiers_share_the_best_rank():
    stated = findings(
        finding("ext4", "ext4", "best"), finding("xfs", "ext4", "best"), finding("btrfs", "ext4", "worst")
    )
    (part,) = ranked(arms(), stated=stated)
    assert [entry.rank for entry in part.entries] == [1, 1, 3]
    assert part.entries[0].tied_with == ("xfs-on-ext4",)


def test_a_pair_that_text_and_table_put_apart_stands_in_the_middle():
    stated = findings(
        finding("ext4", "ext4", "best"),
        finding("btrfs", "xfs", "best", table_list="worst"),
        finding("xfs", "xfs", "worst"),
    )
    (part,) = ranked(arms(), stated=stated)
    assert [entry.key for entry in part.entries] == ["ext4-on-ext4", "btrfs-on-xfs", "xfs-on-xfs"]


def test_findings_on_a_guest_compare_only_guests_of_one_host():
    # On ext4 the list prefers xfs to ext4; what it says of btrfs on xfs it says of nothing else there.
    stated = findings(
        finding("xfs", "ext4", "best"), finding("ext4", "ext4", "unlisted"), finding("btrfs", "xfs", "worst")
    )
    (part,) = ranked(arms(), GUEST, stated)
    assert [entry.key for entry in part.entries] == ["xfs", "ext4"]


def test_numbers_and_lists_that_share_an_entry_are_ranked_together():
    stated = findings(
        finding("ext4", "ext4", "best"), finding("xfs", "xfs", "unlisted"), finding("btrfs", "btrfs", "worst")
    )
    (part,) = ranked(arms(arm(200), arm(100, guest_fs="xfs")), stated=stated, scales=ALIKE)
    assert part.basis == "both"
    rank_and_ratio = {entry.key: (entry.rank, entry.ratio) for entry in part.entries}
    assert rank_and_ratio["ext4-on-ext4"] == (1, 1.0)
    assert rank_and_ratio["xfs-on-ext4"][1] == pytest.approx(0.5, abs=0.005)
    # Only lists speak of these two: they have a place in the order, and no number.
    assert rank_and_ratio["xfs-on-xfs"][1] is rank_and_ratio["btrfs-on-btrfs"][1] is None
    assert rank_and_ratio["xfs-on-xfs"][0] < rank_and_ratio["btrfs-on-btrfs"][0]


def test_the_reference_is_the_best_entry_that_has_numbers():
    stated = findings(finding("btrfs", "btrfs", "best", outstanding=True), finding("ext4", "ext4", "worst"))
    (part,) = ranked(arms(arm(200), arm(199, guest_fs="xfs")), stated=stated)
    assert part.entries[0].key == "btrfs-on-btrfs"
    assert part.reference in ("ext4-on-ext4", "xfs-on-ext4")


def test_lists_on_pairs_without_numbers_are_a_part_of_their_own():
    stated = findings(finding("xfs", "xfs", "best"), finding("btrfs", "btrfs", "worst"))
    numbers, lists = ranked(arms(arm(200), arm(100, guest_fs="xfs")), stated=stated)
    assert (numbers.basis, lists.basis, lists.reference) == ("numbers", "findings", "xfs-on-xfs")


def test_what_came_along_with_a_hypervisor_is_marked():
    stated = dict.fromkeys(SET_BY_HYPERVISOR, "the same")
    frame = arms(
        arm(200, **stated),
        arm(100, hypervisor="xen", **stated),
        arm(50, hypervisor="esxi", host_fs="vmfs", guest_fs="xfs", **stated),
        arm(60, guest_fs="xfs", **stated),
    )
    (part,) = ranked(frame, AXES["hypervisor"])
    marks = {entry.key: entry.confounded_with for entry in part.entries}
    assert marks == {"kvm": ("host_fs",), "xen": (), "esxi": ("host_fs",)}


@pytest.mark.parametrize(("host_fs", "is_told"), [("ext4", False), ("vmfs", True)])
def test_what_came_along_with_the_second_entry_alone_weakens_the_verdict_as_well(host_fs, is_told):
    stated = dict.fromkeys(SET_BY_HYPERVISOR, "the same")
    frame = arms(
        arm(200, **stated),
        arm(100, hypervisor="xen", **stated),
        arm(100, hypervisor="xen", guest_fs="xfs", **stated),
        arm(50, hypervisor="esxi", guest_fs="xfs", host_fs=host_fs, **stated),
    )
    (part,) = ranked(frame, AXES["hypervisor"])
    verdict = part.verdict
    assert (verdict.contrast.first, verdict.contrast.second) == ("kvm", "xen")
    assert ("confounded" in dict(verdict.reasons)) == is_told


def test_nothing_in_gives_no_parts():
    assert ranked(arms()) == ()


def test_one_arm_is_no_ranking():
    assert ranked(arms(arm(100))) == ()


def test_configurations_are_ranked_across_hypervisors_and_cache_modes():
    frame = arms(arm(100), arm(200, hypervisor="xen"), arm(300, cache_mode="writeback"))
    (part,) = ranked(frame, CONFIGURATION)
    assert [entry.key for entry in part.entries] == [
        "kvm:ext4-on-ext4:writeback",
        "xen:ext4-on-ext4",
        "kvm:ext4-on-ext4",
    ]


VALUES = st.lists(st.floats(0.1, 1e5), min_size=6, max_size=6)


def some_arms(values, factor=1.0, names=("ext4", "xfs", "jfs")) -> pd.DataFrame:
    cells = [(vm_count, name) for vm_count in (1, 2) for name in names]
    return arms(*(arm(v * factor, guest_fs=name, vm_count=n) for v, (n, name) in zip(values, cells, strict=True)))


def shape(parts, rename=lambda key: key):
    return [[(rename(e.key), round(e.ratio, 9), round(e.low, 9)) for e in part.entries] for part in parts]


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(VALUES, st.floats(0.01, 100))
def test_a_ranking_does_not_depend_on_the_unit(values, factor):
    assert shape(ranked(some_arms(values))) == shape(ranked(some_arms(values, factor)))


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(
    VALUES.filter(lambda v: len({round(np.log(a * b), 6) for a, b in zip(v[:3], v[3:], strict=True)}) == 3),
    st.permutations(range(6)),
)
def test_a_ranking_does_not_depend_on_the_order_of_rows(values, order):
    frame = some_arms(values)
    assert shape(ranked(frame)) == shape(ranked(frame.iloc[list(order)].reset_index(drop=True)))


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(VALUES.filter(lambda v: len({round(np.log(a * b), 6) for a, b in zip(v[:3], v[3:], strict=True)}) == 3))
def test_a_ranking_does_not_depend_on_what_things_are_called(values):
    """Names that draws know no sizes of."""
    names = {"ext4": "vmfs", "xfs": "aufs", "jfs": "f2fs"}
    renamed = some_arms(values, names=tuple(names.values()))
    assert shape(ranked(some_arms(values), scales=ALIKE), lambda key: names[key.split("-")[0]]) == shape(
        ranked(renamed, scales=ALIKE), lambda key: key.split("-")[0]
    )
