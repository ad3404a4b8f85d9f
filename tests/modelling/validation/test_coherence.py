"""The rules of coherence on answers made by hand, and on every question of the published evidence."""

import json
from dataclasses import replace

import pytest
from django.core.management import CommandError, call_command

from experiments.claim_conditions import parse
from experiments.published_evidence.load import load_outside
from modelling.answers.content import Decision
from modelling.estimation.ranking import Entry
from modelling.estimation.verdict import AVOID, LEADS, NO_DIFFERENCE, NOT_KNOWN, UNKNOWN, USE
from modelling.evidence.question import Question
from modelling.validation import coherence, reasons
from modelling.validation.claimed import Claimed, claimed
from modelling.validation.coherence import Breach, Told, ToldPart
from tests.factories import make_case_study, make_measurement, publish
from tests.test_architecture import ROOT

MAIL = Question("guest-fs", "varmail")
THREE = replace(MAIL, vm_count=3)
NVME = replace(MAIL, storage="nvme")
LATENCY = replace(MAIL, metric="latency")
PAIRS = Question("fs-pair", "varmail")
HOSTS = Question("host-fs", "varmail")
CLAIM = Claimed("P1-C04", "guest-fs", "varmail", (("vm_count", 3),), faster="xfs", slower="ext4")


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


def told(question, *entries, kind=NOT_KNOWN, strength="weak", groups=2, metric="throughput", whole=None):
    verdict = Decision(kind, "", strength, (), "")
    part = ToldPart(verdict, entries, groups)
    return Told(question, metric, replace(verdict, kind=whole or kind), (part,))


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


def names(answers, claims=(), rule=None):
    return [
        breach.name for breach in coherence.breaches(answers, claims) if rule is None or breach.name.startswith(rule)
    ]


# Name: answers, claims, breaches
TABLE = {
    "one says to use what is to be avoided with three machines": (
        [use(MAIL, "ext4", "xfs"), told(THREE, entry("xfs", 1.0), entry("ext4", 0.5, AVOID))],
        (),
        [f"machines | {MAIL.key} | {THREE.key} | ext4"],
    ),
    "to be avoided among all, and the best of those that are avoided": (
        [
            told(MAIL, entry("btrfs", 1.0), entry("xfs", 0.5, AVOID), entry("ext4", 0.4, AVOID)),
            use(THREE, "xfs", "ext4"),
        ],
        (),
        [],
    ),
    "a narrower question that is answered in another metric": (
        [use(MAIL, "ext4", "xfs"), use(THREE, "xfs", "ext4", metric="latency")],
        (),
        [],
    ),
    "to be avoided among all with three machines, and the best of those that are avoided": (
        [
            use(MAIL, "xfs", "ext4"),
            told(THREE, entry("btrfs", 1.0), entry("xfs", 0.5, AVOID), entry("ext4", 0.4, AVOID)),
        ],
        (),
        [],
    ),
    "what leads is to be avoided with three machines": (
        [leads(MAIL, "ext4", "xfs"), told(THREE, entry("xfs", 1.0), entry("ext4", 0.5, AVOID))],
        (),
        [f"machines | {MAIL.key} | {THREE.key} | ext4"],
    ),
    "what makes no difference is to be avoided with three machines": (
        [
            told(MAIL, entry("xfs", 1.0, NO_DIFFERENCE), entry("ext4", 0.99, NO_DIFFERENCE), kind=NO_DIFFERENCE),
            told(THREE, entry("xfs", 1.0), entry("ext4", 0.5, AVOID)),
        ],
        (),
        [f"machines | {MAIL.key} | {THREE.key} | ext4"],
    ),
    "one leads, and another leads with three machines": (
        [leads(MAIL, "ext4", "xfs"), leads(THREE, "xfs", "ext4")],
        (),
        [f"machines | {MAIL.key} | {THREE.key} | ext4, xfs"],
    ),
    "one leads, and another is to be used with three machines": (
        [leads(MAIL, "ext4", "xfs"), use(THREE, "xfs", "ext4")],
        (),
        [f"machines | {MAIL.key} | {THREE.key} | ext4, xfs"],
    ),
    "one to use and another to use with three machines": (
        [use(MAIL, "ext4", "xfs"), use(THREE, "xfs", "ext4")],
        (),
        [f"machines | {MAIL.key} | {THREE.key} | ext4, xfs"],
    ),
    "sure of the reverse with three machines": (
        [ahead(MAIL, "ext4", "xfs"), ahead(THREE, "xfs", "ext4")],
        (),
        [f"machines | {MAIL.key} | {THREE.key} | ext4, xfs"],
    ),
    "the reverse, of which one is not sure": (
        [ahead(MAIL, "ext4", "xfs"), ahead(THREE, "xfs", "ext4", within=4.0)],
        (),
        [],
    ),
    "two filters, of which neither answer is a part of the other": (
        [use(THREE, "ext4", "xfs"), use(NVME, "xfs", "ext4")],
        (),
        [],
    ),
    "to use what the narrower question does not know": ([use(MAIL, "ext4", "xfs"), use(THREE, "xfs")], (), []),
    "the same to use": ([use(MAIL, "ext4", "xfs"), use(THREE, "ext4", "xfs")], (), []),
    "one to use and another to use on NVMe": (
        [use(MAIL, "ext4", "xfs"), use(NVME, "xfs", "ext4")],
        (),
        [f"filter | {MAIL.key} | {NVME.key} | ext4, xfs"],
    ),
    "one to use and another to use by latency": (
        [use(MAIL, "ext4", "xfs"), use(LATENCY, "xfs", "ext4", metric="latency")],
        (),
        [f"metric | {MAIL.key} | {LATENCY.key} | ext4, xfs"],
    ),
    "a score is no speed": (
        [use(MAIL, "ext4", "xfs"), use(replace(MAIL, metric="score"), "xfs", "ext4", metric="score")],
        (),
        [],
    ),
    "a pair whose guest file system is to be avoided": (
        [
            use(PAIRS, "xfs-on-ext4", "ext4-on-ext4"),
            told(MAIL, entry("btrfs", 1.0), entry("ext4", 0.9), entry("xfs", 0.5, AVOID)),
        ],
        (),
        [f"pair | {PAIRS.key} | {MAIL.key} | xfs, host_fs=ext4"],
    ),
    "a pair whose guest file system is to be avoided on that host file system": (
        [
            use(PAIRS, "xfs-on-ext4", "ext4-on-ext4"),
            told(replace(MAIL, host_fs="ext4"), entry("ext4", 1.0), entry("xfs", 0.5, AVOID)),
        ],
        (),
        [f"pair | {PAIRS.key} | {MAIL.key}&host_fs=ext4 | xfs, host_fs=ext4"],
    ),
    "pairs on another host file system": (
        [
            use(PAIRS, "xfs-on-ext4", "ext4-on-ext4"),
            told(replace(MAIL, host_fs="btrfs"), entry("ext4", 1.0), entry("xfs", 0.5, AVOID)),
        ],
        (),
        [],
    ),
    "of pairs with one guest the hosts the other way round": (
        [ahead(PAIRS, "ext4-on-xfs", "ext4-on-btrfs"), ahead(HOSTS, "btrfs", "xfs")],
        (),
        [f"pair | {PAIRS.key} | {HOSTS.key} | xfs, btrfs, guest_fs=ext4"],
    ),
    "a pair to be avoided, and its guest to be used on another host": (
        [told(PAIRS, entry("ext4-on-xfs", 1.0), entry("ext4-on-btrfs", 0.5, AVOID)), use(MAIL, "ext4", "xfs")],
        (),
        [],
    ),
    "a claim that says the reverse of what leads": (
        [leads(THREE, "ext4", "xfs")],
        (CLAIM,),
        [f"claim | P1-C04 | {THREE.key} | xfs, ext4"],
    ),
    "a claim that says the reverse of what is to be used": (
        [use(THREE, "ext4", "xfs")],
        (CLAIM,),
        [f"claim | P1-C04 | {THREE.key} | xfs, ext4"],
    ),
    "a claim whose faster entry is to be avoided": (
        [told(MAIL, entry("ext4", 1.0), entry("xfs", 0.5, AVOID, within=4.0))],
        (CLAIM,),
        [f"claim | P1-C04 | {MAIL.key} | xfs, ext4"],
    ),
    "a claim of whose reverse the answer is sure": (
        [ahead(MAIL, "ext4", "xfs")],
        (CLAIM,),
        [f"claim | P1-C04 | {MAIL.key} | xfs, ext4"],
    ),
    "a claim of other machines, of another disk, and of what the answer does not know": (
        [ahead(replace(MAIL, vm_count=1), "ext4", "xfs"), ahead(NVME, "ext4", "xfs"), ahead(MAIL, "ext4", "btrfs")],
        (CLAIM,),
        [],
    ),
    "a claim of throughput beside latency": ([ahead(LATENCY, "ext4", "xfs", metric="latency")], (CLAIM,), []),
    "a list of the best with what is to be avoided, and of the worst with what is to be used": (
        [told(PAIRS, entry("a-on-b", 1.0, USE), entry("b-on-b", 0.5, AVOID), kind=USE)],
        (
            Claimed("P3-C1", "fs-pair", "varmail", (), "b-on-b", ""),
            Claimed("P3-C2", "fs-pair", "varmail", (), "", "a-on-b"),
        ),
        [f"claim | P3-C1 | {PAIRS.key} | b-on-b", f"claim | P3-C2 | {PAIRS.key} | a-on-b"],
    ),
    "stronger with less": (
        [use(MAIL, "ext4", "xfs", strength="weak"), use(THREE, "ext4", "xfs", strength="moderate")],
        (),
        [f"strength | {MAIL.key} | {THREE.key} | ext4, xfs"],
    ),
    "stronger, of other entries": (
        [use(MAIL, "ext4", "xfs", strength="weak"), use(THREE, "ext4", "btrfs", strength="moderate")],
        (),
        [],
    ),
    "weaker with less": (
        [use(MAIL, "ext4", "xfs", strength="strong"), use(THREE, "ext4", "xfs", strength="weak")],
        (),
        [],
    ),
    "to be used beside nothing known": (
        [told(MAIL, entry("ext4", 1.0, USE), entry("xfs", 0.99, USE))],
        (),
        [f"entries | {MAIL.key} | ext4, xfs"],
    ),
    "to be used in a part beside nothing known of the whole": (
        [use(MAIL, "ext4", "xfs", whole=NOT_KNOWN)],
        (),
        [f"entries | {MAIL.key} | ext4"],
    ),
    "to lead beside no difference": (
        [told(MAIL, entry("ext4", 1.0, LEADS), entry("xfs", 0.99, NO_DIFFERENCE), kind=NO_DIFFERENCE)],
        (),
        [f"entries | {MAIL.key} | ext4"],
    ),
    "to lead in a part beside nothing known of the whole": ([leads(MAIL, "ext4", "xfs", whole=NOT_KNOWN)], (), []),
    "to be avoided beside what leads": (
        [told(MAIL, entry("ext4", 1.0, LEADS), entry("xfs", 0.5, AVOID), entry("btrfs", 0.9), kind=LEADS)],
        (),
        [],
    ),
    "an imperative of one group": (
        [use(MAIL, "ext4", "xfs", groups=1)],
        (),
        [f"one group | {MAIL.key} | use ext4"],
    ),
    "to avoid by one group": (
        [told(MAIL, entry("ext4", 1.0), entry("xfs", 0.5, AVOID), groups=1)],
        (),
        [f"one group | {MAIL.key} | avoid xfs"],
    ),
    "to avoid by one group what it found far slower": (
        [told(MAIL, entry("ext4", 1.0), entry("xfs", 0.25, AVOID), groups=1)],
        (),
        [],
    ),
    "to avoid by lists alone": (
        [told(MAIL, entry("ext4"), entry("xfs", None, AVOID), groups=0)],
        (),
        [f"one group | {MAIL.key} | avoid xfs"],
    ),
}


@pytest.mark.parametrize(("answers", "claims", "expected"), TABLE.values(), ids=TABLE)
def test_a_rule_is_broken_by_contradictions_and_by_nothing_else(answers, claims, expected):
    assert names(answers, claims) == expected


def test_every_rule_is_in_the_table():
    broken = {name.split(" | ")[0] for _, _, expected in TABLE.values() for name in expected}
    assert len(broken) == len(coherence.RULES)


def test_of_two_that_are_not_the_reference_less_is_called_sure_than_is():
    part = told(
        MAIL, entry("ext4", 1.0, within=1.0), entry("xfs", 0.8, within=1.2), entry("btrfs", 0.64, within=1.2)
    ).parts[0]
    # ln 1.25 = 0.2231; ln 1.2 / 1.96 = 0.0930: 0.9918 against the reference, and with both deviations 0.8849
    assert part.sureness("ext4", "xfs") == pytest.approx(0.9918, abs=1e-4)
    assert part.sureness("xfs", "btrfs") == pytest.approx(0.8849, abs=1e-4)
    assert part.sureness("btrfs", "xfs") == pytest.approx(1 - 0.8849, abs=1e-4)
    assert part.sureness("xfs", "zfs") == 0.0


# Claims


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (
            {
                "where": {"workload": "varmail", "vm_count": 1},
                "order": [{"hypervisor": name} for name in ("kvm", "xen", "esxi")],
            },
            [("kvm", "xen"), ("kvm", "esxi"), ("xen", "esxi")],
        ),
        (
            {"where": {"workload": "varmail"}, "ratio": [{"guest_fs": "xfs"}, {"guest_fs": "ext4"}], "is": [1.1, None]},
            [("xfs", "ext4")],
        ),
        (
            {"where": {"workload": "varmail"}, "ratio": [{"guest_fs": "xfs"}, {"guest_fs": "ext4"}], "is": [0, 0.9]},
            [("ext4", "xfs")],
        ),
        (
            {"where": {"workload": "varmail"}, "ratio": [{"guest_fs": "xfs"}, {"guest_fs": "ext4"}], "is": [0.9, 1.1]},
            [],
        ),
        (
            {"where": {"workload": "varmail"}, "ratio": [{"guest_fs": "xfs"}, {"guest_fs": "ext4"}], "outside": [1, 1]},
            [],
        ),
        (
            {
                "where": {"workload": "varmail"},
                "order": [
                    {"of": "min", "over": {"hypervisor": ["kvm", "xen"]}},
                    {"of": "max", "over": {"hypervisor": ["esxi", "hyper-v"]}},
                ],
            },
            [("kvm", "esxi"), ("kvm", "hyper-v"), ("xen", "esxi"), ("xen", "hyper-v")],
        ),
        (
            {
                "where": {"workload": "varmail"},
                "order": [{"of": "max", "over": {"hypervisor": ["kvm", "xen"]}}, {"hypervisor": "esxi"}],
            },
            [],
        ),
        (
            {
                "where": {"workload": "varmail"},
                "order": [{"of": "sum", "over": {"vm_count": [1, 2]}, "hypervisor": name} for name in ("kvm", "xen")],
            },
            [("kvm", "xen")],
        ),
        ({"where": {"workload": "varmail"}, "order": [{"hypervisor": "native"}, {"hypervisor": "kvm"}]}, []),
        ({"where": {"workload": "varmail"}, "order": [{"hypervisor": "kvm"}, {"limit": "disk"}]}, []),
        (
            {
                "where": {"workload": "varmail"},
                "order": [{"guest_fs": "xfs", "vm_count": 1}, {"guest_fs": "ext4", "vm_count": 2}],
            },
            [],
        ),
        (
            {"where": {"workload": "varmail"}, "value": {"list": "best", "pair": "xfs-on-ext4"}, "is": [1, 1]},
            [("xfs-on-ext4", "")],
        ),
        (
            {"where": {"workload": "varmail"}, "value": {"list": "worst", "pair": "xfs-on-ext4"}, "is": [1, 1]},
            [("", "xfs-on-ext4")],
        ),
        ({"where": {"workload": "varmail"}, "value": {"list": "best", "pair": "xfs-on-ext4"}, "is": [0, 0]}, []),
    ],
)
def test_a_condition_says_which_entry_is_faster(condition, expected):
    assert [(claim.faster, claim.slower) for claim in claimed("P1-C04", parse(condition))] == expected


def test_what_a_condition_holds_equal_narrows_the_question():
    condition = {
        "for": {"vm_count": [1, 2]},
        "where": {"workload": "varmail", "pair": "xfs-on-ext4"},
        "order": [{"hypervisor": "kvm"}, {"hypervisor": "esxi"}],
    }
    pair = (("guest_fs", "xfs"), ("host_fs", "ext4"))
    assert [claim.at for claim in claimed("P1-C04", parse(condition))] == [
        (("vm_count", count), *pair) for count in (1, 2)
    ]


# Reasons

BROKEN = Breach("machines", ("one", "other"), ("ext4", "xfs"), "one and other: ...")
OTHER = replace(BROKEN, what=("btrfs",))


def test_a_breach_needs_a_reason_and_a_reason_a_breach():
    judged = reasons.judge([BROKEN, OTHER], {BROKEN.name: "Load changes it.", OTHER.name: " ", "metric | gone": "Why."})
    assert (judged.with_reason, judged.without_reason, judged.gone) == ((BROKEN,), (OTHER,), ("metric | gone",))


def test_reasons_are_written_with_what_they_are_of_and_read_again():
    text = reasons.written([BROKEN, OTHER], {BROKEN.name: "Load changes it.", "metric | gone": "Why."})
    assert json.loads(text) == [
        {"reason": "", "breaches": [OTHER.name]},
        {"reason": "Load changes it.", "breaches": [BROKEN.name]},
    ]
    assert reasons.read(text) == {OTHER.name: "", BROKEN.name: "Load changes it."}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", "no list of reasons"),
        ("{}", None),
        ('[{"reason": "Why."}]', "breaches"),
        ('[{"reason": "Why.", "breaches": ["a", "b"]}, {"reason": "", "breaches": ["b"]}]', "twice: b"),
    ],
)
def test_a_file_that_says_nothing_or_two_things_is_refused(text, message):
    if message is None:
        assert reasons.read(text) == {}
        return
    with pytest.raises(reasons.ReasonsError, match=message):
        reasons.read(text)


# The command


@pytest.fixture
def reversed_with_three_machines(db):
    """Publish four laboratories that find ext4 far faster with one and two machines, and XFS with three."""
    for number, jitter in enumerate((1.0, 1.03, 0.98, 1.01)):
        case_study = make_case_study(f"laboratory-{number}", laboratory=f"laboratory-{number}")
        for vm_count, ext4 in ((1, 5000.0), (2, 5000.0), (3, 25.0)):
            for guest_fs, value in (("ext4", ext4 * jitter), ("xfs", 100.0)):
                make_measurement(value, case_study=case_study, guest_fs=guest_fs, workload="varmail", vm_count=vm_count)
        publish(case_study)


def test_the_command_fails_until_each_breach_has_a_reason(reversed_with_three_machines, tmp_path, capsys):
    file = tmp_path / "reasons.json"
    call_command("check_coherence", reasons=file, write_reasons=True)
    sentence = f"{MAIL.key} and {THREE.key}: one is sure that ext4 is faster than xfs, the other of the reverse."
    assert f"no reason  {sentence}" in capsys.readouterr().out
    with pytest.raises(CommandError, match="have no reason, and 0 reasons no breach"):
        call_command("check_coherence", reasons=file)

    rows = json.loads(file.read_text())
    assert [row["reason"] for row in rows] == [""]
    file.write_text(json.dumps([{**rows[0], "reason": "The load of three machines fills the journal of ext4."}]))
    call_command("check_coherence", reasons=file)

    kept = json.loads(file.read_text())
    file.write_text(json.dumps([*kept, {"reason": "It was so.", "breaches": ["machines | what stands no more"]}]))
    with pytest.raises(CommandError, match="0 breaches have no reason, and 1 reasons no breach"):
        call_command("check_coherence", reasons=file)


# The published evidence


@pytest.mark.slow
@pytest.mark.sqlite
def test_every_breach_of_the_published_evidence_has_a_reason(published_evidence):
    load_outside(ROOT / "fixtures" / "outside")
    call_command("check_coherence")
