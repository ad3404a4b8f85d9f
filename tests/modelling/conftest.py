"""The fixtures that the tests of inference share."""

from dataclasses import replace

import pytest

from modelling.answers import estimate
from modelling.answers.estimate import assumptions
from tests.modelling.scales import ALIKE


@pytest.fixture
def laboratories_alike(monkeypatch):
    """Hardly anything is drawn towards no difference, so that an answer can be worked by hand."""
    monkeypatch.setattr(estimate, "assumptions", lambda: replace(assumptions(), scales=ALIKE))
