"""Count how often the mechanisms' expectation was right on one workload, and test it against chance. No Django.

They have learnt from no result, so every comparison tests them. Source: docs/models/mechanisms.md.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from math import comb

import pandas as pd

from modelling.estimation.arms import Spread, comparable_arms, trials
from modelling.estimation.ranking import scored_findings
from modelling.evidence.axes import AXES, entry_parts

from .mechanisms import Matrix, Pair, predict
from .profiles import Profile

LEVEL = 0.05  # of the one-sided binomial test over laboratories
_PAIRS = AXES["fs-pair"]


@dataclass(frozen=True)
class TrackRecord:
    """A count of comparisons that went as the mechanisms let expect.

    compared : comparisons with an expectation and a difference; right : of them, those that went as expected
    laboratories : that made some; laboratories_right : of them, those that had more right than wrong
    """

    right: int = 0
    compared: int = 0
    laboratories_right: int = 0
    laboratories: int = 0

    @property
    def beats_chance(self) -> bool:
        """Tell whether a tossed coin would have so many laboratories right, or more, in less than LEVEL of all cases.

        Laboratories are what is independent; fewer than five can never show it.
        """
        ways = sum(comb(self.laboratories, count) for count in range(self.laboratories_right, self.laboratories + 1))
        return ways / 2**self.laboratories < LEVEL


def how_often(record: TrackRecord) -> str:
    """Say how often it was right: "in 3 of 11 comparisons on this workload it was right"."""
    if not record.compared:
        return "no comparison on this workload has tested it"
    plural = "" if record.compared == 1 else "s"
    return f"in {record.right} of {record.compared} comparison{plural} on this workload it was right"


def track_record(
    arms: pd.DataFrame, findings: pd.DataFrame, matrix: Matrix, profile: Profile, spread: Spread
) -> TrackRecord:
    """Return the record on pairs of file systems, of the numbers and tier lists of one workload.

    arms, findings : DataFrames of modelling.evidence.frames
    """
    of_laboratory: dict[str, list[bool]] = {}
    for laboratory, standing in _standings(arms, findings, spread):
        for a, b in combinations(sorted(standing), 2):
            lead = round(standing[a] - standing[b], 9)
            expected = predict(_pair(a), _pair(b), matrix, profile).sign
            if lead and expected:
                of_laboratory.setdefault(laboratory, []).append((lead > 0) == (expected > 0))
    return TrackRecord(
        right=sum(map(sum, of_laboratory.values())),
        compared=sum(map(len, of_laboratory.values())),
        laboratories_right=sum(2 * sum(each) > len(each) for each in of_laboratory.values()),
        laboratories=len(of_laboratory),
    )


def _standings(arms: pd.DataFrame, findings: pd.DataFrame, spread: Spread) -> Iterator[tuple[str, Mapping[str, float]]]:
    """Yield each laboratory with what it found: entry to a number, larger is better."""
    for trial in trials(comparable_arms(arms, _PAIRS, spread)):
        yield trial.name, dict(zip(trial.treatments, trial.effects.mean(axis=1).tolist(), strict=True))
    for _, rows in scored_findings(findings, _PAIRS).groupby("list"):
        yield rows["publication"].iloc[0], rows.groupby("entry")["standing"].mean().to_dict()


def _pair(entry: str) -> Pair:
    parts = entry_parts(_PAIRS, entry)
    return parts["guest_fs"], parts["host_fs"]
