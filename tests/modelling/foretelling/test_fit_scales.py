"""The scales that rankings read are those that the published evidence gives."""

import json

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from experiments.published_evidence import load
from experiments.published_evidence.endings import end_replaced
from modelling.estimation import hierarchy
from modelling.estimation.partial_pooling import PUBLISHED, published_scales
from modelling.management.commands import fit_scales

pytestmark = pytest.mark.sqlite


@pytest.mark.slow
def test_the_file_of_scales_is_what_the_command_writes_of_the_published_evidence(
    published_evidence, tmp_path, monkeypatch, capsys
):
    load.load_outside(load.DIRECTORY / "outside")
    end_replaced()
    kept_proposal = hierarchy.published_proposal()
    written = tmp_path / "scales.json"
    monkeypatch.setattr(fit_scales, "PUBLISHED", written)
    monkeypatch.setattr(hierarchy, "PUBLISHED", tmp_path / "proposal.json")
    call_command("fit_scales")
    assert "wrote 32 draws of 11 choices" in capsys.readouterr().out
    hierarchy.published_proposal.cache_clear()
    proposal = hierarchy.published_proposal()
    hierarchy.published_proposal.cache_clear()
    assert proposal.scores == pytest.approx(kept_proposal.scores, abs=0.05)
    np.testing.assert_allclose(proposal.root, kept_proposal.root, atol=0.05)
    fresh, kept = (json.loads(path.read_text(encoding="utf-8")) for path in (written, PUBLISHED))
    assert fresh.keys() == kept.keys() == vars(published_scales()).keys()
    assert fresh.pop("names") == kept.pop("names")
    weights = [np.array(scales.pop("weights")) for scales in (fresh, kept)]
    # Another machine's rounding moves draws a little; other evidence or another model moves their means by more.
    for name, part in kept.items():
        mean, before = weights[0] @ np.array(fresh[name]), weights[1] @ np.array(part)
        assert mean == pytest.approx(before, rel=0.02, abs=1e-4), name


@pytest.mark.django_db
def test_without_evidence_the_command_says_so_and_leaves_the_file(monkeypatch, tmp_path):
    monkeypatch.setattr(fit_scales, "PUBLISHED", tmp_path / "scales.json")
    monkeypatch.setattr(hierarchy, "PUBLISHED", tmp_path / "proposal.json")
    with pytest.raises(CommandError):
        call_command("fit_scales")
    assert list(tmp_path.iterdir()) == []
