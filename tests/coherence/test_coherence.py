"""The rules of coherence on answers made by hand, and on every question of the published evidence."""

import json
import os
from dataclasses import replace

import pytest

from experiments.published_evidence.load import load_outside
from modelling.answers.content import AnswerVerdict
from modelling.estimation.ranking import Entry
from modelling.estimation.recommendation import STRONG
from modelling.estimation.verdict import AVOID, LEADS, NOT_KNOWN, UNKNOWN, USE
from modelling.evidence.question import Question
from tests.factories import make_case_study, make_measurement, publish
from tests.test_architecture import ROOT

from . import rules
from .questions import answer_questions
from .rules import Breach, PartStatements, Statements

MAIL = Question("guest-fs", "varmail")
THREE = replace(MAIL, vm_count=3)
NVME = replace(MAIL, storage="nvme")
LATENCY = replace(MAIL, metric="latency")
PAIRS = Question("fs-pair", "varmail")
HOSTS = Question("host-fs", "varmail")


def entry(key, ratio=None, verdict=UNKNOWN, within=1.02):
    """Return an entry; the mean over laboratories is known to a factor of `within` either way."""
    ends = (None, None) if ratio is None else (ratio / within, ratio * within)
    return Entry(
        rank=1,
        part=1,
        key=key,
        ratio=ratio,
        low=None if ratio is None else ratio / 3,
        high=None if ratio is None else ratio * 3,
        mean_low=ends[0],
        mean_high=ends[1],
        probability_best=None,
        probability_slower=None,
        expected_loss=None,
        verdict=verdict,
        p_score=0.5,
        grade="B",
        tied_with=(),
        confounded_with=(),
        unsafe_options=(),
        always_unsafe=False,
        case_studies=1,
        laboratories=1,
        groups=1,
        measurements=1,
        derived=0,
        findings=0,
        lacks=(),
    )


def told(
    question,
    *entries,
    kind=NOT_KNOWN,
    strength="weak",
    groups=2,
    metric="throughput",
    whole=None,
    choice=None,
    **recommended,
):
    """Return an answer that recommends the first that is not to be avoided, or `choice`."""
    first = [own.key for own in entries if own.verdict != AVOID][:1]
    choice = tuple(first if choice is None else choice)
    verdict = AnswerVerdict(kind, "", strength, (), "", choice=choice, **recommended)
    part = PartStatements(verdict, entries, groups)
    return Statements(question, metric, replace(verdict, kind=whole or kind), (part,))


def use(question, best, *others, **said):
    """Return an answer that says to use the first; the others are a third slower and not told apart."""
    entries = [entry(best, 1.0, USE), *(entry(key, 0.75, within=2.0) for key in others)]
    return told(question, *entries, kind=USE, **said)


def leads(question, best, *others, **said):
    """Return an answer whose first leads where it was measured; others are a third slower, and not told apart."""
    entries = [entry(best, 1.0, LEADS), *(entry(key, 0.75, within=2.0) for key in others)]
    return told(question, *entries, kind=LEADS, **said)


def ahead(question, first, second, within=1.02, **said):
    """Return an answer whose first is twice as fast, and which says to use nothing."""
    return told(question, entry(first, 1.0), entry(second, 0.5, within=within), **said)


def names(answers):
    return [breach.name for breach in rules.find_breaches(answers)]


# Name: answers, breaches
TABLE = {
    "nothing is recommended of what somebody measured": (
        [told(MAIL, entry("ext4", 1.0), entry("xfs", 0.9), choice=())],
        [f"recommendation | {MAIL.key} | "],
    ),
    "what is recommended is to be avoided": (
        [told(MAIL, entry("ext4", 1.0), entry("xfs", 0.5, AVOID), choice=("xfs",))],
        [f"recommendation | {MAIL.key} | xfs"],
    ),
    "a strong word by one group": (
        [told(MAIL, entry("ext4", 1.0), entry("xfs", 0.5), groups=1, force=STRONG)],
        [f"recommendation | {MAIL.key} | ext4"],
    ),
    "one says to use what is to be avoided with three machines": (
        [use(MAIL, "ext4", "xfs"), told(THREE, entry("xfs", 1.0), entry("ext4", 0.5, AVOID))],
        [f"machines | {MAIL.key} | {THREE.key} | ext4"],
    ),
    "to be avoided among all, and the best of those that are avoided": (
        [
            told(MAIL, entry("btrfs", 1.0), entry("xfs", 0.5, AVOID), entry("ext4", 0.4, AVOID)),
            use(THREE, "xfs", "ext4"),
        ],
        [],
    ),
    "one to use and another to use with three machines": (
        [use(MAIL, "ext4", "xfs"), use(THREE, "xfs", "ext4")],
        [f"machines | {MAIL.key} | {THREE.key} | ext4, xfs"],
    ),
    "sure of the reverse with three machines": (
        [ahead(MAIL, "ext4", "xfs"), ahead(THREE, "xfs", "ext4")],
        [f"machines | {MAIL.key} | {THREE.key} | ext4, xfs"],
    ),
    "the reverse, of which one is not sure": (
        [ahead(MAIL, "ext4", "xfs"), ahead(THREE, "xfs", "ext4", within=4.0)],
        [],
    ),
    "two filters, of which neither answer is a part of the other": (
        [use(THREE, "ext4", "xfs"), use(NVME, "xfs", "ext4")],
        [],
    ),
    "to use what the narrower question does not know": ([use(MAIL, "ext4", "xfs"), use(THREE, "xfs")], []),
    "one to use and another to use on NVMe": (
        [use(MAIL, "ext4", "xfs"), use(NVME, "xfs", "ext4")],
        [f"filter | {MAIL.key} | {NVME.key} | ext4, xfs"],
    ),
    "one to use and another to use by latency": (
        [use(MAIL, "ext4", "xfs"), use(LATENCY, "xfs", "ext4", metric="latency")],
        [f"metric | {MAIL.key} | {LATENCY.key} | ext4, xfs"],
    ),
    "a score is no speed": (
        [use(MAIL, "ext4", "xfs"), use(replace(MAIL, metric="score"), "xfs", "ext4", metric="score")],
        [],
    ),
    "a pair whose guest file system is to be avoided": (
        [
            use(PAIRS, "xfs-on-ext4", "ext4-on-ext4"),
            told(MAIL, entry("btrfs", 1.0), entry("ext4", 0.9), entry("xfs", 0.5, AVOID)),
        ],
        [f"pair | {PAIRS.key} | {MAIL.key} | xfs, host_fs=ext4"],
    ),
    "of pairs with one guest the hosts the other way round": (
        [ahead(PAIRS, "ext4-on-xfs", "ext4-on-btrfs"), ahead(HOSTS, "btrfs", "xfs")],
        [f"pair | {PAIRS.key} | {HOSTS.key} | xfs, btrfs, guest_fs=ext4"],
    ),
    "a pair to be avoided, and its guest to be used on another host": (
        [told(PAIRS, entry("ext4-on-xfs", 1.0), entry("ext4-on-btrfs", 0.5, AVOID)), use(MAIL, "ext4", "xfs")],
        [],
    ),
    "stronger with less": (
        [use(MAIL, "ext4", "xfs", strength="weak"), use(THREE, "ext4", "xfs", strength="moderate")],
        [f"strength | {MAIL.key} | {THREE.key} | ext4, xfs"],
    ),
    "to be used in a part beside nothing known of the whole": (
        [use(MAIL, "ext4", "xfs", whole=NOT_KNOWN)],
        [f"entries | {MAIL.key} | ext4"],
    ),
    "an imperative of one group": (
        [use(MAIL, "ext4", "xfs", groups=1)],
        [f"one group | {MAIL.key} | use ext4"],
    ),
    "to avoid by one group what it found far slower": (
        [told(MAIL, entry("ext4", 1.0), entry("xfs", 0.25, AVOID), groups=1)],
        [],
    ),
    "to avoid by lists alone": (
        [told(MAIL, entry("ext4"), entry("xfs", None, AVOID), groups=0)],
        [f"one group | {MAIL.key} | avoid xfs"],
    ),
}


@pytest.mark.parametrize(("answers", "expected"), TABLE.values(), ids=TABLE)
def test_a_rule_is_broken_by_contradictions_and_by_nothing_else(answers, expected):
    assert names(answers) == expected


def test_every_rule_is_in_the_table():
    broken = {name.split(" | ")[0] for _, expected in TABLE.values() for name in expected}
    of_two = {"machines", "filter", "metric", "pair", "strength"}
    assert broken == of_two | {"entries", "one group", "recommendation"}


def test_of_two_that_are_not_the_reference_less_is_called_sure_than_is():
    part = told(
        MAIL, entry("ext4", 1.0, within=1.0), entry("xfs", 0.8, within=1.2), entry("btrfs", 0.64, within=1.2)
    ).parts[0]
    # ln 1.25 = 0.2231; ln 1.2 / 1.96 = 0.0930: 0.9918 against the reference, and with both deviations 0.8849
    assert part.sureness("ext4", "xfs") == pytest.approx(0.9918, abs=1e-4)
    assert part.sureness("xfs", "btrfs") == pytest.approx(0.8849, abs=1e-4)
    assert part.sureness("btrfs", "xfs") == pytest.approx(1 - 0.8849, abs=1e-4)
    assert part.sureness("xfs", "zfs") == 0.0


# Reasons

BROKEN = Breach("machines", ("one", "other"), ("ext4", "xfs"), "one and other: ...")
OTHER = replace(BROKEN, what=("btrfs",))


def test_reasons_are_written_with_what_they_are_of_and_read_again():
    text = rules.write_reasons([BROKEN, OTHER], {BROKEN.name: "Load changes it.", "metric | gone": "Why."})
    assert json.loads(text) == [
        {"reason": "", "breaches": [OTHER.name]},
        {"reason": "Load changes it.", "breaches": [BROKEN.name]},
    ]
    assert rules.read_reasons(text) == {OTHER.name: "", BROKEN.name: "Load changes it."}


@pytest.fixture
def reversed_with_three_machines(db):
    """Publish four laboratories that find ext4 far faster with one and two machines, and XFS with three."""
    for number, jitter in enumerate((1.0, 1.03, 0.98, 1.01)):
        case_study = make_case_study(f"laboratory-{number}", laboratory=f"laboratory-{number}")
        for vm_count, ext4 in ((1, 5000.0), (2, 5000.0), (3, 25.0)):
            for guest_fs, value in (("ext4", ext4 * jitter), ("xfs", 100.0)):
                make_measurement(value, case_study=case_study, guest_fs=guest_fs, workload="varmail", vm_count=vm_count)
        publish(case_study)


def test_laboratories_that_find_the_reverse_with_three_machines_break_a_rule(reversed_with_three_machines):
    sentences = [breach.sentence for breach in rules.find_breaches(answer_questions())]
    sure = f"{MAIL.key} and {THREE.key}: one is sure that ext4 is faster than xfs, the other of the reverse."
    assert sure in sentences


# The published evidence


@pytest.mark.nightly
@pytest.mark.sqlite
def test_every_breach_of_the_published_evidence_has_a_reason(published_evidence):
    """With KDB_WRITE_REASONS the file is written anew; a reason that is missing is empty there, and still missing."""
    load_outside(ROOT / "fixtures" / "outside")
    breaches = rules.find_breaches(answer_questions())
    reasons = rules.read_reasons(rules.FILE.read_text())
    if "KDB_WRITE_REASONS" in os.environ:
        rules.FILE.write_text(rules.write_reasons(breaches, reasons))
        reasons = rules.read_reasons(rules.FILE.read_text())
    assert {breach.name: breach.sentence for breach in breaches if not reasons.get(breach.name)} == {}
    assert sorted(reasons.keys() - {breach.name for breach in breaches}) == []
