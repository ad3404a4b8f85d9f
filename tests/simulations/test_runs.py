"""A small version of python -m tests.simulations value_of_runs; docs/models/verdict.md has the large one."""

import io
import json

import numpy as np
import pytest
from django.core.management import call_command

from modelling.estimation.hierarchy import published_scales
from tests.simulations.commands import value_of_runs
from tests.simulations.runs import KINDS, MODEL, simulate

pytestmark = pytest.mark.slow


@pytest.mark.nightly
def test_runs_gain_what_was_promised_of_every_kind_of_set():
    # 160 worlds, 80 of pairs: the standard error of a ratio is 0.04.
    promises = simulate(np.random.default_rng(2), MODEL, 40, variation=0.05, repetitions=2, scales=published_scales())
    assert set(promises) == set(KINDS)
    assert {kind: 0.8 < promise.ratio() < 1.25 for kind, promise in promises.items()} == dict.fromkeys(KINDS, True)
    assert max(promise.error() for promise in promises.values()) < 0.08


@pytest.mark.nightly
def test_the_command_says_the_same_in_both_forms(simulated_once):
    simulated_once(value_of_runs)
    told = []
    for form in ([], ["--json"]):
        out = io.StringIO()
        call_command(value_of_runs.Command(), "--replications", "2", *form, stdout=out)
        told.append(out.getvalue())
    rows = json.loads(told[1])["rows"]
    assert {row["kind"] for row in rows} == set(KINDS)
    assert f"{rows[0]['promised_percent']:.1f}" in told[0].splitlines()[1]
