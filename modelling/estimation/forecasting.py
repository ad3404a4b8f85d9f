"""Forecasts of what nobody measured: the form that makes them, and the parts that arms are made of. No Django.

Source: docs/models/forecasts.md.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import date

import numpy as np
import pandas as pd

from kdb.host_storage import host_storage_parts
from kdb.pairs import pair_key
from kdb.units import THROUGHPUT
from modelling.evidence.axes import AXES, MACHINE, Axis

from .arms import Spread, comparable_arms, trials
from .network import Trial
from .ordinal import from_tiers, joint
from .pooling import REST, Observed, Part, kinds_of
from .ranking import scored_findings

# The one place that says which form of modelling.validation.forecasts makes forecasts, and since when.
IN_USE, SINCE = "pooled", date(2026, 11, 22)

# The columns whose values are parts. No column holds two more parts: that a container shares the host's kernel, and
# the pair of both file systems.
COLUMNS = ("hypervisor", "guest_fs", "host_fs", "backend", "cache_mode", "image_format")
_READ = (*COLUMNS, "virtualisation")
CONTAINER = "container"
_WHOLE = Axis("parts", "Configuration", ("parts",), MACHINE)

# Scales of the half-normal priors on the standard deviations of pooled effects, ln ratio, by kind of part. Wide where
# caches and networks come with the part and make factors; file systems and hypervisors make percents.
_SCALE, _WIDE = 0.3, 1.0
SCALES = {
    REST: _SCALE,
    **{
        kind: _WIDE if part in (CONTAINER, "backend") else _SCALE
        for part in (*COLUMNS, CONTAINER, "pair")
        for kind in kinds_of(part)
    },
}


def parts(row: Mapping[str, object]) -> frozenset[Part]:
    """Return the stated parts of an arm or an entry: column to value. A host storage is its backend and file system."""
    stated = {column: value for column in _READ if isinstance(value := row.get(column), str) and value}
    if isinstance(key := row.get("host_storage"), str):
        backend, host_fs = host_storage_parts(key)
        stated |= {"backend": backend} | ({"host_fs": host_fs} if host_fs else {})
    if stated.pop("virtualisation", "") == CONTAINER:
        stated[CONTAINER] = "yes"
    if "guest_fs" in stated and "host_fs" in stated:
        stated["pair"] = pair_key(stated["guest_fs"], stated["host_fs"])
    return frozenset(stated.items())


def between(made_of: Sequence[frozenset[Part]], i: int, j: int) -> dict[Part, float]:
    """Return how much more of each part the i-th has than the j-th."""
    return dict.fromkeys(made_of[i] - made_of[j], 1.0) | dict.fromkeys(made_of[j] - made_of[i], -1.0)


def observed(arms: pd.DataFrame, workload: str, spread: Spread) -> list[Observed]:
    """Return the trials of one workload between whatever differs in some part.

    arms : DataFrame of modelling.evidence.frames.arms
    """
    made_of = [parts(row) for row in arms[list(_READ)].to_dict("records")]
    names = {made: repr(sorted(made)) for made in made_of}
    compared = comparable_arms(arms.assign(parts=[names[made] for made in made_of]), _WHOLE, spread)
    treatments = {name: tuple(sorted(made)) for made, name in names.items()}
    return [Observed(trial, treatments, workload, trial.name) for trial in trials(compared)]


def listed(findings: pd.DataFrame, workload: str, tier_scale: float, tier_doubt: float) -> list[Observed]:
    """Take each tier list of a workload as a trial: the normal approximation of its likelihood at its own mode.

    findings : DataFrame of modelling.evidence.frames.findings; the others as for modelling.estimation.ranking.rank
    """
    trials_of_lists = []
    for _, rows in scored_findings(findings, AXES["fs-pair"]).groupby("list"):
        first, sources = rows.iloc[0], {slug for slugs in rows["case_studies"] for slug in slugs}
        standing = rows.groupby("entry")["standing"].mean().to_dict()
        own = joint(sorted(standing), [], from_tiers(standing, len(sources), tier_doubt), tier_scale)
        variances = np.diag(own.covariance) * len(standing) / (len(standing) - 1)
        trial = Trial.from_arms(first["publication"], sorted(standing), own.effects, variances, tuple(sorted(sources)))
        made_of = {row["entry"]: tuple(sorted(parts(row))) for row in rows.to_dict("records")}
        trials_of_lists.append(Observed(trial, made_of, workload, first["publication"]))
    return trials_of_lists


def differences(arms: pd.DataFrame) -> Callable[[int, int], dict[Part, float]]:
    """Return the function that tells how much more entry i of a trial has of each part than entry j.

    arms : of modelling.estimation.arms.comparable_arms, of one trial whose entries are numbered in their order. Its
        averaging is linear in arms, so it is put to each part's indicator in place of the logarithm of throughput.
    """
    of_arm = [parts(row) for row in arms[list(_READ)].to_dict("records")]
    effects: dict[Part, np.ndarray] = {}
    for part in sorted(frozenset().union(*of_arm) - frozenset.intersection(*of_arm)):
        (trial,) = trials(arms.assign(mean_log=[float(part in own) for own in of_arm], metric=THROUGHPUT))
        effects[part] = trial.effects

    def between(i: int, j: int) -> dict[Part, float]:
        return {part: float(effect[i, j]) for part, effect in effects.items() if abs(effect[i, j]) > 1e-9}

    return between
