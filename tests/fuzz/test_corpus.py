"""Inputs from which fuzzing learnt or that broke a target are tried again: script/fuzz --keep leaves a few for each
target in tests/data/fuzz.
"""

import pytest

from .targets import KEPT, TARGETS, scene

WITHOUT_DATABASE = [name for name, target in TARGETS.items() if not target.needs_scene]
WITH_DATABASE = [name for name, target in TARGETS.items() if target.needs_scene]


def try_kept(name: str) -> None:
    """Try all of them, and name the one that fails."""
    kept = sorted((KEPT / name).iterdir())
    assert kept
    for path in kept:
        try:
            TARGETS[name].check(path.read_bytes())
        except Exception as error:
            raise AssertionError(f"{path} breaks {name}") from error


def test_every_kept_input_has_a_target():
    assert {path.name for path in KEPT.iterdir()} == set(TARGETS)


@pytest.mark.parametrize("name", WITHOUT_DATABASE)
def test_no_kept_input_breaks_a_reader(name):
    try_kept(name)


@pytest.mark.sqlite
@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_DATABASE)
def test_no_kept_input_breaks_what_asks_the_database(published_evidence, name):
    scene()
    try_kept(name)
