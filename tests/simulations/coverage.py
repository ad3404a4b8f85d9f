"""Do intervals and sentences hold what they say? Worlds whose truth is known, through the road that answers take. No
Django.

Every replication has entries with true effects, laboratories that differ from them, and runs that differ by a
coefficient of variation; it goes arms -> cells -> posterior -> ladder, and is held against a further laboratory that
nobody saw. Source: docs/models/verdict.md.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd

from kdb.units import THROUGHPUT
from modelling.estimation.arms import Spread, comparable_arms, trials
from modelling.estimation.bayes import Posterior
from modelling.estimation.cells import entry_rows, measurement_cells
from modelling.estimation.hierarchy import Knowledge, Scales
from modelling.estimation.links import Links
from modelling.estimation.network import Trial
from modelling.estimation.verdict import AVOID, LEADS, NO_DIFFERENCE, USE, EntryForecast, ladder
from modelling.evidence.axes import AXES
from modelling.evidence.dataframes import NO_ARMS

from .laboratories import NOTHING_KNOWN, WHERE

ENTRIES = ("ext4", "btrfs", "xfs")  # the first is what one has without asking
RUNS = 3
_ASKED = entry_rows(AXES["guest-fs"], ENTRIES, NOTHING_KNOWN, WHERE)
# ln of an arm's coefficient of variation around the expected one: standard deviations between and within case studies.
BETWEEN, WITHIN = 0.6, 0.4
KINDS = NORMAL, TAILS, ODD, GROUP = ("normal", "heavy tails", "one in four", "one group")
FREEDOM = 3  # of Student's t, where tails are heavy
SHARE, FOLD = 0.25, 4.0  # of laboratories that deviate more, and how many times as much
SHARED = 0.6  # of the variance between laboratories, by those of one research group
EFFECTS, TAUS, LABORATORIES = (0.2, 0.5), (0.0, 0.1, 0.3, 0.5), (1, 2, 3, 5)
BINS = np.linspace(0.0, 1.0, 11)


class World(NamedTuple):
    """The distribution that worlds are drawn from, all in ln ratio.

    kind : of KINDS; effects : standard deviation of the true effects; tau : that of a contrast between laboratories,
    before what its kind adds
    """

    kind: str
    effects: float
    tau: float
    laboratories: int


def worlds() -> Iterator[World]:
    """Yield every cell of the tables; without differences between laboratories all kinds are one."""
    for kind, effects, tau, laboratories in product(KINDS, EFFECTS, TAUS, LABORATORIES):
        if tau or kind == NORMAL:
            yield World(kind, effects, tau, laboratories)


@dataclass
class Tally:
    """Counts over replications.

    held_mean, held_new : of `contrasts` the ones inside the interval of the mean and of the new laboratory
    said_best, was_best : (entries of all replications,) probability and truth; said_slower, was_slower likewise
    kinds : of sentence, to how many replications had it
    told, came_true : "use" and "avoid" to the probabilities with which they were said, and whether they were right
    lost : way to choose to the losses of each replication, a share of the best in the new laboratory
    """

    contrasts: int = 0
    held_mean: int = 0
    held_new: int = 0
    said_best: list[float] = field(default_factory=list)
    was_best: list[bool] = field(default_factory=list)
    said_slower: list[float] = field(default_factory=list)
    was_slower: list[bool] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    told: dict[str, list[float]] = field(default_factory=lambda: {USE: [], AVOID: []})
    came_true: dict[str, list[bool]] = field(default_factory=lambda: {USE: [], AVOID: []})
    lost: dict[str, list[float]] = field(default_factory=lambda: {"verdict": [], "mean": [], "first": []})

    def coverage(self) -> tuple[float, float]:
        """Return the shares held by the interval of the mean and by the prediction."""
        return self.held_mean / self.contrasts, self.held_new / self.contrasts

    def add(self, other: "Tally") -> None:
        """Count the other's replications as well."""
        for name in ("contrasts", "held_mean", "held_new", "said_best", "was_best", "said_slower", "was_slower"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.kinds += other.kinds
        for name in ("told", "came_true", "lost"):
            ours = getattr(self, name)
            for key, values in getattr(other, name).items():
                ours[key] += values


def simulate(
    rng: np.random.Generator,
    world: World,
    replications: int,
    *,
    spread: Spread,
    scales: Scales,
    margin: float,
    differ: float,
) -> Tally:
    """Simulate so many replications of one kind of world; the rest as for modelling.estimation.ranking.Assumptions."""
    truth = rng.normal(0, world.effects, (replications, len(ENTRIES)))
    seen = truth[:, None, :] + deviations(rng, world, replications)
    new = seen[:, -1]
    frame = _arms(rng, seen[:, :-1], spread, is_one_group=world.kind == GROUP)
    trials_of: dict[int, list[Trial]] = {}
    for trial in trials(comparable_arms(frame, AXES["guest-fs"], spread)):
        trials_of.setdefault(int(trial.name.split("-")[0]), []).append(trial)
    cells = measurement_cells(frame, spread)
    cells_of = dict(iter(cells.groupby(cells["laboratory"].str.split("-").str[0].astype(int))))
    group_of = dict(frame[["laboratory", "research_group"]].drop_duplicates().itertuples(index=False, name=None))
    tally = Tally()
    for number in range(replications):
        links = Links(trials_of[number], group_of)
        known = Knowledge(cells_of[number], scales).posterior(_ASKED)
        _hold(tally, known, links, truth[number], new[number], margin, differ)
    return tally


def deviations(rng: np.random.Generator, world: World, replications: int) -> np.ndarray:
    """Return (replications, laboratories + 1, entries): the last is the laboratory that nobody saw."""
    shape = (replications, world.laboratories + 1, len(ENTRIES))
    own = world.tau / np.sqrt(2) * rng.normal(size=shape)
    if world.kind == TAILS:
        own *= np.sqrt(FREEDOM / rng.chisquare(FREEDOM, (*shape[:2], 1)))
    elif world.kind == ODD:
        own *= np.where(rng.random((*shape[:2], 1)) < SHARE, FOLD, 1.0)
    elif world.kind == GROUP:
        common = world.tau / np.sqrt(2) * rng.normal(size=(replications, 1, len(ENTRIES)))
        own[:, :-1] = np.sqrt(SHARED) * common + np.sqrt(1 - SHARED) * own[:, :-1]
    return own


def _arms(rng: np.random.Generator, seen: np.ndarray, spread: Spread, *, is_one_group: bool) -> pd.DataFrame:
    """Return the arms of (replications, laboratories, entries) effects, with the columns of evidence.dataframes."""
    shape = seen.shape
    variation = spread.variation * np.exp(BETWEEN * rng.normal(size=(*shape[:2], 1)) + WITHIN * rng.normal(size=shape))
    values = (seen + rng.normal(size=(*shape[:2], 1)))[..., None] + variation[..., None] * rng.normal(
        size=(*shape, RUNS)
    )
    replication, laboratory, entry = (places.ravel() for places in np.indices(shape))
    study = [f"{i:06}-{j}" for i, j in zip(replication, laboratory, strict=True)]
    alike = (
        dict.fromkeys(NO_ARMS.columns, "")
        | WHERE
        | {"metric": THROUGHPUT, "is_reviewed": True, "is_implausible": False}
    )
    alike |= {"variant_id": 1, "vm_count": 1, **dict.fromkeys(("block_size_bytes", "vm_vcpus", "vm_ram_gib"))}
    own = pd.DataFrame(
        {
            "case_study": study,
            "laboratory": study,
            "research_group": [f"{i:06}" for i in replication] if is_one_group else study,
            "guest_fs": np.array(ENTRIES)[entry],
            "configuration_id": np.arange(len(entry)),
            "origin": "measured",
            "measurements": RUNS,
            "runs": RUNS,
            "run_seconds": np.nan,
            "mean_log": values.mean(axis=-1).ravel(),
            "variance": values.var(axis=-1, ddof=1).ravel() / RUNS,
        }
    )
    return own.assign(**{name: value for name, value in alike.items() if name not in own})


def _hold(
    tally: Tally,
    fitted: Posterior,
    links: Links,
    truth: np.ndarray,
    new: np.ndarray,
    margin: float,
    differ: float,
) -> None:
    """Compare one posterior, and what is said from it, with the truth and with what the new laboratory sees."""
    others = np.arange(1, len(truth))
    against = np.zeros_like(others)
    for name, quantiles, values in (
        ("held_mean", fitted.mean_quantiles, truth),
        ("held_new", fitted.predictive_quantiles, new),
    ):
        low, high = quantiles(others, against, (0.025, 0.975)).T
        difference = values[1:] - values[0]
        setattr(tally, name, getattr(tally, name) + int(((low <= difference) & (difference <= high)).sum()))
    tally.contrasts += len(others)
    forecast = fitted.forecast(margin)
    behind = 1.0 - np.exp(new - new.max())
    tally.said_best += forecast.best.tolist()
    tally.was_best += (behind == 0).tolist()
    tally.said_slower += forecast.slower.tolist()
    tally.was_slower += (behind > margin).tolist()
    order = np.argsort(-fitted.effects)
    first = ENTRIES[order[0]]
    choices = [
        EntryForecast(
            behind=1.0 - np.exp(fitted.effects[i] - fitted.effects[order[0]]),
            slower=forecast.slower[i],
            loss=forecast.loss[i],
            groups=links.groups(first, ENTRIES[i]),
            factor=min(links.measured(first, ENTRIES[i]).values()),
        )
        for i in order
    ]
    sentence = ladder(choices, margin, differ=differ)
    tally.kinds[sentence.kind] += 1
    for i, word in zip(order, sentence.verdicts, strict=True):
        if word in tally.told:
            tally.told[word].append(float(1.0 - forecast.slower[i] if word == USE else forecast.slower[i]))
            tally.came_true[word].append(bool((behind[i] > margin) == (word == AVOID)))
    stays = sentence.verdicts[int(np.flatnonzero(order == 0)[0])] in (USE, LEADS, NO_DIFFERENCE)
    for way, chosen in (("verdict", 0 if stays else order[0]), ("mean", order[0]), ("first", 0)):
        tally.lost[way].append(float(behind[chosen]))


def calibration(foretold: Sequence[float], was: Sequence[bool]) -> list[tuple[float, float, int]]:
    """Return mean probability said, share that came true, and count, for each tenth of what is said that has any."""
    probability, came_true = np.asarray(foretold), np.asarray(was)
    place = np.clip(np.digitize(probability, BINS) - 1, 0, len(BINS) - 2)
    return [
        (float(probability[place == b].mean()), float(came_true[place == b].mean()), int((place == b).sum()))
        for b in range(len(BINS) - 1)
        if (place == b).any()
    ]
