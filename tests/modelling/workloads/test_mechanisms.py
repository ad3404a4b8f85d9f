"""The mechanism layer against P3's Table 1 and its account of the four workloads, worked by hand."""

import re

import pytest

from modelling.evidence import dataframes
from modelling.workloads.mechanisms import RULES, SIDES, Mechanism, expect, is_stated, matrix_of, terms
from modelling.workloads.profiles import Accesses, Profile, known_profiles
from tests.test_architecture import ROOT

OPERATIONS = ("update_method", "directory", "metadata", "free_lists", "block_access", "housekeeping", "small_files")
TABLE_1 = {
    "ext4": (
        "overwrite",
        "H-tree",
        "linear inode table",
        "linear bitmap",
        "H-tree",
        "journal CRC",
        "none",
    ),
    "xfs": ("overwrite", *["B+ tree"] * 4, "journal CRC", "moderate performance"),
    "btrfs": ("copy-on-write", *["B+ tree"] * 4, "data, metadata and journal CRC", "good performance"),
}
MATRIX = {
    name: {
        operation: Mechanism(f"C{x}.{y}", mechanism)
        for y, (operation, mechanism) in enumerate(zip(OPERATIONS, row, strict=True), start=1)
    }
    for x, (name, row) in enumerate(TABLE_1.items(), start=1)
}
KNOWN = known_profiles()
WORKLOADS = tuple(KNOWN)
LINUX = ("btrfs", "ext4", "xfs")
PAIRS = [(guest, host) for guest in LINUX for host in LINUX]


def signs(side, a, b, workload):
    return {term.operation: term.sign for term in terms(side, a, b, MATRIX, KNOWN[workload])}


def weights(side, workload):
    return {operation: round(rule.weight(side, KNOWN[workload]), 2) for operation, rule in RULES.items()}


# The rows of P3's Table 1


def test_the_catalogue_holds_the_matrix_that_the_rules_know(published_evidence, django_assert_num_queries):
    with django_assert_num_queries(1):
        assert matrix_of(dataframes.mechanism_costs()) == MATRIX


# P3's account of its workloads (its Section 7)


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("winner", ["xfs", "btrfs"])
def test_retrieval_in_b_trees_is_a_gain_on_the_guest_side(workload, winner):
    sign_of = signs("guest", winner, "ext4", workload)
    assert [sign_of[name] for name in ("directory", "metadata", "free_lists", "block_access")] == [1, 1, 1, 1]


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("rival", ["ext4", "xfs"])
@pytest.mark.parametrize("side", SIDES)
def test_copy_on_write_and_housekeeping_are_penalties_of_btrfs(workload, rival, side):
    sign_of = signs(side, "btrfs", rival, workload)
    assert (sign_of["update_method"], sign_of["housekeeping"]) == (-1, -1)


def test_mail_reaches_the_image_file_by_extents_and_writes_decide_among_hosts():
    # Gains C2.5, C3.5 over C1.5; penalties C3.1, C3.6.
    expectation = expect(("ext4", "btrfs"), ("ext4", "xfs"), MATRIX, KNOWN["varmail"])
    assert expectation.sign == -1
    assert [term.b.code for term in expectation.deciding()] == ["C2.6", "C2.1"]
    assert signs("host", "xfs", "ext4", "varmail")["block_access"] == 1


# Weights by hand


def test_weights_of_mail_by_hand():
    # 13 operations: 7 on names, 2 reads, 2 writes, 2 fsyncs. 16 KiB + 16 KiB read, 8 KiB + 8 KiB written, all
    # random and synchronous: RR 2/3, RW 1/3. Files of 16 KiB: 64 / (64 + 16) = 4/5.
    assert weights("guest", "varmail") == {
        "update_method": 0.17,
        "directory": 0.54,
        "metadata": 0.54,
        "free_lists": 0.33,
        "block_access": 1.0,
        "housekeeping": 0.33,
        "small_files": 0.8,
    }


def test_asynchronous_writes_are_halved_by_each_cache():
    profile = Profile(Accesses(), Accesses(random_read=0.5, sequential_write=0.5), sync_share=0.0)
    assert [RULES["update_method"].weight(side, profile) for side in SIDES] == [0.25, 0.125]
    assert [RULES["housekeeping"].weight(side, profile) for side in SIDES] == [0.25, 0.125]


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("side", SIDES)
def test_the_documented_weights_are_the_computed_ones(workload, side):
    text = (ROOT / "docs" / "models" / "mechanisms.md").read_text()
    (rows,) = re.findall(rf"^\| {workload} \| guest \|(.*)\|\n\| +\| host \|(.*)\|$", text, re.M)
    documented = [float(cell) for cell in rows[SIDES.index(side)].split("|")]
    assert documented == list(weights(side, workload).values())


# The host's one large file (H3.6)


@pytest.mark.parametrize("workload", WORKLOADS)
def test_names_and_small_files_mean_nothing_to_a_host(workload):
    host_terms = terms("host", "btrfs", "ext4", MATRIX, KNOWN[workload])
    assert {t.operation for t in host_terms if t.sign} == {
        "update_method",
        "free_lists",
        "block_access",
        "housekeeping",
    }
    assert all("H3.6" in term.hypotheses for term in host_terms)


# What is not stated


def test_a_file_system_without_stated_mechanisms_is_not_guessed_at():
    expectation = expect(("ext4", "ntfs"), ("ext4", "ext4"), MATRIX, KNOWN["varmail"])
    assert (expectation.sign, expectation.score, expectation.unstated) == (None, None, ("ntfs",))
    assert [(term.a, term.sign, term.contribution) for term in expectation.terms] == [(None, None, 0.0)] * 7


def test_guests_on_the_same_host_are_compared_whatever_it_is():
    expectation = expect(("xfs", "vmfs"), ("ext4", "vmfs"), MATRIX, KNOWN["varmail"])
    assert expectation == expect(("xfs", "xfs"), ("ext4", "xfs"), MATRIX, KNOWN["varmail"])
    assert expectation.sign == 1


def test_a_mechanism_that_no_rule_knows_is_not_judged():
    odd = MATRIX | {"zfs": MATRIX["btrfs"] | {"directory": Mechanism("C9.2", "something new")}}
    assert not is_stated("zfs", odd)
    sign_of = {term.operation: term.sign for term in terms("guest", "zfs", "ext4", odd, KNOWN["varmail"])}
    assert sign_of["directory"] is None
    assert sign_of["update_method"] == -1
    assert expect(("zfs", "ext4"), ("ext4", "ext4"), odd, KNOWN["varmail"]).unstated == ("zfs",)


# Pairs


def test_swapping_two_pairs_turns_the_expectation_round():
    for a in PAIRS:
        for b in PAIRS:
            there = expect(a, b, MATRIX, KNOWN["varmail"])
            back = expect(b, a, MATRIX, KNOWN["varmail"])
            assert (there.sign, there.score) == (-back.sign, pytest.approx(-back.score))
