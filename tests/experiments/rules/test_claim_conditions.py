"""The language of claim conditions: what is refused, where, and how much a check may be."""

from collections.abc import Mapping

import pytest
from django.core.exceptions import ValidationError

from experiments.models import Claim
from experiments.rules import claim_conditions
from experiments.rules.claim_conditions import All, CheckError, Order, Throughput, Untestable, parse, parse_checks
from tests.factories import make_publication

SIXTY = list(range(60))
KVM, XEN = {"hypervisor": "kvm"}, {"hypervisor": "xen"}
ORDER = {"order": [KVM, XEN]}


def refusal(check: object) -> str:
    with pytest.raises(CheckError) as error:
        parse_checks(check)
    return str(error.value)


def test_loops_are_written_out():
    condition = parse({"for": {"vm_count": [1, 2], "x": ["kvm"]}, "order": [{"hypervisor": "$x"}, XEN]})
    quantities = Throughput(KVM), Throughput(XEN)
    assert condition == All((Order(quantities, {"vm_count": 1}), Order(quantities, {"vm_count": 2})))


def test_a_check_has_two_sides():
    both = parse_checks({"own": ORDER})
    assert both.own == both.others == parse(ORDER)
    assert parse_checks({"own": ORDER, "others": None}).others == Untestable("The claim speaks of its own paper alone.")
    assert parse_checks({"own": {"untestable": "It names a cause."}}).own == Untestable("It names a cause.")
    assert parse_checks({"own": ORDER, "in": ["p1"]}).case_studies == {"p1"}
    assert isinstance(parse_checks({}).own, Untestable)


REFUSED = [
    ([], "checks: a list of 0 is no object"),
    ({"own": ORDER, "whose": 1}, 'checks: "whose" has no meaning here; allowed are own, others, in'),
    ({"others": ORDER}, 'checks: "own", the condition for its own paper, is missing'),
    ({"own": ORDER, "in": [[1]]}, "in: a list of 1 is no list of case studies"),
    ({"own": None}, "own: None is no object"),
    ({"own": {}}, "own: a condition has one of order, ratio, value, all, share, if, and this has none"),
    ({"own": {"all": [ORDER, {**ORDER, "if": ORDER}]}}, "own.all[1]: a condition has one of"),
    ({"own": {"all": []}}, "own.all: a list of 0 is no list with something in it"),
    ({"own": {"all": [{"untestable": "x"}]}}, "own.all[0]: untestable is the whole of a check, never a part"),
    ({"own": {"untestable": ""}}, "own.untestable: the reason is missing"),
    ({"own": {**ORDER, "is": [1, 2]}}, 'own: "is" has no meaning here; allowed are order, where'),
    ({"own": {"order": [KVM]}}, "own.order: at least 2 quantities belong here, not 1"),
    ({"own": {"ratio": [KVM, XEN, KVM], "is": [1, 2]}}, "own.ratio: exactly 2 quantities belong here, not 3"),
    ({"own": {"ratio": [KVM, XEN]}}, 'own: "ratio" and "value" need "is" or "outside"'),
    ({"own": {"value": KVM, "is": [2, 1]}}, "own.is: the lower limit is above the upper one"),
    ({"own": {"value": KVM, "is": [1, 10**400]}}, "is no number"),
    ({"own": {"value": KVM, "is": [1, True]}}, "own.is: True is no number"),
    ({"own": {"value": KVM, "is": [float("nan"), None]}}, "own.is: nan is no number"),
    ({"own": {"share": ORDER, "above": 1}}, "own.above: a share is from 0 to below 1"),
    ({"own": {"if": ORDER}}, 'own: "then" is missing'),
    ({"own": {"order": [{"hypervizor": "kvm"}, XEN]}}, 'own.order[0]: "hypervizor" is no coordinate; known are'),
    ({"own": {"order": [{"hypervisor": ["kvm"]}, XEN]}}, "own.order[0].hypervisor: a list of 1 is not a name"),
    ({"own": {"order": [{"hypervisor": 5}, XEN]}}, "own.order[0].hypervisor: 5 is not a name"),
    ({"own": {"order": [{"hypervisor": "$x"}, XEN]}}, 'own.order[0].hypervisor: no loop around it has the name "x"'),
    ({"own": {**ORDER, "where": {"vm_count": "two"}}}, 'own.where.vm_count: "two" is not a whole number or * or last'),
    ({"own": {**ORDER, "where": {"source": "chart"}}}, 'own.where.source: "chart" is not text or table'),
    ({"own": {**ORDER, "for": {}}}, "own.for: it has no values"),
    ({"own": {**ORDER, "for": {"a,b": [["kvm"]]}}}, "own.for.a,b: a list of 1 is no list of 2 values"),
    ({"own": {**ORDER, "for": {"a": [{"b": 1}]}}}, "own.for.a: an object of 1 is neither a value nor a list of values"),
    ({"own": {**ORDER, "for": {"vm_count": ["many"]}}}, 'own.for.vm_count: "many" is not a whole number'),
    (
        {"own": {"for": {"a": [1]}, "all": [{**ORDER, "for": {"a": [2]}}]}},
        'own: a loop in this one has the name "a", too',
    ),
    ({"own": {"order": [{"of": "mode", "over": {"vm_count": [1]}}, KVM]}}, 'own.order[0].of: "mode" is not known'),
    ({"own": {"order": [{"of": "sum", "over": {"x": [1]}}, KVM]}}, 'own.order[0].over: "x" is no coordinate'),
    ({"own": {"order": [{"of": "second", "over": {"vm_count": [1]}}, KVM]}}, "own.order[0].over: the second of one"),
    ({"own": {"order": [{"rank": KVM, "among": {"hypervisor": ["kvm"]}}, KVM]}}, "own.order[0].among: it has no rival"),
    ({"own": {"order": [{"limit": "bus"}, KVM]}}, 'own.order[0].limit: "bus" is not known here; known are disk, inter'),
    ({"own": {"order": [{"list": "middling"}, KVM]}}, 'own.order[0].list: "middling" is not known here'),
]


@pytest.mark.parametrize(("check", "said"), REFUSED, ids=[words for _, words in REFUSED])
def test_what_is_no_check_is_refused_with_its_place(check, said):
    assert said in refusal(check)


# How much a check may be: a condition, two quantities, a coordinate each, a pair to compare and a value of the loop.


def loop(times: int) -> Mapping[str, object]:
    return {"own": {**ORDER, "for": {"x": list(range(times))}}}


def test_the_parts_of_a_check_are_bounded_with_its_loops_written_out(monkeypatch):
    monkeypatch.setattr(claim_conditions, "MAX_PARTS", 701)
    for times in (99, 100):  # 1 + 7 * 100
        assert len(parse_checks(loop(times)).own.parts) == times
    assert refusal(loop(101)).endswith("it has more than 701 parts, the most allowed")


@pytest.mark.parametrize(
    "check",
    [
        {"for": dict.fromkeys("abc", SIXTY), **ORDER},
        {
            "for": {"a": list(range(60))},
            "all": [{"for": {"b": list(range(60))}, "share": {"for": {"c": [1]}, **ORDER}}],
        },
        {"order": [KVM] * 150},
        {"order": [{"of": "sum", "over": {"vm_count": list(range(200)), "block_size": list(range(200))}}, KVM]},
        {"order": [{"rank": KVM, "among": {"hypervisor": ["xen"] * 101, "guest_fs": ["xfs"] * 101}}, KVM]},
        {"for": {"a": [[1] * 200]}, "all": [{"order": [{"of": "max", "over": {"vm_count": "$a"}}, KVM]}] * 100},
    ],
)
def test_no_product_of_loops_gets_by(check):
    assert "it has more than 10,000 parts, the most allowed" in refusal({"own": check})


def nested(levels: int) -> Mapping[str, object]:
    condition = ORDER
    for _ in range(levels):
        condition = {"all": [condition]}
    return {"own": condition}


def test_the_nesting_of_a_check_is_bounded():
    # a level of "all" is two deep (the list, its part), the checks and an order's quantity are four
    assert parse_checks(nested(8))
    assert claim_conditions.is_shallow(nested(8))
    for levels in (9, 400):
        assert refusal(nested(levels)) == "checks: it is nested more than 20 deep, the most allowed"
        assert not claim_conditions.is_shallow(nested(levels))


@pytest.mark.django_db
def test_a_claim_is_not_clean_with_such_a_check():
    claim = Claim(code="X-1", publication=make_publication(), location="1", kind="ratio", scope="all")
    claim.statement = claim.predicate = claim.checkable_from = "x"
    claim.full_clean()
    claim.checks = loop(60**2)
    with pytest.raises(ValidationError, match=r"claim X-1, checks: own.* more than 10,000 parts"):
        claim.full_clean()
