"""Verdicts after a publication or retraction: only what it can have changed is judged anew, all is as if it were."""

import random
from functools import cache

import pytest

from experiments.case_studies import life
from experiments.claim_conditions import parse, parse_checks
from experiments.models import CaseStudy, Claim, DerivedValue, Hypervisor
from modelling.claims import gather, verdicts
from modelling.claims.evaluation import compare
from modelling.claims.facts import PublishedFacts
from modelling.claims.needs import needs_of
from modelling.models import ClaimVerdict, HypothesisScore
from tests.factories import (
    make_case_study,
    make_claim,
    make_derived_value,
    make_finding,
    make_measurement,
    make_printed_ratio,
    make_publication,
    make_storage,
    publish,
)

pytestmark = pytest.mark.django_db

KVM, XEN, NATIVE = ({"hypervisor": slug} for slug in ("kvm", "xen", "native"))
LEVELS = [{"list": "level", "guest_fs": "xfs"}, {"list": "level", "guest_fs": "ext4"}]
CONDITIONS = {
    "one workload": {"where": {"workload": "varmail"}, "order": [KVM, XEN]},
    "any workload": {"order": [KVM, XEN]},
    "a loop": {"for": {"workload": ["varmail", "fileserver"]}, "ratio": [KVM, XEN], "is": [0.5, 2]},
    "native": {"where": {"vm_count": 2}, "order": [NATIVE, KVM]},
    "last count": {
        "where": {"workload": "fileserver"},
        "ratio": [{"vm_count": "last"}, {"vm_count": 1}],
        "is": [0, 0.9],
    },
    "disk": {"where": {"workload": "fileserver"}, "order": [{}, {"limit": "disk"}]},
    "disk alone": {"value": {"limit": "disk"}, "is": [0, 500]},
    "block size": {"order": [{"block_size": 4096}, {"block_size": 8192}]},
    "operation": {"where": {"operation": "read"}, "order": [KVM, XEN]},
    "guest file systems": {"where": {"workload": "webserver"}, "order": [{"guest_fs": "xfs"}, {"guest_fs": "ext4"}]},
    "lists": {"where": {"workload": "webserver"}, "order": LEVELS},
    "points": {"value": {"list": "score", "fs": "xfs", "side": "guest", "workload": "varmail"}, "is": [1, None]},
    "share": {"share": {"for": {"workload": ["varmail", "webserver"]}, "order": [KVM, XEN]}, "above": 0.5},
    "premise": {"if": {"where": {"workload": "webserver"}, "order": LEVELS}, "then": {"order": [KVM, XEN]}},
    "rank": {
        "where": {"workload": "varmail"},
        "value": {"rank": KVM, "among": {"hypervisor": ["xen", "esxi"]}},
        "is": [1, 1],
    },
    "ratios": {"order": [{"ratio": [KVM, XEN], "workload": load} for load in ("varmail", "fileserver")]},
    "sides": {"ratio": [{"ratio": [KVM, XEN], "case_study": slug} for slug in ("s1", "s2")], "is": [0.8, 1.25]},
    "best": {
        "ratio": [{"of": "max", "over": {"hypervisor": ["kvm", "xen"]}}, {"hypervisor": "esxi"}],
        "is": [1.1, None],
    },
    "kinds": {"order": [{"hypervisor_kind": "type-1"}, {"hypervisor_kind": "type-2"}]},
}


def draft(number: int, rng: random.Random) -> CaseStudy:
    """Return a case study that knows something of the conditions' subjects."""
    limits = {"sequential_read_limit": rng.choice([None, 100, 600])}
    study = make_case_study(f"s{number}", publication=make_publication(f"p{number}"), storage=make_storage(**limits))
    workloads = rng.sample(["varmail", "fileserver", "webserver", "other"], 2)
    for workload in workloads:
        for hypervisor in rng.sample(["kvm", "xen", "esxi", None], 3):
            for vm_count in rng.choice([[1], [1, 2], [2, 3]]):
                host = (
                    {"host_fs": None, "guest_fs": "ext4"}
                    if hypervisor is None
                    else {"guest_fs": rng.choice(["ext4", "xfs"])}
                )
                size = {"block_size_bytes": rng.choice([4096, 8192, None]), "operation": rng.choice(["mixed", "read"])}
                place = {"case_study": study, "hypervisor": hypervisor, "workload": workload, "vm_count": vm_count}
                make_measurement(rng.uniform(50, 200), **place, **host, **size)
    if rng.random() < 0.5:
        for tier, guest in (("best", "xfs"), ("worst", "ext4")):
            lists = {"workload": rng.choice(["webserver", "varmail"]), "publication": study.publication}
            make_finding(tier, guest_fs=guest, case_studies=[study], **lists)
    if rng.random() < 0.5:
        make_printed_ratio(rng.uniform(0.5, 2), case_study=study, workload=workloads[0])
    if rng.random() < 0.5:
        bound = {"quantity": DerivedValue.Quantity.BOUND, "is_evidence": False, "low": 150.0, "high": None}
        make_derived_value(None, case_study=study, workload=workloads[1], hypervisor="xen", vm_count=3, **bound)
    return study


def kept() -> list[list[dict]]:
    """Return all that is kept, except the keys of the rows."""
    return [
        [{name: value for name, value in row.items() if name != "id"} for row in model.objects.order_by(*by).values()]
        for model, by in ((ClaimVerdict, ("claim", "scope")), (HypothesisScore, ("code", "source")))
    ]


def from_scratch() -> list[list[dict]]:
    ClaimVerdict.objects.all().delete()
    HypothesisScore.objects.all().delete()
    verdicts.recompute(everything=True)
    return kept()


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in (1, 2))])
def test_in_whichever_order_studies_come_and_go_verdicts_are_those_of_judging_everything(seed):
    rng = random.Random(seed)
    Hypervisor.objects.create(slug="esxi", name="ESXi", kind="type-2")
    drafts = [draft(number, rng) for number in range(6)]
    for number, (name, condition) in enumerate(CONDITIONS.items()):
        paper = drafts[number % 2]
        checks = {"own": condition, "others": condition} | ({"in": ["s1", "s2"]} if number % 5 == 0 else {})
        make_claim(code=name, publication=paper.publication, checks=checks).case_studies.add(paper)
    assert all(parse(condition) for condition in CONDITIONS.values())
    for study in drafts[:2]:
        publish(study)
    verdicts.recompute()
    waiting, there, states = drafts[2:], drafts[:2], set()
    rng.shuffle(waiting)
    for _ in range(7):
        for _ in range(rng.choice([1, 1, 2])):  # two in one round
            if waiting and (len(there) < 2 or rng.random() < 0.6):
                publish(waiting[-1])
                there.append(waiting.pop())
            elif there:
                life.retract(there.pop(rng.randrange(len(there))), reason="wrong disk")
        verdicts.recompute()
        renewed = kept()
        states |= {row["verdict"] for row in renewed[0]}
        assert renewed == from_scratch()
    assert len(states) > 2


def test_what_the_papers_claim_is_renewed_as_if_all_were_judged(published_evidence):
    study = make_case_study("new", publication=make_publication("new"))
    for hypervisor, value in (("kvm", 20.0), ("proxmox", 10.0), ("hyper-v", 15.0)):
        make_measurement(value, case_study=study, hypervisor=hypervisor, workload="varmail")
    publish(study)
    life.retract(CaseStudy.objects.get(slug="p4"), reason="wrong disk")
    verdicts.recompute()
    assert kept() == from_scratch()


def test_a_condition_meets_no_fact_that_its_needs_leave_out(published_evidence):
    """The papers' conditions compare the same whether they are put to all facts or only to those they need."""
    facts = gather.read_facts()
    asked = [
        (row.code, checks.others)
        for row in Claim.objects.all()
        if (checks := parse_checks(row.checks)) and verdicts.is_condition(checks.others)
    ]
    assert len(asked) > 200
    read = cache(lambda needs: needs.of(gather.read_facts(needs=needs)))
    for code, condition in asked:
        assert [(c.state, c.text, c.evidence) for c in compare(condition, facts, is_open=True)] == [
            (c.state, c.text, c.evidence) for c in compare(condition, read(needs_of(condition)), is_open=True)
        ], code


@pytest.fixture
def judged(monkeypatch) -> list[PublishedFacts]:
    """Return the facts of each verdict worked out."""
    seen, evaluate = [], verdicts.evaluate

    def spied(condition, facts, **options):
        seen.append(facts)
        return evaluate(condition, facts, **options)

    monkeypatch.setattr(verdicts, "evaluate", spied)
    return seen


def paper(**checks) -> CaseStudy:
    study = make_case_study("paper", publication=make_publication("paper"))
    for hypervisor, value in (("kvm", 20.0), ("xen", 10.0)):
        make_measurement(value, case_study=study, hypervisor=hypervisor, workload="varmail")
    make_claim(code="X-C01", publication=study.publication, checks=checks).case_studies.add(study)
    publish(study)
    return study


def other(workload: str, slug: str = "other") -> CaseStudy:
    study = make_case_study(slug)
    for hypervisor in ("kvm", "xen"):
        make_measurement(case_study=study, hypervisor=hypervisor, workload=workload)
    publish(study)
    return study


def test_a_study_of_something_else_judges_nothing_and_verdicts_name_the_new_revision(judged):
    paper(own=CONDITIONS["one workload"])
    judged.clear()
    other("fileserver")
    assert verdicts.recompute() >= 0
    assert judged == []
    assert set(ClaimVerdict.objects.values_list("revision", flat=True)) == {2}
    assert set(HypothesisScore.objects.values_list("revision", flat=True)) == {2}


def test_a_study_of_the_same_judges_the_claim_by_what_it_needs_of_everybody_else(judged):
    paper(own=CONDITIONS["one workload"])
    other("fileserver", "elsewhere")
    verdicts.recompute()
    judged.clear()
    other("varmail")
    verdicts.recompute()
    (facts,) = judged
    assert {number.at["case_study"] for number in facts.numbers} == {"other"}


@pytest.mark.parametrize("change", ["checks", "rules"])
def test_another_question_or_other_rules_judge_again_without_a_publication(judged, monkeypatch, change):
    paper(own=CONDITIONS["one workload"])
    judged.clear()
    if change == "checks":
        Claim.objects.update(checks={"own": {"order": [XEN, KVM]}})
    else:
        monkeypatch.setattr(verdicts, "__version__", "of tomorrow")
    assert verdicts.recompute() == (1 if change == "checks" else 0)
    assert len(judged) == 2
    assert verdicts.recompute() == 0
    assert len(judged) == 2
