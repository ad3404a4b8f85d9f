"""The posterior of a question's entries: by hand, against draws of the whole model, and what must always hold."""

import numpy as np
import pandas as pd
import pytest

from modelling.estimation import partial_pooling
from modelling.estimation.entry_cells import COLUMNS
from modelling.estimation.partial_pooling import Scales, posterior, published_scales
from tests.modelling.scales import ALIKE

ENTRIES = pd.DataFrame({"guest_fs": ["ext4", "xfs"]}, index=["ext4", "xfs"])
PAIRS = pd.DataFrame(
    {"guest_fs": ["ext4", "xfs", "ext4"], "host_fs": ["ext4", "ext4", "zfs"], "pair": ["a", "b", "c"]},
    index=["a", "b", "c"],
)
FIRST, SECOND = np.array([0]), np.array([1])


def cells(*rows: tuple[str, float], group: str = "", storage: str = "", laboratory: str = "lab") -> pd.DataFrame:
    """Return one trial. rows : entry and ln of its speed"""
    return pd.DataFrame(
        [(entry, hash(laboratory) % 10**9, laboratory, group or laboratory, storage, y, 0.0025) for entry, y in rows],
        columns=COLUMNS,
    )


def of_laboratories(count: int, lead: float, group: str = "") -> pd.DataFrame:
    return of_leads(*[lead] * count, group=group)


def of_leads(*leads: float, group: str = "") -> pd.DataFrame:
    """Return a laboratory for each lead of xfs over ext4."""
    together = [cells(("ext4", 0.0), ("xfs", lead), laboratory=f"lab{i}", group=group) for i, lead in enumerate(leads)]
    return pd.concat(together, ignore_index=True)


def quantiles(fitted, *probabilities: float) -> list[float]:
    """Return the quantiles of xfs against ext4 in a new laboratory."""
    return fitted.new_quantiles(SECOND, FIRST, probabilities)[0].tolist()


def test_where_laboratories_agree_the_mean_is_what_they_measured():
    fitted = posterior(ENTRIES, of_laboratories(4, 0.3), ALIKE)
    # Variance of a difference 0.005, of the mean of four 0.00125; effects may be anything, so nothing is shrunk.
    assert fitted.effects[1] - fitted.effects[0] == pytest.approx(0.3, abs=1e-3)
    assert fitted.errors()[0, 1] == pytest.approx(np.sqrt(0.00125), rel=5e-3)
    assert fitted.new_errors()[0, 1] == pytest.approx(np.sqrt(0.00125), rel=5e-3)


def _truth(scales: Scales, rows: pd.DataFrame, draws: int) -> tuple[np.ndarray, np.ndarray]:
    """Return weights and what a new laboratory sees of xfs against ext4, for draws of everything from its prior."""
    rng = np.random.default_rng(1)
    effects, deviations = np.exp(
        rng.normal(size=(2, draws)) * [[partial_pooling.EFFECTS], [partial_pooling.DEVIATIONS]]
    )
    draw = partial_pooling._Draws(*(part[0] for part in scales.draws(np.array([0]))))
    place = scales.names.index("guest_fs")
    shared = effects[:, None] * np.sqrt(draw.choices[place]) * rng.normal(size=(draws, 2))
    of_choice = draw.choices[place]
    logs = np.zeros(draws)
    for _, of_group in rows.groupby("group"):
        together = np.sqrt(of_choice * draw.group + partial_pooling.SHARED * draw.residual)
        group = deviations[:, None] * together * rng.normal(size=(draws, 2))
        for _, of_laboratory in of_group.groupby("laboratory"):
            logs += _likelihood(rng, shared + group, deviations, draw, of_choice, of_laboratory)
    factor = _factors(rng, draws)
    inside = of_choice * (draw.group + draw.laboratory + draw.trial) + draw.residual
    new = shared + deviations[:, None] * np.sqrt(inside) * factor[:, None] * rng.normal(size=(draws, 2))
    weights = np.exp(logs - logs.max())
    return weights / weights.sum(), new[:, 1] - new[:, 0]


def _factors(rng: np.random.Generator, draws: int) -> np.ndarray:
    return np.sqrt(partial_pooling.FREEDOM / rng.chisquare(partial_pooling.FREEDOM, draws))


def _likelihood(rng, expected, deviations, draw, of_choice, rows) -> np.ndarray:
    """Return the ln likelihood of one laboratory's difference, its own deviation summed out given its factor."""
    difference = float(rows["outcome"].iloc[1] - rows["outcome"].iloc[0])
    own = of_choice * (draw.laboratory + draw.trial) + (1 - partial_pooling.SHARED) * draw.residual
    squared = 2 * (deviations * _factors(rng, len(deviations))) ** 2 * own + rows["variance"].sum()
    missed = difference - (expected[:, 1] - expected[:, 0])
    return -(missed**2) / (2 * squared) - np.log(squared) / 2


@pytest.mark.parametrize(
    ("rows", "name"),
    [
        (of_laboratories(1, 0.4), "one laboratory"),
        (of_leads(0.25, 0.4, 0.5), "three"),
        (of_leads(0.2, 0.5, 0.9, group="one"), "three of one group"),
        (pd.concat([of_laboratories(2, 0.1), cells(("ext4", 0.0), ("xfs", 2.0), laboratory="odd")]), "an odd one"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_quantiles_are_those_of_draws_of_the_whole_model(rows, name):
    """Brute force: 400,000 draws of multipliers, effects, groups and factors from their priors, by their likelihood.

    64 points stand for all of that, and 8 for a new laboratory's factor: the ends of the interval are right within a
    quarter of its half-width, and its middle within an eighth.
    """
    scales = published_scales()
    one = Scales(
        scales.names,
        np.ones(1),
        *(getattr(scales, part)[:1] for part in ("choices", "storage", "group")),
        scales.laboratory[:1],
        scales.trial[:1],
        scales.residual[:1],
    )
    weights, new = _truth(one, rows, 400_000)
    order = np.argsort(new)
    upto = np.cumsum(weights[order])
    true = [new[order][np.searchsorted(upto, probability)] for probability in (0.025, 0.25, 0.5, 0.75, 0.975)]
    computed = quantiles(posterior(ENTRIES, rows, one, "hdd"), 0.025, 0.25, 0.5, 0.75, 0.975)
    half = (true[-1] - true[0]) / 2
    assert np.abs(np.subtract(computed, true))[[0, 4]].max() < 0.25 * half
    assert np.abs(np.subtract(computed, true))[1:4].max() < 0.125 * half


def test_laboratories_of_one_group_tell_less_than_independent_ones():
    low, high = quantiles(posterior(ENTRIES, of_laboratories(5, 0.4), published_scales()), 0.1, 0.9)
    one_low, one_high = quantiles(
        posterior(ENTRIES, of_laboratories(5, 0.4, group="one"), published_scales()), 0.1, 0.9
    )
    assert one_high - one_low > high - low
    assert one_low < low


def test_an_odd_laboratory_does_not_drag_the_rest():
    agreeing = of_laboratories(4, 0.3)
    odd = pd.concat([agreeing, cells(("ext4", 0.0), ("xfs", 4.0), laboratory="odd")])
    lead = posterior(ENTRIES, odd, published_scales()).effects @ [-1, 1]
    assert lead < 0.45
    assert lead == pytest.approx(posterior(ENTRIES, agreeing, published_scales()).effects @ [-1, 1], abs=0.15)


def test_without_cells_every_entry_has_its_prior():
    fitted = posterior(PAIRS, cells().iloc[:0], published_scales())
    assert fitted.effects == pytest.approx([0, 0, 0])
    forecast = fitted.forecast(0.1)
    assert forecast.best.sum() == pytest.approx(1)
    assert (fitted.new_errors()[np.triu_indices(3, 1)] > 0.05).all()


def test_what_is_measured_of_a_guest_speaks_of_its_pairs_nobody_measured():
    rows = pd.concat([cells(("a", 0.0), ("b", 0.8), laboratory=f"lab{i}") for i in range(6)], ignore_index=True)
    entries = pd.concat([PAIRS, pd.DataFrame({"guest_fs": ["xfs"], "host_fs": ["zfs"], "pair": ["d"]}, index=["d"])])
    effects = dict(zip(entries.index, posterior(entries, rows, published_scales()).effects, strict=True))
    assert effects["d"] - effects["c"] > 0.05
    assert effects["b"] - effects["a"] > effects["d"] - effects["c"]


def test_numbers_from_hard_disks_speak_of_others_with_their_distance():
    rows = pd.concat(
        [cells(("ext4", 0.0), ("xfs", 0.5), laboratory=f"lab{i}", storage="hdd") for i in range(5)], ignore_index=True
    )
    here, elsewhere, anywhere = (
        quantiles(posterior(ENTRIES, rows, published_scales(), storage), 0.25, 0.5, 0.75)
        for storage in ("hdd", "nvme", "")
    )
    assert here[1] > elsewhere[1] > 0
    assert elsewhere[2] - elsewhere[0] > here[2] - here[0]
    assert anywhere[1] == pytest.approx(elsewhere[1], abs=0.02)


def test_the_gradient_is_that_of_the_posterior():
    rows = pd.concat(
        [
            cells(("a", 0.1), ("b", 0.5), ("c", -0.2), laboratory="one", group="g", storage="hdd"),
            cells(("a", 0.0), ("c", 0.4), laboratory="two", group="g"),
            cells(("b", 0.0), ("c", 0.7), laboratory="three", storage="ssd"),
        ],
        ignore_index=True,
    )
    model = partial_pooling._Model(PAIRS, rows, published_scales(), "")
    central, scores = published_scales().mean(), np.array([0.3, -0.4, 0.2, -0.6, 0.5])
    _, gradient = model._scored(scores, central)
    for place in range(len(scores)):
        step = np.zeros(len(scores))
        step[place] = 1e-5
        ahead, behind = (model._scored(scores + sign * step, central)[0] for sign in (1, -1))
        assert gradient[place] == pytest.approx((ahead - behind) / 2e-5, abs=1e-5)


def test_how_entries_and_laboratories_are_numbered_changes_nothing():
    rows = pd.concat([of_laboratories(3, 0.4), cells(("ext4", 0.2), ("xfs", 0.0), laboratory="other")])
    one = posterior(ENTRIES, rows, published_scales())
    other = posterior(ENTRIES.iloc[::-1], rows.iloc[::-1], published_scales())
    assert other.effects[::-1] == pytest.approx(one.effects, abs=1e-6)


def test_how_many_draws_are_fitted_at_once_changes_nothing(monkeypatch):
    rows = pd.concat([of_laboratories(3, 0.4), cells(("ext4", 0.2), ("xfs", 0.0), laboratory="other")])
    together = posterior(ENTRIES, rows, published_scales())
    monkeypatch.setattr(partial_pooling, "AT_ONCE", 5 * 36)
    in_parts = posterior(ENTRIES, rows, published_scales())

    for name in ("weights", "means", "covariances", "extras"):
        np.testing.assert_allclose(getattr(in_parts, name), getattr(together, name), rtol=1e-9, atol=1e-12)
