"""The fixtures that the tests of inference share."""

from dataclasses import replace

import pytest

from modelling.answers import estimate, knowledge
from modelling.answers.knowledge import assumptions
from tests.modelling.scales import BY_LOAD


@pytest.fixture
def laboratories_alike(monkeypatch):
    """Hardly anything is drawn towards no difference, so that an answer can be worked by hand."""
    for module in (estimate, knowledge):
        monkeypatch.setattr(module, "assumptions", lambda: replace(assumptions(), scales=BY_LOAD))
    knowledge._load_knowledge.cache_clear()
    yield
    knowledge._load_knowledge.cache_clear()
