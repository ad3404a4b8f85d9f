"""Recommendations for research groups that are left out: what is said of the choice comes true."""

import numpy as np
import pandas as pd
import pytest

from experiments.published_evidence.load import load_outside
from modelling.answers import knowledge
from modelling.estimation.hierarchy import CHOICES
from modelling.estimation.recommendation import Option, recommend
from modelling.estimation.verdict import NOT_KNOWN
from tests.test_architecture import ROOT

MARGIN = 0.1


@pytest.fixture
def told(published_evidence) -> pd.DataFrame:
    """Return for each comparison of each group what the others recommend, and what the group measured of it."""
    load_outside(ROOT / "fixtures" / "outside")
    known = knowledge.published_knowledge()
    rows = []
    for level, measured in known.cells.groupby("level"):
        varied = {choice for choice in CHOICES if measured[choice].nunique() > 1}
        group = measured["group"].iloc[0]
        fitted = known.fitted(varied, measured["load"].iloc[0]) if varied else None
        if fitted is None or group not in fitted.factors:
            continue
        asked = measured.set_index(measured.index.map(str))
        posterior = fitted.leave_out(group).posterior(asked[[*CHOICES, "load", "storage", "workload"]])
        offered = [Option(key, 1) for key in posterior.treatments]
        recommended = recommend(offered, posterior, NOT_KNOWN, MARGIN)
        outcomes = dict(zip(posterior.treatments, measured["outcome"], strict=True))
        best, own = max(outcomes.values()), outcomes[recommended.choice[0]]
        rows.append(
            {
                "group": group,
                "level": level,
                "chance": recommended.chance,
                "is_best": own == best,
                "often": recommended.cost_one_in_ten / 100,
                "loss": 1 - np.exp(own - best),
                "blind": 1 - np.exp(np.mean(list(outcomes.values())) - best),
            }
        )
    frame = pd.DataFrame(rows)
    return frame.assign(weight=1 / frame.groupby("group")["level"].transform("size"))


@pytest.mark.nightly
def test_what_is_said_of_the_choice_comes_true(told):
    def mean(column: pd.Series) -> float:
        return float(np.average(column, weights=told["weight"]))

    assert told["group"].nunique() > 30
    spread = np.sqrt(mean(told["chance"] * (1 - told["chance"])) / told["group"].nunique())
    assert abs(mean(told["chance"]) - mean(told["is_best"])) < 2 * spread
    assert mean(told["loss"] > told["often"]) < 0.1 + 2 * np.sqrt(0.09 / told["group"].nunique())
    assert mean(told["loss"]) < mean(told["blind"])
