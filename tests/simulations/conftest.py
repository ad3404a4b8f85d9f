"""The fixture that the tests of simulations share."""

from types import ModuleType
from typing import Any

import pytest


@pytest.fixture
def simulated_once(monkeypatch):
    """Have a command that is called twice simulate each world once."""

    def patch(command: ModuleType) -> None:
        simulate, tallies = command.simulate, {}

        def once(rng: Any, world: Any, *arguments: Any, **options: Any) -> Any:
            if world not in tallies:
                tallies[world] = simulate(rng, world, *arguments, **options)
            return tallies[world]

        monkeypatch.setattr(command, "simulate", once)

    return patch
