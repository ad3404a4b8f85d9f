"""Count how often the mechanisms' expectation was right on one workload. No Django.

The rules were fixed before looking at results, so every comparison tests them. Source: docs/models/mechanisms.md.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

import pandas as pd

from modelling.estimation.arms import Spread, comparable_arms, trials
from modelling.estimation.cells import scored_findings
from modelling.evidence.axes import AXES, entry_parts

from .mechanisms import Matrix, Pair, expect
from .profiles import Profile

_PAIRS = AXES["fs-pair"]


@dataclass(frozen=True)
class TrackRecord:
    """compared : comparisons with an expectation and a difference; right : those of them that went as expected"""

    right: int = 0
    compared: int = 0


def describe_record(record: TrackRecord) -> str:
    """Describe how often it was right: "in 3 of 11 comparisons on this workload it was right"."""
    if not record.compared:
        return "no comparison on this workload has tested it"
    plural = "" if record.compared == 1 else "s"
    return f"in {record.right} of {record.compared} comparison{plural} on this workload it was right"


def track_record(
    arms: pd.DataFrame, findings: pd.DataFrame, matrix: Matrix, profile: Profile, spread: Spread
) -> TrackRecord:
    """Return the record on pairs of file systems, of the numbers and tier lists of one workload.

    arms, findings : DataFrames of modelling.evidence.dataframes
    """
    hits = []
    for standing in _standings(arms, findings, spread):
        for a, b in combinations(sorted(standing), 2):
            lead = round(standing[a] - standing[b], 9)
            expected = expect(_pair(a), _pair(b), matrix, profile).sign
            if lead and expected:
                hits.append((lead > 0) == (expected > 0))
    return TrackRecord(sum(hits), len(hits))


def _standings(arms: pd.DataFrame, findings: pd.DataFrame, spread: Spread) -> Iterator[Mapping[str, float]]:
    """Yield the results of each trial and tier list: entry to a number, larger is better."""
    for trial in trials(comparable_arms(arms, _PAIRS, spread)):
        yield dict(zip(trial.treatments, trial.effects.mean(axis=1).tolist(), strict=True))
    for _, rows in scored_findings(findings, _PAIRS).groupby("list"):
        yield rows.groupby("entry")["standing"].mean().to_dict()


def _pair(entry: str) -> Pair:
    parts = entry_parts(_PAIRS, entry)
    return parts["guest_fs"], parts["host_fs"]
