"""The one model: by hand, against the joint normal of all cells, against draws of everything, and what always holds."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modelling.estimation import group_blocks, hierarchy, learning
from modelling.estimation.hierarchy import CHOICES, KINDS, NAMES, Effect, Hierarchy, Knowledge, Scales, published_scales
from modelling.estimation.network import EvidenceError
from tests.modelling.scales import ALIKE, asked, cells

FIRST, SECOND = np.array([0]), np.array([1])
HERE = {"storage": "ssd", "hypervisor": "kvm"}
SPEEDS = (0.025, 0.25, 0.5, 0.75, 0.975)


@pytest.fixture
def as_usual(monkeypatch):
    """No question changes more or less than its kind usually does."""
    monkeypatch.setattr(hierarchy, "EFFECTS", 0.0)
    monkeypatch.setattr(hierarchy, "DEVIATIONS", 0.0)


_VALUES = ("guest_fs=ext4", "guest_fs=xfs", "guest_fs=zfs", "copy_on_write=yes", "cache_mode=none")
_PLACES = {"load": ("synchronous", "mixed", "read"), "storage": ("ssd", "hdd"), "platform": ("kvm", "xen")}
OF_SIZE_ONE = {
    Effect(value, context, at).name: np.ones(1)
    for value in _VALUES
    for context, at in (("", ""), *((context, at) for context, places in _PLACES.items() for at in places))
}


def scales_of(squares: dict[str, float], factors: dict[str, float] | None = None) -> Scales:
    """Return one draw. squares : name to its variance"""
    variances = np.array([[squares.get(name, 1e-12) for name in NAMES]])
    known = {name: np.full(1, factor) for name, factor in (factors or {}).items()}
    return Scales(np.ones(1), variances, np.full(1, 3.0), known, OF_SIZE_ONE)


def leads(*by_laboratory: float, group: str = "") -> pd.DataFrame:
    """Return a laboratory for each lead of xfs over ext4."""
    rows = [(f"lab{i}", fs, y) for i, lead in enumerate(by_laboratory) for fs, y in (("ext4", 0.0), ("xfs", lead))]
    return cells(*rows, **({"group": group} if group else {}))


def lead_of(posterior, *probabilities: float) -> list[float]:
    """Return the quantiles of xfs against ext4 in a new laboratory."""
    return posterior.predictive_quantiles(SECOND, FIRST, probabilities)[0].tolist()


@pytest.mark.usefixtures("as_usual")
def test_where_laboratories_agree_the_mean_is_what_they_measured():
    fitted = Knowledge(leads(*[0.3] * 4), ALIKE).posterior(asked("ext4", "xfs"))
    # Variance of a difference 0.005, of the mean of four 0.00125; effects may be anything, so nothing is shrunk.
    assert fitted.effects[1] - fitted.effects[0] == pytest.approx(0.3, abs=1e-3)
    assert fitted.errors()[0, 1] == pytest.approx(np.sqrt(0.00125), rel=5e-3)
    assert fitted.predictive_errors()[0, 1] == pytest.approx(np.sqrt(0.00125), rel=5e-3)


@pytest.mark.usefixtures("as_usual")
def test_one_laboratory_is_shrunk_as_worked_by_hand():
    # The difference d = 0.3 of two cells has variance 2 (0.04 + 0.01 + 0.01 + 0.01): main effects, residuals of
    # configuration and cell, error. Of the main effects' difference 2 * 0.04 is expected.
    scales = scales_of({"shared guest_fs": 0.04, "configuration": 0.01, "cell": 0.01}, {"a": 1.0})
    known = Knowledge(cells(("a", "ext4", 1.0), ("a", "xfs", 1.3), variance=0.01), scales)

    posterior = known.posterior(asked("ext4", "xfs"))

    share = 0.04 / (0.04 + 0.03)
    assert posterior.effects[1] - posterior.effects[0] == pytest.approx(0.3 * share, rel=1e-4)
    assert posterior.errors()[0, 1] ** 2 == pytest.approx(2 * 0.04 * (1 - share), rel=1e-4)
    # A new laboratory's factor is the median of its distribution's first quarter, 1.5 over a gamma quantile.
    assert posterior.extras[0][0, 0] == pytest.approx(0.02 * hierarchy.inverse_gamma_quantiles(0.125, 3.0), rel=1e-4)


def _covariance(rows: pd.DataFrame, scales: Scales, factors: dict[str, float]) -> np.ndarray:
    """Return the covariance of cells cell by cell, as docs/models/hierarchy.md writes it; without levels and errors."""
    at = dict(zip(NAMES, scales.variances[0], strict=True))
    whole = np.zeros((len(rows), len(rows)))
    told = rows.to_dict("records")
    for i, j in product(range(len(rows)), repeat=2):
        a, b = told[i], told[j]
        same = {name: a[name] == b[name] for name in ("laboratory", "group", "workload", "level", "configuration")}
        inside = 0.0
        for choice in CHOICES:
            if not a[choice] or a[choice] != b[choice]:
                continue
            kind = choice if choice in KINDS else "setting"
            shared = 1.0 + sum(
                at[context] * bool(a[context] and a[context] == b[context]) for context in hierarchy.contexts_of(choice)
            )
            whole[i, j] += at[f"shared {kind}"] * shared
            if same["group"]:
                inside += at[f"own {kind}"] * (1.0 if same["laboratory"] else hierarchy.SHARED)
                by_workload = same["laboratory"] and same["workload"]
                inside += at[f"by workload {kind}"] * (by_workload + at["level"] * same["level"])
        if same["laboratory"] and same["workload"] and same["configuration"]:
            inside += at["configuration"]
        inside += at["cell"] * (i == j)
        whole[i, j] += factors[a["group"]] * inside if same["group"] else 0.0
    return whole


@pytest.fixture(scope="module")
def several():
    """Cells of five laboratories in four groups, two workloads, two disks and two hypervisors, with draws of scales."""
    random = np.random.default_rng(5)
    made = []
    for number, (laboratory, group) in enumerate([("a", "g"), ("b", "g"), ("c", "h"), ("d", "i"), ("e", "j")]):
        for load, workload in (("synchronous", "varmail"), ("mixed", "fileserver")):
            if laboratory == "d" and workload == "fileserver":
                continue
            rows = [(laboratory, fs, random.normal()) for fs in ("ext4", "xfs", "zfs")[: 2 + number % 2]]
            own = cells(*rows, variance=0.01, group=group)
            storage, hypervisor = ("ssd", "hdd", "")[number % 3], ("kvm", "xen")[number % 2]
            made.append(
                own.assign(
                    load=load,
                    workload=workload,
                    storage=storage,
                    hypervisor=hypervisor,
                    copy_on_write=np.where(own["guest_fs"] == "zfs", "yes", ""),
                    cache_mode=["none", "", "none"][: len(rows)],
                )
            )
    frame = pd.concat(made, ignore_index=True)
    return frame.assign(level=frame.groupby(["laboratory", "workload"]).ngroup(), configuration=range(len(frame)))


SQUARES = {name: 0.02 + 0.01 * number for number, name in enumerate(NAMES)}
FACTORS = {"g": 0.5, "h": 1.7, "i": 1.0, "j": 3.0}


def _expected(frame: pd.DataFrame, rows: pd.DataFrame, scales: Scales, *, factor: float, group: str) -> tuple:
    """Return mean and covariance of rows given cells, by the joint normal of both."""
    new = rows.assign(group=group, level=-1, configuration=[-1 - number for number in range(len(rows))])
    varies = {c: frame[c].where(frame.groupby("level")[c].transform("nunique") > 1, "") for c in CHOICES}
    platforms = [*frame["hypervisor"], *new["hypervisor"]]
    told = pd.concat([frame.assign(**varies), new], ignore_index=True).assign(platform=platforms)
    whole = _covariance(told, scales, {**FACTORS, group: factor})
    n = len(frame)
    level = frame["level"].to_numpy()
    noise = 100.0 * np.equal.outer(level, level) + 0.01 * np.eye(n)
    centred = frame["outcome"] - frame.groupby("level")["outcome"].transform("mean")
    solved = np.linalg.solve(whole[:n, :n] + noise, np.column_stack([centred, whole[:n, n:]]))
    return whole[n:, :n] @ solved[:, 0], whole[n:, n:] - whole[n:, :n] @ solved[:, 1:]


def _rows(laboratory: str, storage: str = "ssd", workload: str = "varmail", load: str = "synchronous") -> pd.DataFrame:
    rows = pd.DataFrame("", index=["ext4", "xfs", "zfs"], columns=list(CHOICES)).astype(object)
    rows["guest_fs"], rows["copy_on_write"] = rows.index, ["", "", "yes"]
    return rows.assign(hypervisor="kvm", load=load, workload=workload, storage=storage, laboratory=laboratory)


def _seen(mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Return means and variances of the two differences: a shift of all is free."""
    differ = np.array([[-1.0, 1.0, 0.0], [-1.0, 0.0, 1.0]])
    return np.concatenate([differ @ mean, np.diag(differ @ covariance @ differ.T)])


@pytest.mark.usefixtures("as_usual")
@pytest.mark.parametrize("left_out", ["", "g", "i"])
@pytest.mark.parametrize("workload", ["varmail", "fileserver"])
def test_a_prediction_is_what_the_joint_normal_of_all_cells_says(several, left_out, workload):
    scales = scales_of(SQUARES, FACTORS)
    rows = _rows("new", workload=workload, load={"varmail": "synchronous", "fileserver": "mixed"}[workload])
    fitted = Hierarchy(several).fit(scales)
    posterior = (fitted.leave_out(left_out) if left_out else fitted).posterior(rows)
    known = several[several["group"] != left_out].reset_index(drop=True)

    for number in (0, 4, 7):
        factor = hierarchy.inverse_gamma_quantiles((hierarchy._ENDS[number] + hierarchy._ENDS[number + 1]) / 2, 3.0)
        expected = _expected(known, rows, scales, factor=float(factor), group="new")
        got = posterior.means[number], posterior.covariances[number] + posterior.extras[number]
        np.testing.assert_allclose(_seen(*got), _seen(*expected), rtol=2e-5, atol=1e-6)


@pytest.mark.usefixtures("as_usual")
@pytest.mark.parametrize("laboratory", ["a", "d", "e"])
def test_a_laboratory_is_told_what_its_own_cells_of_another_workload_say(several, laboratory):
    scales = scales_of(SQUARES, FACTORS)
    group = {"a": "g", "d": "i", "e": "j"}[laboratory]
    rows = _rows(laboratory, workload="webserver", load="read")
    posterior = Hierarchy(several).fit(scales).posterior(rows, laboratory)

    expected = _expected(several, rows, scales, factor=FACTORS[group], group=group)

    got = posterior.means[0], posterior.covariances[0] + posterior.extras[0]
    np.testing.assert_allclose(_seen(*got), _seen(*expected), rtol=2e-5, atol=1e-6)


@pytest.mark.usefixtures("as_usual")
def test_runs_of_an_unseen_laboratory_tell_it_what_its_own_cells_would(several):
    """What *here* does: ask for both workloads together, then condition on the runs under one of them."""
    there, here = _rows("new", workload="webserver", load="read"), _rows("new")
    outcomes, factor = np.array([0.4, -1.0, 0.6]), float(hierarchy.inverse_gamma_quantiles((0.5 + 0.7) / 2, 3.0))
    both = Hierarchy(several).fit(scales_of(SQUARES, FACTORS)).posterior(pd.concat([there, here]))
    mean, covariance = both.means[2], both.covariances[2] + both.extras[2]
    gain = covariance[3:, :3] @ np.linalg.inv(covariance[:3, :3] + 100.0 + 0.01 * np.eye(3))
    told = mean[3:] + gain @ (outcomes - mean[:3]), covariance[3:, 3:] - gain @ covariance[:3, 3:]

    own = there.assign(
        group="new", level=99, configuration=[90, 91, 92], outcome=outcomes, variance=0.01, case_study=""
    )
    scales = scales_of(SQUARES, {**FACTORS, "new": factor})
    fitted = Hierarchy(pd.concat([several, own], ignore_index=True).fillna("")).fit(scales)
    conditional = fitted.posterior(here, "new")

    np.testing.assert_allclose(_seen(*told), _seen(conditional.means[0], conditional.covariances[0]), rtol=1e-5)


@pytest.mark.usefixtures("as_usual")
def test_the_mean_of_levels_that_compare_the_same_says_what_they_say_one_by_one(several):
    random = np.random.default_rng(3)
    more = [
        several.assign(outcome=random.normal(size=len(several)), level=several["level"] + 100 * n) for n in range(3)
    ]
    frame = pd.concat(more, ignore_index=True)
    scales, rows = scales_of(SQUARES, FACTORS), _rows("new")
    means = hierarchy.merge_levels(frame)
    assert (len(means), set(means["levels"])) == (len(several), {3})

    one_by_one, merged = (Hierarchy(own).fit(scales).posterior(rows) for own in (frame, means))

    for number in (0, 7):
        got, expected = (
            (own.means[number], own.covariances[number] + own.extras[number]) for own in (merged, one_by_one)
        )
        np.testing.assert_allclose(_seen(*got), _seen(*expected), rtol=1e-6, atol=1e-9)


def _factorial_design(laboratory: str, random: np.random.Generator, levels: int = 3) -> pd.DataFrame:
    """Return 3 guest file systems on 3 cache modes and 2 hypervisors under several levels of two workloads."""
    rows = [(laboratory, fs, random.normal()) for fs in ("ext4", "xfs", "zfs") for _ in range(6)]
    own = cells(*rows, variance=0.01).assign(
        copy_on_write=np.repeat(["", "", "yes"], 6),
        cache_mode=["none", "writeback", "directsync"] * 6,
        flushed=["", "", "yes"] * 6,
        hypervisor=np.tile(np.repeat(["kvm", "xen"], 3), 3),
        storage="ssd",
    )
    parts = [
        own.assign(
            level=10 * number + ord(laboratory) * 1000,
            workload=("varmail", "sync-write")[number % 2],
            outcome=random.normal(size=len(own)),
        )
        for number in range(levels)
    ]
    return pd.concat(parts, ignore_index=True)


@pytest.mark.usefixtures("as_usual")
@pytest.mark.parametrize("laboratory", ["", "y"])
def test_a_group_of_very_many_cells_says_by_means_what_it_says_cell_by_cell(several, laboratory, monkeypatch):
    """Balanced: means over what the question does not ask for hold all that the cells say of what it asks."""
    random = np.random.default_rng(8)
    others = several.assign(cache_mode="")  # else runs of cache modes would speak of their confounded file systems
    frame = pd.concat([others, _factorial_design("x", random, 2), _factorial_design("y", random, 2)], ignore_index=True)
    scales, rows = scales_of(SQUARES, {**FACTORS, "x": 1.3, "y": 0.6}), _rows("new")
    asked_for = ("guest_fs", "copy_on_write", "pair")

    def told() -> tuple[Hierarchy, np.ndarray, float]:
        model = Hierarchy(frame, asked_for, "synchronous", laboratory)
        fitted = model.fit(scales)
        posterior, without = fitted.posterior(rows, laboratory), fitted.leave_out("x").posterior(rows, laboratory)
        seen = [_seen(own.means[0], own.covariances[0] + own.extras[0]) for own in (posterior, without)]
        return model, np.array(seen)

    every, one_by_one = told()
    monkeypatch.setattr(group_blocks, "MANY", 20)
    some, by_means = told()

    assert every.block_of("x").outcome.shape == (1, 36)
    assert some.block_of("x").outcome.shape == (1, 6)  # three file systems under two hypervisors
    np.testing.assert_allclose(by_means, one_by_one, rtol=1e-4, atol=2e-3)


def test_where_levels_compare_different_things_a_large_group_is_averaged_apart(several, monkeypatch):
    """A mean over a level with zfs and one without it would say nothing of zfs against the others."""
    own = _factorial_design("x", np.random.default_rng(8))
    own = own[(own["guest_fs"] != "zfs") | (own["level"] == own["level"].max())]
    monkeypatch.setattr(group_blocks, "MANY", 20)
    model = Hierarchy(pd.concat([several, own], ignore_index=True), ("guest_fs",), "synchronous")
    block = model.block_of("x")
    of_set = [set(own["level"].to_numpy()[places > 0]) for places in block.shares[0]]
    assert {len(levels) for levels in of_set} == {1, 2}


def test_groups_are_computed_alike_together_and_one_by_one(several, monkeypatch):
    together = Hierarchy(several).fit(published_scales()).posterior(_rows("new"))
    monkeypatch.setattr(group_blocks, "_BATCH", 1)
    alone = Hierarchy(several).fit(published_scales()).posterior(_rows("new"))
    np.testing.assert_allclose(lead_of(alone, *SPEEDS), lead_of(together, *SPEEDS), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("is_merged", [False, True])
def test_the_slopes_are_those_of_the_likelihood(several, is_merged):
    random = np.random.default_rng(2)
    more = [several.assign(level=several["level"] + 100 * number) for number in range(2)]
    model = Hierarchy(hierarchy.merge_levels(pd.concat(more, ignore_index=True)) if is_merged else several)
    at = [random.uniform(0.02, 0.3, (2, len(NAMES)))]
    at += [random.uniform(0.5, 2.0, (2, size)) for size in (len(model.groups), len(model.effects))]
    _, slopes = model.likelihood(*at)
    for part, told in enumerate(slopes):
        for place in range(told.shape[1]):
            ahead, behind = ([own.copy() for own in at] for _ in range(2))
            ahead[part][:, place] *= np.exp(1e-4)
            behind[part][:, place] *= np.exp(-1e-4)
            measured = (model.likelihood(*ahead)[0] - model.likelihood(*behind)[0]) / 2e-4
            np.testing.assert_allclose(told[:, place], measured, rtol=1e-4, atol=1e-5)


@pytest.mark.usefixtures("as_usual")
def test_levels_tell_nothing_and_the_order_of_cells_changes_nothing(several):
    shifted = several.assign(outcome=several["outcome"] + several["level"] * 3.0).sample(frac=1.0, random_state=1)
    fitted, other = (Knowledge(own, scales_of(SQUARES, FACTORS)).posterior(_rows("new")) for own in (several, shifted))
    np.testing.assert_allclose(other.means, fitted.means, atol=1e-9)
    np.testing.assert_allclose(other.covariances, fitted.covariances, atol=1e-9)


@pytest.mark.parametrize("known", [(), ("h",)])
def test_an_answer_depends_on_no_name_number_or_order(several, known):
    """Chance stands for what is summed out, and is the same for the same evidence."""
    ours = published_scales()
    ours = replace(ours, factors={group: np.linspace(0.5, 2.0, len(ours.weights)) for group in known})
    names = {group: f"{number}-{group}" for number, group in enumerate("jigh")} | {group: group for group in known}
    other = several.assign(
        group=several["group"].map(names),
        laboratory="of " + several["laboratory"].map({name: str(ord(name) * 7 % 11) for name in "abcde"}),
        level=-several["level"],
        configuration=1000 - several["configuration"],
    ).sample(frac=1.0, random_state=4)
    told, again = (Hierarchy(own, load="synchronous").fit(ours).posterior(_rows("new")) for own in (several, other))
    np.testing.assert_allclose(lead_of(again, *SPEEDS), lead_of(told, *SPEEDS), rtol=1e-6, atol=1e-9)


def test_more_points_move_no_answer_by_a_fiftieth_of_its_interval(several, monkeypatch):
    def told() -> np.ndarray:
        fitted = Hierarchy(several, load="synchronous").fit(published_scales())
        return np.array(lead_of(fitted.posterior(_rows("new")), *SPEEDS))

    ours = told()
    monkeypatch.setattr(Hierarchy, "points", 2048)
    exact = told()
    assert np.abs(ours - exact)[1:4].max() < np.ptp(exact) / 50


def test_cells_decide_the_multipliers_whether_draws_know_their_groups_or_not(monkeypatch):
    """Eight groups that agree: what groups differ by is less here than usual."""
    frame = leads(*[0.5] * 8).assign(**HERE)
    scales = published_scales()
    known = replace(scales, factors={name: np.ones(len(scales.weights)) for name in frame["group"]})

    def width() -> float:
        posterior = Hierarchy(frame, load="synchronous").fit(known).posterior(asked("ext4", "xfs", **HERE))
        return float(np.ptp(lead_of(posterior, 0.1, 0.9)))

    adapted = width()
    monkeypatch.setattr(hierarchy, "DEVIATIONS", 0.0)
    assert adapted < 0.8 * width()


def test_without_cells_every_entry_has_its_prior():
    posterior = Knowledge(cells(), published_scales()).posterior(asked("ext4", "xfs", "zfs"))
    assert posterior.means == pytest.approx(0.0)
    low, high = lead_of(posterior, 0.025, 0.975)
    assert low == pytest.approx(-high, abs=1e-9)
    assert high > 0.2


def test_with_no_cells_nothing_is_learnt():
    with pytest.raises(EvidenceError):
        learning.learn(Hierarchy(cells()))


# Learning: what a question sees where nothing was learnt before.


def learnt(frame: pd.DataFrame, draws: int = 64, **how: int) -> Knowledge:
    return Knowledge(frame, learning.learn(Hierarchy(frame), draws, **{"trajectories": 150, "warm_up": 80, **how}))


def _brute_force(by_group: list[list[float]], scales: Scales | None = None, draws: int = 2_000_000) -> list[float]:
    """Return quantiles of xfs against ext4 in a new laboratory: everything but the lead drawn from its prior, by its
    likelihood; given all that a lead is normal.

    scales : one draw that is known, with multipliers; None: drawn as well, without
    One kind of choice, one load, no hypervisor and disk. A difference of two entries has twice each variance.
    """
    random = np.random.default_rng(1)
    if scales is None:
        names = dict(zip(NAMES, hierarchy.PRIORS, strict=True))
        squares = {
            name: (random.normal(size=draws) * prior) ** 2 for name, prior in names.items() if name in _OF_GUESTS
        }
        freedom = random.choice(learning.FREEDOM, draws)
        effects = deviations = np.ones(draws)
    else:
        squares, freedom = {name: scales.of(name)[0] for name in _OF_GUESTS}, np.full(draws, scales.freedom[0])
        widths = [[hierarchy.EFFECTS], [hierarchy.DEVIATIONS]]
        effects, deviations = np.exp(2 * random.normal(size=(2, draws)) * widths)
    shared, own, by_workload, load, storage, platform, level, configuration, cell = (
        squares[name] for name in _OF_GUESTS
    )
    shared, own = shared * effects, own * deviations
    sizes = (hierarchy.SIZES / random.chisquare(hierarchy.SIZES, (4, 2, draws))).sum(axis=1)
    inside = own + deviations * (by_workload * (1 + level) + configuration + cell)
    prior = shared * (sizes[0] + load * sizes[1])
    precision, right, logs = 1 / prior, np.zeros(draws), -np.log(prior) / 2
    for measured in by_group:
        factor = 2 * freedom / random.chisquare(freedom)
        apart, count = factor * (inside - hierarchy.SHARED * own) + 0.005, len(measured)
        of_mean = factor * hierarchy.SHARED * own + apart / count
        logs -= (np.var(measured) * count / apart + (count - 1) * np.log(apart) + np.log(of_mean)) / 2
        logs -= np.mean(measured) ** 2 / of_mean / 2
        precision, right = precision + 1 / of_mean, right + np.mean(measured) / of_mean
    logs += right**2 / precision / 2 - np.log(precision) / 2
    weights = np.exp(logs - logs.max())
    assert weights.sum() ** 2 / (weights**2).sum() > 500, "too few draws bear on the cells"
    elsewhere = shared * (storage * sizes[2] + platform * sizes[3])  # disk and hypervisor are not stated
    spread = np.sqrt(1 / precision + elsewhere + 2 * freedom / random.chisquare(freedom) * inside)
    new = right / precision + spread * random.normal(size=draws)
    order = np.argsort(new)
    upto = np.cumsum(weights[order]) / weights.sum()
    return [float(new[order][np.searchsorted(upto, share)]) for share in SPEEDS]


_OF_GUESTS = (
    *("shared guest_fs", "own guest_fs", "by workload guest_fs", "load", "storage", "platform", "level"),
    *("configuration", "cell"),
)
WORLDS = pytest.mark.parametrize(
    ("by_group", "name"),
    [
        ([[0.4]], "one laboratory"),
        ([[0.25], [0.4], [0.5]], "three"),
        ([[0.2, 0.5, 0.9]], "three of one group"),
        ([[0.1], [0.1], [2.0]], "an odd one"),
        ([[np.log(2)]] * 3, "three agree on twice"),
        ([[np.log(5)]] * 4, "four agree on five times"),
        ([[np.log(10)]] * 4, "four agree on ten times"),
        ([[0.5], [0.9], [0.7], [0.6], [0.8], [0.2], [1.1], [0.7], [0.7]], "nine around twice"),
        ([[0.3], [-0.1], [0.5], [0.2], [0.1], [0.4], [0.0], [0.3], [0.2], [0.6], [-0.2], [0.3]], "twelve"),
        pytest.param([[0.3], [-0.1], [0.5], [0.2]] * 5, "twenty", marks=pytest.mark.nightly),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)


def _cells_of(by_group: list[list[float]]) -> pd.DataFrame:
    rows = [
        (f"lab{g}-{i}", fs, y, f"group{g}")
        for g, measured in enumerate(by_group)
        for i, lead in enumerate(measured)
        for fs, y in (("ext4", 0.0), ("xfs", lead))
    ]
    return cells(*[row[:3] for row in rows]).assign(group=[row[3] for row in rows])


def _is_near(told: list[float], true: list[float], middle: float, ends: float) -> bool:
    """Tell whether quantiles are right within these shares of half the width of the interval."""
    off = np.abs(np.subtract(told, true)) * 2 / (true[-1] - true[0])
    return bool(off[1:4].max() < middle and off[[0, 4]].max() < ends)


@WORLDS
def test_an_answer_is_what_draws_of_multipliers_factors_and_sizes_say(by_group, name):
    """Of two thousand times as many points: 64 stand for them, and 8 for a new laboratory's factor."""
    usual = dict(zip(_OF_GUESTS, (0.03, 0.02, 0.01, 0.1, 0.1, 0.1, 1.0, 0.03, 0.03), strict=True))
    one = scales_of(usual)
    many = replace(
        one, weights=np.full(64, 1 / 64), variances=np.repeat(one.variances, 64, 0), freedom=np.full(64, 3.0), sizes={}
    )
    told = lead_of(Knowledge(_cells_of(by_group), many).posterior(asked("ext4", "xfs")), *SPEEDS)
    assert _is_near(told, _brute_force(by_group, one), middle=0.15, ends=0.5)


@pytest.mark.slow
@WORLDS
@pytest.mark.usefixtures("as_usual")
def test_what_is_learnt_and_foretold_is_what_draws_of_the_whole_model_say(by_group, name):
    told = lead_of(learnt(_cells_of(by_group), 128).posterior(asked("ext4", "xfs")), *SPEEDS)
    assert _is_near(told, _brute_force(by_group), middle=0.12, ends=0.4)


@pytest.mark.parametrize("ratio", [2.0, 3.0, 5.0, 10.0])
def test_each_group_that_agrees_makes_an_answer_surer(ratio):
    """However far groups usually differ, as published evidence has it."""
    faster = []
    for count in (1, 2, 3, 4, 6, 9):
        measured = leads(*[np.log(ratio)] * count).assign(**HERE)
        known = Knowledge(measured, published_scales()).posterior(asked("ext4", "xfs", **HERE))
        faster.append(known.predictive_certainties()[1, 0])
    assert faster == sorted(faster)
    assert faster[3] > 0.8
    assert faster[-1] > 0.98
    assert lead_of(known, 0.5)[0] == pytest.approx(np.log(ratio), rel=0.05)


@settings(max_examples=25, deadline=None)
@given(st.floats(0.1, 2.0), st.integers(1, 8))
def test_one_more_group_that_agrees_makes_no_answer_less_sure(lead, count):
    fewer, more = (
        Knowledge(leads(*[lead] * number).assign(**HERE), published_scales()).posterior(asked("ext4", "xfs", **HERE))
        for number in (count, count + 1)
    )
    assert more.predictive_certainties()[1, 0] > fewer.predictive_certainties()[1, 0] - 0.01


def test_laboratories_of_one_group_tell_less_than_independent_ones():
    apart, together = (
        Knowledge(leads(*[0.4] * 5, group=group), published_scales()).posterior(asked("ext4", "xfs"))
        for group in ("", "one")
    )
    assert together.predictive_certainties()[1, 0] < apart.predictive_certainties()[1, 0]


def test_an_odd_laboratory_does_not_drag_the_rest():
    agreeing, odd = (
        Knowledge(leads(*own), published_scales()).posterior(asked("ext4", "xfs")).effects @ [-1, 1]
        for own in ([0.3] * 4, [0.3] * 4 + [4.0])
    )
    assert odd == pytest.approx(agreeing, abs=0.15)


def test_numbers_from_hard_disks_speak_of_others_with_their_distance():
    known = Knowledge(leads(*[0.4] * 4).assign(storage="hdd"), published_scales())
    hdd, ssd, anywhere = (known.posterior(asked("ext4", "xfs", storage=storage)) for storage in ("hdd", "ssd", ""))
    assert ssd.effects[1] - ssd.effects[0] <= hdd.effects[1] - hdd.effects[0]
    assert hdd.errors()[0, 1] < ssd.errors()[0, 1]
    assert hdd.predictive_errors()[0, 1] < anywhere.predictive_errors()[0, 1]


def test_another_workload_of_one_class_speaks_louder_than_one_of_another():
    known = Knowledge(leads(*[0.4] * 4), published_scales())
    same, other, unknown = (
        known.posterior(asked("ext4", "xfs", load=load, workload="database")) for load in ("synchronous", "mixed", "")
    )
    gained = [posterior.predictive_certainties()[1, 0] for posterior in (same, other, unknown)]
    assert gained[0] > gained[1]
    assert gained[0] > gained[2]


def test_a_mix_is_as_sure_as_its_workloads_are_together(several):
    """What workloads have in common in one laboratory does not average out; what they have not does."""
    fitted = Hierarchy(several).fit(published_scales())
    loads = {"varmail": "synchronous", "fileserver": "mixed"}
    alone = [_rows("new", workload=workload, load=load).drop(index="zfs") for workload, load in loads.items()]
    mixed = fitted.posterior(pd.concat([rows.assign(share=0.5) for rows in alone]))
    widths = [np.ptp(lead_of(fitted.posterior(rows), 0.16, 0.84)) for rows in alone]
    middles = [lead_of(fitted.posterior(rows), 0.5)[0] for rows in alone]
    assert mixed.treatments == ("ext4", "xfs")
    assert np.sqrt((np.array(widths) ** 2).sum()) / 2 < np.ptp(lead_of(mixed, 0.16, 0.84)) < sum(widths) / 2
    assert lead_of(mixed, 0.5)[0] == pytest.approx(np.mean(middles), abs=0.05)


def test_a_laboratorys_own_numbers_of_another_workload_decide_more_than_those_of_others():
    frame = leads(0.0, 0.0, 0.0, 1.0).assign(cache_mode=["none", "directsync"] * 4, guest_fs="")
    known = Knowledge(frame, published_scales())
    rows = pd.DataFrame({"cache_mode": ["none", "directsync"], "load": "random read", "workload": "other"})
    own, elsewhere = (known.posterior(rows, laboratory).effects @ [-1, 1] for laboratory in ("lab3", ""))
    assert own > 2 * max(elsewhere, 0.05)
