"""Arms become contrasts only where everything but the asked-for axis is equal."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from modelling.estimation.arms import Spread, _connected_averages, comparable_arms, spread_of_entries, trials
from modelling.evidence.axes import AXES
from tests.modelling.frames import arm, arms


# A spread of runs that is known beyond doubt: what an arm has is then worked by hand.
def known(variation: float) -> Spread:
    return Spread(variation, study_freedom=1e9, arm_freedom=1e9)


PAIR, GUEST, HYPERVISOR = AXES["fs-pair"], AXES["guest-fs"], AXES["hypervisor"]


def effects(frame, axis) -> list[dict[str, float]]:
    fitted = trials(comparable_arms(frame, axis, known(0.05)))
    return [dict(zip(trial.treatments, trial.effects[:, 0], strict=True)) for trial in fitted]


@pytest.mark.parametrize(
    ("field", "other"),
    [
        ("case_study", "two"),
        ("variant_id", 2),
        ("operation", "write"),
        ("block_size_bytes", 4096),
        ("vm_count", 2),
        ("metric", "latency"),
        ("unit", "MB/s"),
    ],
)
def test_numbers_that_differ_in_more_than_the_configuration_are_not_compared(field, other):
    frame = arms(arm(100, guest_fs="ext4"), arm(200, guest_fs="xfs", **{field: other}))
    assert trials(comparable_arms(frame, PAIR, known(0.05))) == []


@pytest.mark.parametrize(
    ("axis", "field", "other"),
    [
        ("fs-pair", "hypervisor", "xen"),
        ("fs-pair", "cache_mode", "none"),
        ("fs-pair", "guest_os", "debian"),
        ("fs-pair", "vm_ram_gib", 8.0),
        ("guest-fs", "host_fs", "xfs"),
    ],
)
def test_arms_are_compared_only_where_they_agree_in_what_the_axis_holds(axis, field, other):
    frame = arms(arm(100, guest_fs="ext4"), arm(200, guest_fs="xfs", **{field: other}))
    assert trials(comparable_arms(frame, AXES[axis], known(0.05))) == []


def test_where_less_is_better_the_lower_value_has_the_larger_effect():
    frame = arms(*(arm(ms, guest_fs=fs, metric="latency", unit="ms") for fs, ms in (("ext4", 2.0), ("xfs", 4.0))))
    (effect_of,) = effects(frame, PAIR)
    assert effect_of["ext4-on-ext4"] - effect_of["xfs-on-ext4"] == pytest.approx(np.log(2))


def test_the_hypervisor_axis_lets_the_host_file_system_come_along():
    frame = arms(arm(100, hypervisor="kvm"), arm(50, hypervisor="esxi", host_fs="vmfs"))
    (effect_of,) = effects(frame, HYPERVISOR)
    assert effect_of["kvm"] - effect_of["esxi"] == pytest.approx(np.log(2))


def test_a_case_study_counts_once_however_many_vm_counts_it_ran():
    frame = arms(arm(400, guest_fs="xfs"), arm(100), arm(40, guest_fs="xfs", vm_count=2), arm(10, vm_count=2))
    (trial,) = trials(comparable_arms(frame, PAIR, known(0.1)))
    assert np.exp(trial.effects[1, 0]) == pytest.approx(4)
    assert trial.variances.sum() == pytest.approx(0.02)  # of the difference; not halved by the second VM count


def test_ratios_that_vary_over_the_vm_counts_make_the_mean_less_certain():
    # Ratios 2 and 8: their geometric mean is 4. Each arm lies ln(2)/2 off the fit: 4 (ln(2)/2)^2 = ln(2)^2 on
    # 4 - 2 groups - 2 entries + 1 = 1 degree of freedom; the excess over 0.01, over 2 groups, in both entries.
    frame = arms(arm(200, guest_fs="xfs"), arm(100), arm(80, guest_fs="xfs", vm_count=2), arm(10, vm_count=2))
    (trial,) = trials(comparable_arms(frame, PAIR, known(0.1)))
    assert np.exp(trial.effects[1, 0]) == pytest.approx(4)
    assert trial.variances.sum() == pytest.approx(0.02 + 2 * (np.log(2) ** 2 - 0.01) / 2)


def test_effects_of_unequal_groups_are_not_biased_by_who_else_was_measured():
    # ext4 = 100, xfs = 200, btrfs = 400 where measured; the second group lacks btrfs and is twice as fast.
    frame = arms(
        arm(100),
        arm(200, guest_fs="xfs"),
        arm(400, guest_fs="btrfs"),
        arm(200, vm_count=2),
        arm(400, guest_fs="xfs", vm_count=2),
    )
    (effect_of,) = effects(frame, PAIR)
    assert effect_of["btrfs-on-ext4"] - effect_of["ext4-on-ext4"] == pytest.approx(np.log(4))
    assert effect_of["xfs-on-ext4"] - effect_of["ext4-on-ext4"] == pytest.approx(np.log(2))


def test_entries_that_no_group_joins_are_trials_apart():
    frame = arms(
        arm(1),
        arm(2, guest_fs="xfs"),
        arm(3, host_fs="vmfs", hypervisor="esxi"),
        arm(4, guest_fs="xfs", host_fs="vmfs", hypervisor="esxi"),
    )
    assert [set(effect_of) for effect_of in effects(frame, PAIR)] == [
        {"ext4-on-ext4", "xfs-on-ext4"},
        {"ext4-on-vmfs", "xfs-on-vmfs"},
    ]


def test_spreads_are_pooled_from_the_expected_one_over_the_case_study_to_the_arm():
    # One arm of 3 runs with s² = 0.0012 of a run, so 2 degrees; two without. c² = 0.0036 on 4 degrees.
    frame = arms(
        arm(100, variance=0.0004, runs=3), arm(200, guest_fs="xfs", runs=4), arm(50, guest_fs="btrfs", runs=None)
    )
    used = comparable_arms(frame, PAIR, Spread(0.06, study_freedom=4, arm_freedom=4))
    of_study = (4 * 0.0036 + 2 * 0.0012) / 6  # 0.0028
    of_arm = (4 * of_study + 2 * 0.0012) / 6
    # Degrees behind them: 1 / (1/6 + (4/6)² / 6) = 4.153846 and 1 / (1/4 + 1/6) = 2.4; t by R's qt(0.975, df).
    t_own, t_none = 2.7363569, 3.6835043
    expected = [of_arm / 3 * t_own**2, of_study / 4 * t_none**2, of_study * t_none**2]
    assert used["arm_variance"].to_numpy() * 1.959964**2 == pytest.approx(expected, rel=1e-5)
    assert list(used["assumed"]) == [False, True, True]


@pytest.mark.parametrize("apart", [0.0, 1e-9, 1e-6, 1e-3])
def test_two_equal_runs_are_taken_as_two_that_differ_a_little(apart):
    def variances(difference: float) -> np.ndarray:
        # Two runs that differ by d in ln: s² = d² / 2, and half of it for their mean.
        own = difference**2 / 4
        frame = arms(
            arm(100, measurements=2, runs=2, variance=own),
            arm(110, guest_fs="xfs", measurements=2, runs=2, variance=own),
        )
        return comparable_arms(frame, PAIR, Spread(0.05))["arm_variance"].to_numpy()

    assert variances(apart) == pytest.approx(variances(0.0), rel=1e-3)
    assert (variances(apart) > 1e-4).all()  # never certain: two runs, and 5 % expected


def test_a_short_run_is_expected_to_vary_more_and_a_long_or_unknown_one_is_not():
    def variance(seconds: float | None) -> float:
        frame = arms(arm(100, run_seconds=seconds), arm(110, guest_fs="xfs", run_seconds=seconds))
        return comparable_arms(frame, PAIR, Spread(0.05, whole_seconds=30.0))["arm_variance"].iloc[0]

    assert variance(120) == variance(30) == variance(None)
    assert variance(4) == pytest.approx(7.5 * variance(30))


@pytest.mark.parametrize("runs", [2, 3, 5, 10])
def test_means_of_few_runs_cover_the_difference_of_two_as_often_as_they_say(runs):
    """2,000 case studies of four arms whose coefficients of variation lie around 5 % (ln of them spread by 0.6 between
    and 0.4 within case studies). The interval of one arm against another holds 95 to 98 %."""
    rng, hits = np.random.default_rng(runs), 0
    spreads = 0.05 * np.exp(0.6 * rng.normal(size=(2000, 1)) + 0.4 * rng.normal(size=(2000, 4)))
    values = spreads[:, :, None] * rng.normal(size=(2000, 4, runs))
    rows = [
        arm(1.0, case_study=f"s{study}", guest_fs=f"fs{i}", measurements=runs, runs=runs, mean_log=mean, variance=own)
        for study, (means, own_of) in enumerate(
            zip(values.mean(axis=2), values.var(axis=2, ddof=1) / runs, strict=True)
        )
        for i, (mean, own) in enumerate(zip(means, own_of, strict=True))
    ]
    used = comparable_arms(arms(*rows), GUEST, Spread(0.05))
    mean, variance = (used[column].to_numpy().reshape(2000, 4) for column in ("mean_log", "arm_variance"))
    hits = np.abs(mean[:, 0] - mean[:, 1]) <= 1.959964 * np.sqrt(variance[:, 0] + variance[:, 1])
    assert 0.94 <= hits.mean() <= 0.985


def test_case_studies_of_one_laboratory_are_one_trial():
    # Ratios 4 and 1 in two case studies of one laboratory: their geometric mean is 2, as of two groups.
    rows = [
        arm(400, guest_fs="xfs", case_study="p3-cs1", laboratory="p3"),
        arm(100, case_study="p3-cs1", laboratory="p3"),
        arm(70, guest_fs="xfs", case_study="p3-cs2", laboratory="p3"),
        arm(70, case_study="p3-cs2", laboratory="p3"),
    ]
    (trial,) = trials(comparable_arms(arms(*rows), PAIR, known(0.1)))
    assert (trial.name, trial.sources) == ("p3", ("p3-cs1", "p3-cs2"))
    assert np.exp(trial.effects[1, 0]) == pytest.approx(2)
    # Each lies ln(2)/2 off in each case study: ln(2)² on one degree of freedom; the excess over 0.01, over two.
    assert trial.variances.sum() == pytest.approx(0.02 + 2 * (np.log(2) ** 2 - 0.01) / 2)
    apart = [row | {"laboratory": row["case_study"]} for row in rows]
    assert [t.name for t in trials(comparable_arms(arms(*apart), PAIR, known(0.1)))] == ["p3-cs1", "p3-cs2"]


def test_case_studies_that_share_no_entry_stay_apart_in_one_laboratory():
    frame = arms(
        arm(1, case_study="a", laboratory="x"),
        arm(2, guest_fs="xfs", case_study="a", laboratory="x"),
        arm(3, guest_fs="jfs", case_study="b", laboratory="x"),
        arm(4, guest_fs="btrfs", case_study="b", laboratory="x"),
    )
    assert [set(effect_of) for effect_of in effects(frame, GUEST)] == [{"btrfs", "jfs"}, {"ext4", "xfs"}]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.integers(1, 9))
@example(seed=40, entries=2, groups=1)  # no arm at all
def test_effects_of_unbalanced_groups_are_those_of_least_squares(seed, entries, groups):
    """Against lstsq on indicators of entries and groups, for contrasts that the groups connect."""
    rng = np.random.default_rng(seed)
    cells = [(e, g) for e in range(entries) for g in range(groups) if rng.random() < 0.6]
    frame = arms(*(arm(np.exp(rng.normal()), guest_fs=f"fs{e}", vm_count=1 + g) for e, g in cells))
    used = comparable_arms(frame, GUEST, known(0.1))
    design = np.zeros((len(used), entries + groups))
    rows = np.arange(len(used))
    design[rows, [int(name[2:]) for name in used["entry"]]] = 1
    design[rows, entries + used["vm_count"].astype(int) - 1] = 1
    solution = np.linalg.lstsq(design, used["mean_log"].to_numpy(dtype=float), rcond=None)[0]
    for trial in trials(used):
        expected = solution[[int(name[2:]) for name in trial.treatments]]
        np.testing.assert_allclose(trial.effects[:, 0], expected - expected[0], atol=1e-9)


# Each group holds every entry, by the same shares.
IN_PROPORTION = ("whole", "each three times", "one entry twice", "one group twice")


def arms_of_designs(designs, rng):
    """Return a case study of each design, with two to four entries in one to four groups."""
    rows = []
    for number, design in enumerate(designs):
        entries, groups = rng.integers(2, 5), rng.integers(1, 5)
        cells = [(e, g) for e in range(entries) for g in range(groups)]
        match design:
            case "with gaps":
                cells = [cell for cell in cells if rng.random() < 0.7]
            case "one twice for another":  # as many as a whole design has
                cells[0] = cells[-1]
            case "each three times":
                cells *= 3
            case "one entry twice":
                cells += [cell for cell in cells if cell[0] == 0]
            case "one group twice":
                cells += [cell for cell in cells if cell[1] == 0]
        about = {"case_study": f"cs{number}", "laboratory": f"cs{number}"}
        rows += [
            arm(np.exp(rng.normal()), guest_fs=f"fs{e}", vm_count=1 + g, configuration_id=len(rows) + n, **about)
            for n, (e, g) in enumerate(cells)
        ]
    return arms(*rows)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.sampled_from(["with gaps", "one twice for another", *IN_PROPORTION]), min_size=1, max_size=5),
)
def test_case_studies_averaged_in_one_go_say_what_each_says_solved_by_itself(seed, designs):
    """Designs in proportion have a short way of their own; beside others, with other numbers of entries and groups."""
    used = comparable_arms(arms_of_designs(designs, np.random.default_rng(seed)), GUEST, Spread(0.1))
    expected = []
    for slug, own in used.groupby("case_study"):
        entry, names = pd.factorize(own["entry"], sort=True)
        columns = (own[name].to_numpy() for name in ("fair_play_group", "mean_log", "arm_variance"))
        expected += [(slug, names[members], *rest) for members, *rest in _connected_averages(entry, *columns)]
    for trial, (slug, names, effects, variances) in zip(trials(used), expected, strict=True):
        assert (trial.name, trial.treatments) == (slug, tuple(names))
        np.testing.assert_allclose(trial.means, effects - effects[0], atol=1e-12)
        np.testing.assert_allclose(trial.variances, variances, rtol=1e-9)


@pytest.mark.parametrize("design", IN_PROPORTION)
def test_a_design_in_proportion_is_solved_without_equations(design, monkeypatch):
    monkeypatch.setattr("modelling.estimation.arms._connected_averages", None)
    assert (
        len(trials(comparable_arms(arms_of_designs([design] * 3, np.random.default_rng(1)), GUEST, Spread(0.1)))) == 3
    )


def test_the_printed_interval_of_a_derived_value_adds_to_the_default():
    frame = arms(arm(100, origin="derived", variance=0.0001, runs=None), arm(200, guest_fs="xfs"))
    used = comparable_arms(frame, PAIR, known(0.1))
    assert used["arm_variance"].to_numpy() == pytest.approx([0.0101, 0.01])


def test_a_measured_value_stands_where_the_same_cell_was_also_derived():
    frame = arms(arm(999, origin="derived", variance=0.1), arm(100), arm(200, guest_fs="xfs"))
    (effect_of,) = effects(frame, PAIR)
    assert effect_of["xfs-on-ext4"] - effect_of["ext4-on-ext4"] == pytest.approx(np.log(2))


def test_a_file_system_the_source_does_not_name_is_no_entry():
    frame = arms(arm(100), arm(200, host_fs=None))
    assert comparable_arms(frame, PAIR, known(0.05)).empty


def test_the_spread_of_an_entry_is_pooled_over_its_arms_and_runs_that_are_all_equal_tell_of_none():
    # `variance` is of the mean of `runs`: of one run it is 5 x 0.002 with 4 degrees of freedom, and 3 x 0.01 with 2.
    frame = arms(
        arm(100, variance=0.002, runs=5, vm_count=1),
        arm(100, variance=0.01, runs=3, vm_count=2),
        arm(200, variance=0.0, runs=5, vm_count=1, guest_fs="xfs"),
        arm(200, vm_count=2, guest_fs="xfs"),
    )
    spreads = spread_of_entries(comparable_arms(frame, GUEST, known(0.05)))
    assert spreads == {"ext4": (6.0, pytest.approx((4 * 0.01 + 2 * 0.03) / 6))}
