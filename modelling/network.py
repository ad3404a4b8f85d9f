"""One estimate from many trials: entries that were never measured together compare through others.

No Django. Source: fixed-effect network meta-analysis with arms as outcomes (a weighted two-way
analysis: entry and trial); docs/models/ranking.md.
"""

from dataclasses import dataclass

import numpy as np

from .evidence import Trial
from .graph import connected


@dataclass(frozen=True)
class Part:
    """One connected part of the network.

    effects : float array, one an entry, ln(throughput) up to a constant of the part
    covariance : square array; Var(effect i - effect j) = C[i,i] + C[j,j] - 2 C[i,j]
    heterogeneity : Q, the weighted squares the trials leave unexplained
    freedom : its degrees of freedom, 0 where the trials cannot disagree
    """

    entries: tuple[str, ...]
    effects: np.ndarray
    covariance: np.ndarray
    heterogeneity: float
    freedom: int

    def difference_errors(self) -> np.ndarray:
        """Square array: standard error of effect i - effect j."""
        own = np.diag(self.covariance)
        return np.sqrt(np.maximum(own[:, None] + own[None, :] - 2 * self.covariance, 0.0))


def estimate(trials: list[Trial]) -> list[Part]:
    """The parts of the network, largest first; no trials give no parts.

    Each trial measures its entries up to a level of its own, with independent errors. Where trials
    disagree more than their variances explain, the covariance is widened by Q / degrees of freedom.
    """
    entries = sorted({entry for trial in trials for entry in trial.entries})
    if not entries:
        return []
    place = {entry: index for index, entry in enumerate(entries)}
    laplacian, right = np.zeros((len(entries), len(entries))), np.zeros(len(entries))
    for trial in trials:
        at = np.array([place[entry] for entry in trial.entries])
        weights = _within(trial)
        laplacian[np.ix_(at, at)] += weights
        right[at] += weights @ trial.effects
    return [_part(members, entries, laplacian, right, trials) for members in connected(laplacian)]


def _within(trial: Trial) -> np.ndarray:
    """Weights of the trial's contrasts once its own level is eliminated."""
    weight = 1.0 / trial.variances
    return np.diag(weight) - np.outer(weight, weight) / weight.sum()


def _part(
    members: np.ndarray, entries: list[str], laplacian: np.ndarray, right: np.ndarray, trials: list[Trial]
) -> Part:
    names = tuple(entries[index] for index in members)
    covariance = np.linalg.pinv(laplacian[np.ix_(members, members)], hermitian=True)
    effects = covariance @ right[members]
    place = {name: index for index, name in enumerate(names)}
    inside = [trial for trial in trials if trial.entries[0] in place]
    heterogeneity = 0.0
    for trial in inside:
        rest = trial.effects - effects[[place[entry] for entry in trial.entries]]
        heterogeneity += float(rest @ _within(trial) @ rest)
    freedom = sum(len(trial.entries) - 1 for trial in inside) - (len(names) - 1)
    widening = max(1.0, heterogeneity / freedom) if freedom > 0 else 1.0
    return Part(names, effects, covariance * widening, heterogeneity, freedom)
