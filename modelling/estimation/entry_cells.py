"""The cells that tell of a question's entries: what each laboratory's numbers and each tier list say. No Django."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from kdb.host_storage import host_storage_parts
from kdb.pairs import pair_key
from modelling.evidence.axes import Axis, entry_parts

from .arms import trials
from .hierarchy import CHOICES
from .network import Trial
from .ordinal import from_tiers, joint
from .partial_pooling import SETTING

_BY = ["laboratory", "storage"]
COLUMNS = ("entry", "trial", "laboratory", "group", "storage", "outcome", "variance")


def choices_of(axis: Axis, keys: Sequence[str], arms: pd.DataFrame) -> pd.DataFrame:
    """Return the choices that make each entry, as modelling.estimation.partial_pooling.posterior asks for them.

    arms : of comparable_arms; tell which entries are containers
    """
    if axis.setting:
        column = axis.setting.column
        return pd.DataFrame({column if column in CHOICES else SETTING: list(keys)}, index=pd.Index(keys, name="entry"))
    in_containers = set(arms["entry"][arms["virtualisation"] == "container"].unique())
    rows = []
    for key in keys:
        parts = entry_parts(axis, key)
        if "host_storage" in parts:
            backend, host_fs = host_storage_parts(parts.pop("host_storage"))
            parts |= {"backend": backend, "host_fs": host_fs}
        if {"guest_fs", "host_fs"} <= parts.keys():
            parts["pair"] = pair_key(parts["guest_fs"], parts["host_fs"])
        if "hypervisor" in parts:
            parts["container"] = "yes" if key in in_containers else ""
        rows.append(parts)
    return pd.DataFrame(rows, index=pd.Index(keys, name="entry"))


def cells_of(
    arms: pd.DataFrame, per_laboratory: Sequence[Trial], findings: pd.DataFrame, tier_scale: float, tier_doubt: float
) -> pd.DataFrame:
    """Return a cell for each entry in each trial and in each tier list.

    arms : of comparable_arms; per_laboratory : their trials; findings : of scored_findings
    tier_scale, tier_doubt : as for modelling.estimation.ranking.Assumptions
    """
    cells = [*_of_numbers(arms, per_laboratory), *_of_lists(findings, tier_scale, tier_doubt)]
    return pd.DataFrame(cells, columns=COLUMNS)


def _of_numbers(arms: pd.DataFrame, per_laboratory: Sequence[Trial]) -> Iterable[tuple[object, ...]]:
    if arms.empty:
        return
    where = arms[[*_BY, "research_group"]].drop_duplicates(_BY)
    context = {str(index): row for index, row in enumerate(where.itertuples(index=False, name=None))}
    if where["laboratory"].is_unique:
        of_laboratory = {row[0]: index for index, row in context.items()}
        number_of = [of_laboratory[trial.name] for trial in per_laboratory]
    else:  # a laboratory with several kinds of disk: a trial of each
        number = arms[_BY].merge(where[_BY].reset_index(drop=True).reset_index(), on=_BY)["index"].astype(str)
        number = number.to_numpy()
        study = arms["case_study"].astype(str).to_numpy() + " on " + number
        per_laboratory = trials(arms.assign(laboratory=number, case_study=study))
        number_of = [trial.name for trial in per_laboratory]
    for place, (trial, number) in enumerate(zip(per_laboratory, number_of, strict=True)):
        laboratory, storage, group = context[number]
        yield from of_trial(trial, place, laboratory, group, storage)


def of_trial(trial: Trial, place: int, laboratory: str, group: str, storage: str) -> Iterable[tuple[object, ...]]:
    """Yield the cells of one trial of independent arms, as COLUMNS. place : its number among the trials"""
    assert trial.arm_effects is not None
    assert trial.arm_variances is not None
    for entry, outcome, variance in zip(trial.treatments, trial.arm_effects, trial.arm_variances, strict=True):
        yield entry, place, laboratory, group, storage, outcome, variance


def _of_lists(findings: pd.DataFrame, tier_scale: float, tier_doubt: float) -> Iterable[tuple[object, ...]]:
    """Yield the cells of tier lists, by the normal approximation of their likelihood at the mode.

    A list counts as the report of one laboratory, however many case studies it is said to hold for.
    """
    for number, tiers in findings.groupby("list") if len(findings) else ():
        standing = tiers.groupby("entry")["standing"].mean().to_dict()
        entries = sorted(standing)
        own = joint(entries, [], from_tiers(standing, 1, tier_doubt), tier_scale)
        variances = np.diag(own.covariance) * len(entries) / (len(entries) - 1)
        row = tiers.iloc[0]
        group = row["research_groups"][0]
        for entry, outcome, variance in zip(entries, own.effects, variances, strict=True):
            yield entry, -1 - number, row["publication"], group, "", outcome, variance
