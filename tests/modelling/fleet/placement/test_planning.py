"""Plans worked by hand: two machines and two pools, and what forbids a move."""

import math
from dataclasses import replace

import pytest

from modelling.fleet.placement.content import Better, FleetError, Machine, Pool, Rules, ToMeasure
from modelling.fleet.placement.planning import plan
from modelling.fleet.placement.words import describe_gap, explanation, to_measure_words
from tests.modelling.fleet.placement.beliefs import known

GIB = 2.0**30
RULES = Rules(copy_rate=100 * 2.0**20, slowdown=0.5, horizon=10_000.0)
KNOWN = known({"ext4-on-ext4": 0.0, "ext4-on-xfs": math.log(2)}, tau=1e-6)
KNOWLEDGE = {("varmail", "kvm"): [KNOWN], ("webserver", "kvm"): [known({"ext4-on-ext4": 0.0, "ext4-on-xfs": -0.5})]}
POOLS = [Pool("slow", "ext4", 100 * GIB), Pool("fast", "xfs", 60 * GIB, reserve_bytes=10 * GIB)]


def machine(name: str, gib: float = 40, **fields) -> Machine:
    given = {"pool": "slow", "guest_fs": "ext4", "hypervisor": "kvm", "shares": {"varmail": 1.0}}
    return Machine(name, size_bytes=gib * GIB, **given | fields)


def decided(*machines: Machine, pools=POOLS, rules=RULES, knowledge=KNOWLEDGE):
    """The plan, and of each machine where it ends, why, and what forbids more."""
    fleet_plan = plan(machines, pools, knowledge, rules)
    told = [(advice.pool, advice.why, advice.better and advice.better.forbidden_by) for advice in fleet_plan.advice]
    return fleet_plan, told


def test_of_two_machines_the_one_that_is_cheaper_to_copy_gets_the_room():
    """Twice as fast is a gain of 1/2; 30 GiB take 307.2 s at 100 MiB/s, of which half is lost: 0.01536 of 10,000 s."""
    fleet_plan, told = decided(machine("big", 40), machine("small", 30))
    assert told == [("slow", "constrained", "space"), ("fast", "moves", None)]
    big, small = fleet_plan.advice
    assert small.gain == fleet_plan.gain == pytest.approx(0.5 - 0.01536, abs=1e-5)
    assert (small.copy_bytes, small.copy_seconds) == (30 * GIB, pytest.approx(307.2))
    assert (small.prospect.ratio, small.prospect.gaining, small.prospect.losing) == pytest.approx((2.0, 1.0, 0.0))
    assert big.better == Better("fast", pytest.approx(0.5 - 0.02048, abs=1e-5), "space")
    assert big.gain is None
    assert [advice for advice in fleet_plan.advice if advice.is_move] == [small]
    assert (fleet_plan.method, fleet_plan.gap) == ("exact", pytest.approx(0.0, abs=1e-9))


@pytest.mark.parametrize(
    ("fields", "pools", "rules", "told"),
    [
        ({"is_pinned": True}, POOLS, RULES, ("slow", "pinned", "pinned")),
        ({"excluded": ("fast",)}, POOLS, RULES, ("slow", "constrained", "excluded")),
        ({"load": 9.0}, [POOLS[0], replace(POOLS[1], most_load=8.0)], RULES, ("slow", "constrained", "load")),
        ({"load": 8.0}, [POOLS[0], replace(POOLS[1], most_load=8.0)], RULES, ("fast", "moves", None)),
        ({}, [POOLS[0], replace(POOLS[1], site="elsewhere")], RULES, ("slow", "no choice", None)),
        ({}, [POOLS[0], replace(POOLS[1], host_fs="ext4")], RULES, ("slow", "no choice", None)),
        ({}, POOLS, replace(RULES, horizon=400.0), ("slow", "no gain", None)),  # half of 409.6 s is more than half
        ({}, POOLS, replace(RULES, least_strength="strong"), ("slow", "not sure", None)),
        ({}, POOLS, replace(RULES, horizon=400.0, least_strength="strong"), ("slow", "no gain", None)),  # sure or not
        ({"shares": {"webserver": 1.0}}, POOLS, RULES, ("slow", "no gain", None)),
        ({"shares": {"fileserver": 1.0}}, POOLS, RULES, ("slow", "not known", None)),
        ({"shares": {"varmail": 1.0, "fileserver": 1.0}}, POOLS, RULES, ("slow", "not known", None)),
        ({"hypervisor": "xen"}, POOLS, RULES, ("slow", "not known", None)),
    ],
)
def test_a_machine_stays_for_a_reason_that_is_named(fields, pools, rules, told):
    assert decided(machine("one", **fields), pools=pools, rules=rules)[1] == [told]


def test_runs_on_the_pools_count_before_what_is_published_and_for_their_load_alone():
    """Published is twice as fast on XFS; measured here is 1.5 times as fast on the slow pool, in six runs."""
    own = replace(known({"ext4-on-slow": 0.0, "ext4-on-fast": -math.log(1.5)}), strength="strong", runs=6)
    knowledge = {**KNOWLEDGE, ("varmail", "kvm"): [own, KNOWN]}
    (mail,) = decided(machine("one"), knowledge=knowledge)[0].advice
    assert (mail.why, mail.prospect.ratio) == ("no gain", pytest.approx(1 / 1.5))
    assert explanation(mail)[1].startswith("Measured here, six runs: it is expected to see 0.67")
    shares = {"varmail": 3.0, "webserver": 1.0}
    (both,) = decided(machine("one", shares=shares), knowledge=knowledge)[0].advice
    assert (both.prospect.runs, both.prospect.measured, both.prospect.strength) == (6, 0.75, "moderate")
    assert "Measured here, six runs under 75 % of its load" in explanation(both)[1]
    assert explanation(both)[1].endswith("of the rest the evidence is moderate (two laboratories).")
    assert decided(machine("xen", hypervisor="xen"), knowledge=knowledge)[1] == [("slow", "not known", None)]


def test_two_pools_of_one_file_system_are_told_apart_by_runs_on_both():
    alike = [POOLS[0], replace(POOLS[1], host_fs="ext4")]
    own = replace(known({"ext4-on-slow": 0.0, "ext4-on-fast": 0.7}), strength="strong", runs=6)
    knowledge = {("varmail", "kvm"): [own, KNOWN]}
    assert decided(machine("one"), pools=alike, knowledge=knowledge)[1] == [("fast", "moves", None)]
    others = {"guest_fs": "xfs"}, {"shares": {"webserver": 1.0}}
    for fields in others:
        assert decided(machine("one", **fields), pools=alike, knowledge=knowledge)[1] == [("slow", "no choice", None)]


def test_machines_that_are_kept_apart_do_not_meet_and_those_kept_together_go_together():
    two = [machine("a", 20), machine("b", 24)]
    assert [where for where, *_ in decided(*two)[1]] == ["fast", "fast"]
    apart = [replace(member, apart="database") for member in two]
    assert decided(*apart)[1] == [("fast", "moves", None), ("slow", "constrained", "apart")]
    together = [replace(member, together="shop") for member in two]
    assert [where for where, *_ in decided(*together)[1]] == ["fast", "fast"]
    split = [together[0], replace(together[1], size_bytes=40 * GIB)]
    assert [told[0] for told in decided(*split)[1]] == ["slow", "slow"]
    held = [together[0], replace(together[1], is_pinned=True)]
    assert decided(*held)[1] == [("slow", "constrained", "together"), ("slow", "pinned", "pinned")]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"is_pinned": True}, ("slow", "pinned", "pinned")),
        ({"excluded": ("fast",)}, ("slow", "constrained", "excluded")),
    ],
)
def test_a_constraint_on_one_machine_also_holds_the_machines_placed_together_with_it(fields, told):
    held = [machine("a", 20, together="shop"), machine("b", 40, together="shop", **fields)]
    assert decided(*held)[1] == [("slow", "constrained", "together"), told]


def test_machines_that_are_to_lie_together_and_do_not_yet_stay_where_they_are():
    pools = [*POOLS, replace(POOLS[0], name="slower")]
    parted = [machine("a", 20, together="shop"), machine("b", 20, pool="slower", together="shop")]
    assert decided(*parted, pools=pools)[1] == [
        ("slow", "constrained", "together"),
        ("slower", "constrained", "together"),
    ]


def test_an_overloaded_pool_may_be_left_and_is_not_filled_again():
    loads = [replace(machine("stays", shares={"webserver": 1.0}), load=9.0), replace(machine("goes"), load=2.0)]
    pools = [replace(POOLS[0], most_load=5.0), POOLS[1]]
    assert [told[0] for told in decided(*loads, pools=pools)[1]] == ["slow", "fast"]


def test_lists_alone_move_nothing_and_say_what_to_measure():
    listed = {("varmail", "kvm"): [known({"ext4-on-ext4": 0.0, "ext4-on-xfs": 1.0}, numbers=False)]}
    fleet_plan, told = decided(machine("a"), machine("b"), knowledge=listed)
    assert told == [("slow", "not known", None)] * 2
    assert fleet_plan.to_measure == (ToMeasure("varmail", "kvm", ("ext4-on-ext4", "ext4-on-xfs"), 2),)
    names = {"workload": {"varmail": "Mail server"}, "hypervisor": {"kvm": "KVM"}, "file_system": {"xfs": "XFS"}}
    assert to_measure_words(fleet_plan.to_measure[0], names) == (
        "ext4 on ext4 against ext4 on XFS for a mail server under KVM: two machines wait for it."
    )


def test_every_machine_is_explained_in_sentences():
    fleet_plan = plan([machine("big", 40), machine("small", 30)], POOLS, KNOWLEDGE, RULES)
    stays, moves = (explanation(advice) for advice in fleet_plan.advice)
    assert moves[0] == "Move from slow to fast."
    assert "2.0 times the throughput" in moves[1]
    assert moves[2].startswith("30 GiB are copied in five minutes; net of that 48.5 %")
    (tiny,) = plan([machine("tiny", 0.1)], POOLS, KNOWLEDGE, RULES).advice
    assert "are copied in one minute;" in explanation(tiny)[2]
    assert stays[-1] == "fast promises 48.0 %, but its space, less the reserve and what moves there, is too small."
    assert describe_gap(fleet_plan) == "No other plan under the constraints gains more."


def test_machines_that_are_to_lie_together_and_apart_are_refused():
    with pytest.raises(FleetError, match="machines of 'shop' are to lie together, and as 'disk' apart"):
        plan([machine(name, together="shop", apart="disk") for name in "ab"], POOLS, KNOWLEDGE, RULES)
