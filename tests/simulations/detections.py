"""What detection says of machines whose load is known, by its own figures on runs that taught it nothing.

Each load's minutes get one result, drawn from those of its runs (docs/models/detection.md); a load that nobody knows is
one of the programs that are held back and belong to no workload.
"""

from collections.abc import Mapping
from functools import cache

import numpy as np
from django.conf import settings

from experiments.laboratory.transport.counters import NAMES, Counts
from experiments.published_evidence import signatures
from modelling.fleet.detection.content import HELD_BACK, IDLE, UNLIKE, Mix, Report
from modelling.fleet.detection.evaluation import Known, model_of
from modelling.fleet.moving import observed_fleet

WORKLOADS = ("atto", "fileserver", "randomfileaccess", "varmail", "webserver")


@cache
def report() -> Report:
    """Return the figures of the model of the signatures that come with KDB."""
    rows = signatures.read(settings.BASE_DIR / "fixtures/signatures.csv")
    counts = [Counts(**{name: row[name] for name in NAMES}) for row in rows]
    known = [Known(row["workload"], row["source"], row["seconds"], own) for row, own in zip(rows, counts, strict=True)]
    return model_of(known, WORKLOADS)[1]


def detected(shares: Mapping[str, float], rng: np.random.Generator) -> observed_fleet.Mix:
    """Return what plans take a machine to do. shares : workload to its share of the minutes, "" a load nobody knows"""
    alone: dict[str, float] = {}
    others: dict[str, float] = {}
    unlike = certain = 0.0
    for load, share in shares.items():
        result = _result(load, rng) if share else UNLIKE
        if result in report().sureness:
            alone[result] = alone.get(result, 0.0) + share
            certain += share * report().sureness[result]
        elif result == UNLIKE:
            unlike += share
        else:
            others[result] = others.get(result, 0.0) + share
    total = sum(alone.values())
    mix = {workload: share / total for workload, share in alone.items()}
    return observed_fleet.mix_of_detected(
        Mix(mix, certain / total if total else 0.0, 1440, 0.0, unlike, others, why_not=None if total else "none")
    )


def _result(load: str, rng: np.random.Generator) -> str:
    """Draw what a run of this load was said to be: a class, several joined by OR, or UNLIKE."""
    told = report()
    if load:
        results = told.confusion_of_runs.get(load, {UNLIKE: 1})
    else:
        programs = [name for name in told.held_back if name.partition(HELD_BACK)[0] not in told.workloads]
        results = told.held_back[programs[rng.integers(len(programs))]]
    names = [name for name in results if name != IDLE]
    counts = np.array([results[name] for name in names], float)
    return names[rng.choice(len(names), p=counts / counts.sum())]
