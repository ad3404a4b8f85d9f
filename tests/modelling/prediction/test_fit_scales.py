"""`manage.py fit_scales` writes the draws that answers begin with."""

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from modelling.estimation import hierarchy
from modelling.management.commands import fit_scales
from tests.factories import make_case_study, make_configuration, make_measurement, publish

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]


@pytest.fixture
def written(monkeypatch, tmp_path):
    """Have the command write its file into an empty folder."""
    monkeypatch.setattr(fit_scales, "PUBLISHED", tmp_path / "scales.json")
    return tmp_path / "scales.json"


def test_without_evidence_the_command_says_so_and_leaves_the_file(written):
    with pytest.raises(CommandError, match="no cells to compare"):
        call_command("fit_scales")
    assert not written.exists()


def test_what_the_command_writes_is_what_answers_read(written, monkeypatch, capsys):
    for name, cache_modes in {"one": ("none", "writeback"), "two": ("none", "writeback", "directsync")}.items():
        case_study = make_case_study(name)
        for number, cache_mode in enumerate(cache_modes):
            configuration = make_configuration(case_study, cache_mode=cache_mode)
            make_measurement(100.0 + 50.0 * number, configuration=configuration)
        publish(case_study)

    call_command("fit_scales", trajectories=4)

    assert "of 2 research groups" in capsys.readouterr().out
    monkeypatch.setattr(hierarchy, "PUBLISHED", written)
    scales = hierarchy.published_scales.__wrapped__()  # what it read before is kept
    draws = len(scales.weights)
    assert 1 < draws <= 32
    assert scales.weights.sum() == pytest.approx(1.0)
    assert scales.variances.shape == (draws, len(hierarchy.NAMES))
    assert (scales.variances > 0).all()
    # A group each, and sizes of what both measured.
    assert len(scales.factors) == 2
    assert {"cache_mode=none", "cache_mode=writeback"} <= scales.sizes.keys()
    assert "cache_mode=directsync" not in scales.sizes
    assert {len(part) for part in (scales.freedom, *scales.factors.values(), *scales.sizes.values())} == {draws}
    assert np.isfinite([*scales.factors.values(), *scales.sizes.values()]).all()
