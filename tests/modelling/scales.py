"""Cells and scales for tests that work estimates by hand."""

from dataclasses import replace

import numpy as np
import pandas as pd

from modelling.estimation.cells import COLUMNS
from modelling.estimation.hierarchy import KINDS, NAMES, Scales

_FOLLOWING = ("container", "pair", "copy_on_write", "networked", "flushed")  # from other choices: nothing by themselves
_FREE = [f"shared {kind}" for kind in KINDS if kind not in _FOLLOWING]


def variances(**squares: float) -> np.ndarray:
    """Return one draw of variances. shared : of main effects; others by their names, with _ for a blank"""
    named = {name.replace("_", " ", 1) if name.startswith("own") else name: own for name, own in squares.items()}
    own = {**dict.fromkeys(_FREE, named.pop("shared")), **named}
    return np.array([[own.get(name, 1e-12) for name in NAMES]])


# Laboratories are taken to agree and effects may be anything, so that only the spread of runs is left.
ALIKE = Scales(np.ones(1), variances(shared=10.0), np.full(1, 10.0), factors={}, sizes={})
# The same, and what a load does tells nothing of another.
BY_LOAD = replace(ALIKE, variances=variances(shared=0.01, load=1e3))


def cells(*rows: tuple[str, str, float], variance: float = 0.0025, **stated: str) -> pd.DataFrame:
    """Return cells of rows (laboratory, guest file system, ln speed), comparable inside a laboratory under one load.

    stated : further columns, the same for all; a laboratory is a group of its own unless `group` is stated
    """
    frame = pd.DataFrame("", index=range(len(rows)), columns=list(COLUMNS)).astype(object)
    frame["laboratory"], frame["guest_fs"], outcomes = zip(*rows, strict=True) if rows else ((), (), ())
    frame = frame.assign(**{"group": frame["laboratory"], "workload": "varmail", "load": "synchronous", **stated})
    level = pd.factorize(frame["laboratory"] + frame["workload"])[0]
    numbers = {"outcome": np.array(outcomes, dtype=float), "variance": np.full(len(rows), variance)}
    return frame.assign(configuration=range(len(rows)), level=level, **numbers)


def asked(*guests: str, **where: str) -> pd.DataFrame:
    """Return rows that ask for these guest file systems under the load of `cells`."""
    told = {"load": "synchronous", "workload": "varmail", **where}
    return pd.DataFrame([{"guest_fs": guest, **told} for guest in guests], index=pd.Index(guests, name="entry"))
