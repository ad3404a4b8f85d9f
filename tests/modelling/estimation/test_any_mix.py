"""Any mix of entries, laboratories, spreads and tier lists is ranked: no number that is none comes out of it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelling.estimation.arms import Spread
from modelling.estimation.bayes import Posterior
from modelling.estimation.hierarchy import CHOICES, KINDS, NAMES, Knowledge, published_scales
from modelling.estimation.network import Fit, NotEstimated
from modelling.estimation.ranking import Assumptions, rank
from modelling.estimation.value import Components, run_sets
from modelling.evidence.axes import AXES
from tests.modelling.frames import arm, arms, finding, findings
from tests.modelling.scales import asked, cells

ASSUMED = Assumptions(Spread(0.05, 4.0, 4.0, 30.0), tier_scale=0.25, tier_doubt=0.5)
# Each axis, and by which column its entries differ here.
COLUMNS = {
    "guest-fs": ("guest_fs", ["ext4", "xfs", "btrfs", "zfs"]),
    "fs-pair": ("guest_fs", ["ext4", "xfs", "btrfs", "zfs"]),
    "hypervisor": ("hypervisor", ["kvm", "xen", "esxi", "proxmox"]),
    **{
        name: (axis.setting.column, ["one", "two", "three", "four"])
        for name, axis in AXES.items()
        if axis.setting is not None
    },
}
NUMBERS = st.builds(
    dict,
    value=st.floats(1e-6, 1e12),
    variance=st.sampled_from([None, 0.0, 1e-12, 0.01, 4.0]),
    laboratory=st.sampled_from(["here", "there", "elsewhere"]),
    storage=st.sampled_from(["hdd", "nvme", ""]),
    origin=st.sampled_from(["measured", "derived"]),
    runs=st.sampled_from([None, 1, 30]),
    place=st.integers(0, 3),
)
LISTED = st.tuples(
    st.integers(0, 3), st.sampled_from(["best", "unlisted", "worst"]), st.booleans(), st.sampled_from(["a", "b"])
)


@given(
    axis=st.sampled_from(sorted(COLUMNS)),
    numbers=st.lists(NUMBERS, max_size=12),
    listed=st.lists(LISTED, max_size=6, unique_by=lambda line: (line[0], line[3])),
)
def test_whatever_was_measured_and_listed_has_a_ranking_of_numbers(axis, numbers, listed):
    column, entries = COLUMNS[axis]
    unique = {(told["laboratory"], told["storage"], told["place"]): told for told in numbers}
    rows = []
    for (laboratory, storage, place), told in unique.items():
        fields = {name: told[name] for name in ("variance", "origin", "runs")} | {"configuration_id": len(rows)}
        study = {"case_study": f"{laboratory} {storage}", "laboratory": laboratory, "research_group": laboratory}
        rows.append(arm(told["value"], storage=storage, **{column: entries[place]}, **study, **fields))
    guests = COLUMNS["guest-fs"][1]
    lines = [finding(guests[place], "ext4", tier, marked, publication=by) for place, tier, marked, by in listed]
    ranking = rank(arms(*rows), findings(*lines), AXES[axis], ASSUMED)
    if ranking.posterior is None:
        return
    for part in ranking.parts:
        assert np.isfinite([entry.p_score for entry in part.entries]).all()
        told = [(entry.low, entry.ratio, entry.high) for entry in part.entries if entry.ratio is not None]
        assert np.isfinite(np.array(told, dtype=float)).all()
    keys = list(ranking.posterior.treatments)
    if len(keys) > 1:
        sets = run_sets(keys, Components.from_posterior(ranking.posterior), 0.0025, 2, None)
        assert np.isfinite([runs.gain for runs in sets]).all()


@pytest.mark.parametrize("choice", CHOICES)
def test_a_choice_of_which_draws_have_no_effect_at_all_is_estimated(choice):
    """1 / 0 would make every weight no number."""
    scales = published_scales()
    nothing = scales.variances.copy()
    nothing[:, NAMES.index(f"shared {choice if choice in KINDS else 'setting'}")] = 0.0
    frame = cells(*((name, "", lead) for name in ("a", "b") for lead in (0.0, 0.5))).assign(
        **{choice: ["one", "two"] * 2}
    )
    rows = asked("one", "two").assign(**{"guest_fs": "", choice: ["one", "two"]})
    fitted = Knowledge(frame, replace(scales, variances=nothing)).posterior(rows)
    assert np.isfinite(fitted.effects).all()
    assert fitted.effects[1] == pytest.approx(fitted.effects[0], abs=1e-6)  # what has no effect has none


def test_no_number_that_is_none_leaves_a_fit():
    one, two = np.ones(1), np.ones((1, 2))
    with pytest.raises(NotEstimated, match="no number"):
        Posterior(("a", "b"), one * np.nan, two, np.ones((1, 2, 2)), np.ones((1, 2, 2)))
    with pytest.raises(NotEstimated, match="no number"):
        Fit(np.array([0.0, np.inf]), np.eye(2))
