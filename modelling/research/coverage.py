"""Do intervals hold what they say? Laboratories whose truth is known, through the road that answers take. No Django.

Every replication has entries with true effects, laboratories that differ from them by tau, and runs that differ by a
coefficient of variation; it goes arms -> comparable_arms -> trials -> posterior -> verdict, and is held against a
further laboratory that nobody saw. Source: docs/models/verdict.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from kdb.units import THROUGHPUT
from modelling.estimation.arms import Spread, comparable_arms, trials
from modelling.estimation.bayes import Posterior, posterior
from modelling.estimation.network import Trial
from modelling.estimation.verdict import USE, Choice, of_numbers
from modelling.evidence.axes import AXES, WHERE_STATED

ENTRIES = ("ext4", "btrfs", "xfs")  # the first is what one has without asking
EFFECTS = 0.2  # standard deviation of the true effects, ln ratio
# ln of an arm's coefficient of variation around the expected one: standard deviations between and within case studies.
BETWEEN, WITHIN = 0.6, 0.4
LABORATORIES, RUNS, TAUS = (1, 3, 5, 8), (2, 3, 5, 10), (0.0, 0.1, 0.2, 0.3)
BINS = np.linspace(0.0, 1.0, 11)


@dataclass
class Tally:
    """Counts over replications.

    held_mean, held_new : of `contrasts` the ones inside the interval of the mean and of the new laboratory
    said_best, was_best : (entries of all replications,) probability and truth; said_slower, was_slower likewise
    lost : way to choose to the losses of each replication, a share of the best in the new laboratory
    """

    contrasts: int = 0
    held_mean: int = 0
    held_new: int = 0
    said_best: list[float] = field(default_factory=list)
    was_best: list[bool] = field(default_factory=list)
    said_slower: list[float] = field(default_factory=list)
    was_slower: list[bool] = field(default_factory=list)
    lost: dict[str, list[float]] = field(default_factory=lambda: {"verdict": [], "mean": [], "first": []})

    def coverage(self) -> tuple[float, float]:
        """Return the shares held by the interval of the mean and by the prediction."""
        return self.held_mean / self.contrasts, self.held_new / self.contrasts

    def add(self, other: "Tally") -> None:
        """Count the other's replications as well."""
        for name in ("contrasts", "held_mean", "held_new", "said_best", "was_best", "said_slower", "was_slower"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for way, losses in other.lost.items():
            self.lost[way] += losses


def simulate(
    rng: np.random.Generator,
    replications: int,
    laboratories: int,
    runs: int,
    taus: Sequence[float] | np.ndarray,
    *,
    spread: Spread,
    tau_scale: float,
    margin: float,
) -> Tally:
    """Simulate so many laboratories and runs; taus : (replications,) true spreads between laboratories."""
    taus = np.asarray(taus)
    size = len(ENTRIES)
    truth = rng.normal(0, EFFECTS, (replications, size))
    apart = taus[:, None, None] / np.sqrt(2)
    seen = truth[:, None, :] + apart * rng.normal(size=(replications, laboratories, size))
    new = truth + apart[:, 0] * rng.normal(size=(replications, size))
    frame = _arms(rng, seen, runs, spread)
    trials_of: dict[int, list[Trial]] = {}
    for trial in trials(comparable_arms(frame, AXES["guest-fs"], spread)):
        trials_of.setdefault(int(trial.name.split("-")[0]), []).append(trial)
    tally = Tally()
    for number in range(replications):
        _hold(tally, posterior(ENTRIES, trials_of[number], tau_scale), truth[number], new[number], margin)
    return tally


def _arms(rng: np.random.Generator, seen: np.ndarray, runs: int, spread: Spread) -> pd.DataFrame:
    """Return the arms of (replications, laboratories, entries) effects, with the columns of evidence.frames."""
    shape = seen.shape
    variation = spread.variation * np.exp(BETWEEN * rng.normal(size=(*shape[:2], 1)) + WITHIN * rng.normal(size=shape))
    values = (seen + rng.normal(size=(*shape[:2], 1)))[..., None] + variation[..., None] * rng.normal(
        size=(*shape, runs)
    )
    replication, laboratory, entry = (places.ravel() for places in np.indices(shape))
    study = [f"{i:06}-{j}" for i, j in zip(replication, laboratory, strict=True)]
    alike: dict[str, str | int | None]
    alike = dict.fromkeys(("operation", "metric", "unit", "hypervisor", "host_fs", "virtualisation", "cache_mode"), "")
    alike |= dict.fromkeys(
        ("reference", "backend", *WHERE_STATED, "image_format", "disk_bus", "guest_os", "source"), ""
    )
    alike |= dict.fromkeys(("guest_mount_options", "host_mount_options"), "")
    alike |= {"metric": THROUGHPUT, "is_reviewed": True}
    alike |= {"variant_id": 1, "vm_count": 1, "block_size_bytes": None, "vm_vcpus": None, "vm_ram_gib": None}
    return pd.DataFrame(
        {
            "case_study": study,
            "laboratory": study,
            "guest_fs": np.array(ENTRIES)[entry],
            "configuration_id": np.arange(len(entry)),
            "origin": "measured",
            "measurements": runs,
            "runs": runs,
            "mean_log": values.mean(axis=-1).ravel(),
            "variance": values.var(axis=-1, ddof=1).ravel() / runs,
        }
    ).assign(**alike)


def _hold(tally: Tally, fitted: Posterior, truth: np.ndarray, new: np.ndarray, margin: float) -> None:
    """Hold one posterior against the truth and against what the new laboratory sees."""
    others = np.arange(1, len(truth))
    against = np.zeros_like(others)
    for name, quantiles, values in (
        ("held_mean", fitted.mean_quantiles, truth),
        ("held_new", fitted.new_quantiles, new),
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
    estimate = fitted.effects - fitted.effects.max()
    verdicts = of_numbers(
        [Choice(1 - np.exp(estimate[i]), forecast.slower[i], forecast.loss[i]) for i in order], margin
    )
    stays = verdicts[int(np.flatnonzero(order == 0)[0])] == USE
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
