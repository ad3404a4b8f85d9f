"""An entry measured only with options that can lose acknowledged writes is never recommended."""

import numpy as np

from modelling.answers import decision
from modelling.estimation.arms import Spread
from modelling.estimation.ranking import Assumptions, rank
from modelling.estimation.verdict import recommendable
from modelling.evidence.axes import AXES, SET_BY_HYPERVISOR
from tests.modelling.frames import arm, arms, finding, findings, having
from tests.modelling.scales import ALIKE

UNSAFE = {"cache_mode": "unsafe"}


def ranked(*rows, stated=(), axis="hypervisor"):
    """Rank entries of three laboratories that agree, each row a hypervisor's value with further fields."""
    taken = Assumptions(Spread(0.02, 1e9, 1e9), 0.087, tier_doubt=0.5, scales=ALIKE)
    frame = arms(*(arm(case_study=study, **row) for study in ("one", "two", "three") for row in rows))
    return rank(frame, findings(*stated), AXES[axis], taken).parts[0]


def said(part):
    return decision.decide_part(part, str.upper, 0.1)


def test_the_fastest_is_not_used_where_it_was_measured_only_with_an_unsafe_cache():
    part = ranked({"value": 300, "hypervisor": "xen", **UNSAFE}, {"value": 200}, {"value": 100, "hypervisor": "esxi"})
    assert [(entry.key, entry.verdict) for entry in part.entries] == [
        ("xen", "unknown"),
        ("kvm", "use"),
        ("esxi", "avoid"),
    ]
    first, winner, _ = part.entries
    assert (first.unsafe_options, first.always_unsafe, first.expected_loss) == (("cache mode unsafe",), True, None)
    # Against what one may use: KVM loses nothing to Xen's 300, and ratios are against it.
    assert (part.reference, winner.expected_loss < 1) == ("kvm", True)
    # What Xen was ahead may as well be its cache's: at most half of it counts as its own.
    assert winner.ratio == 1.0 < first.ratio < np.sqrt(1.5)
    decided = said(part)
    assert decided.sentence == "Use KVM. Avoid ESXI."
    assert [decision.recommended_of(decided, entry) for entry in part.entries] == ["", "use", "avoid"]
    assert decided.confidence.startswith("Moderate confidence: three research groups measured it; chance that it is")
    assert "XEN comes before, but was measured only with cache mode unsafe, which can lose" in decided.measured


def test_a_winner_measured_with_and_without_says_so_and_is_a_step_less_sure():
    alike = dict.fromkeys(SET_BY_HYPERVISOR, "the same")
    safe = {"value": 200, **alike}, {"value": 100, "hypervisor": "esxi", **alike}
    plain = ranked(*safe)
    mixed = ranked(*safe, {"value": 220, "configuration_id": 7, "host_mount_options": "noatime,nobarrier", **alike})
    assert (plain.verdict.strength, mixed.verdict.strength) == ("strong", "moderate")
    assert dict(mixed.verdict.reasons)["durability"].startswith("Some numbers of the first rest on options")
    assert (having(mixed, "use"), mixed.entries[0].always_unsafe) == (("kvm",), False)
    assert "Some numbers of KVM were measured with host mount option nobarrier" in said(mixed).measured


def test_nothing_is_recommended_where_everything_was_measured_without_flushes():
    part = ranked({"value": 300, "hypervisor": "xen", **UNSAFE}, {"value": 200, **UNSAFE})
    assert (having(part, "use"), having(part, "avoid"), part.verdict.kind) == ((), (), "not known")
    decided = said(part)
    assert decided.sentence == (
        "Keep what you have: none of these was measured with options that keep acknowledged writes."
    )
    assert "KVM was measured only with cache mode unsafe, which can lose acknowledged writes" in decided.measured


def test_one_that_was_compared_with_unsafe_ones_alone_is_not_recommended_either():
    part = ranked({"value": 300, "hypervisor": "xen", **UNSAFE}, {"value": 200})
    assert having(part, "use") == ()
    assert said(part).sentence == "Start with KVM."  # it is what one may use
    assert recommendable([True, False]) == [False, False]
    assert recommendable([True, False, False]) == [False, True, True]


def test_tier_lists_on_unsafe_configurations_recommend_nothing():
    lists = [
        finding("ext4", "ext4", "best", losing=(("cache mode unsafe",),)),
        finding("xfs", "ext4", "unlisted", losing=((), ("cache mode unsafe",))),
        finding("btrfs", "ext4", "worst"),
    ]
    part = rank(arms(), findings(*lists), AXES["fs-pair"], Assumptions(Spread(0.05), 0.087, tier_doubt=0.5)).parts[0]
    assert [(entry.key, entry.verdict) for entry in part.entries] == [
        ("ext4-on-ext4", "unknown"),
        ("xfs-on-ext4", "unknown"),
        ("btrfs-on-ext4", "unknown"),
    ]
    assert "durability" in dict(part.verdict.reasons)
