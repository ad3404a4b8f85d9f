"""Count the research groups behind each comparison of two entries, direct or through others. No Django."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np

from .network import Trial


class Links:
    """The comparisons of entries that trials, each of one laboratory, made.

    group_of : laboratory to its research group; a laboratory that it lacks is a group by itself
    """

    def __init__(self, trials: Iterable[Trial], group_of: Mapping[str, str]) -> None:
        self.trials = tuple(trials)
        self.group_of = group_of
        self.place = {
            name: index for index, name in enumerate(sorted({name for t in self.trials for name in t.treatments}))
        }

    def groups(self, a: str, b: str) -> int:
        """Count the research groups on the weakest link of the best chain between two entries."""
        return int(self._widest[self.place[a], self.place[b]]) if a in self.place and b in self.place else 0

    def measured(self, a: str, b: str) -> dict[str, float]:
        """Return each laboratory that compared both, with the ratio of a to b that it measured."""
        return {
            trial.name: float(np.exp(trial.effects[trial.treatments.index(a), trial.treatments.index(b)]))
            for trial in self.trials
            if a in trial.treatments and b in trial.treatments
        }

    def beaten_by(self, entries: Sequence[str]) -> dict[int, set[int]]:
        """Return, for each entry, the entries that every laboratory that compared both measured faster; by place."""
        known = [(place, self.place[entry]) for place, entry in enumerate(entries) if entry in self.place]
        greatest = np.full((len(self.place), len(self.place)), -np.inf)  # ln ratio; -inf: never measured side by side
        for trial in self.trials:
            at = np.ix_(*[[self.place[name] for name in trial.treatments]] * 2)
            greatest[at] = np.maximum(greatest[at], trial.effects)
        beaten = np.isfinite(greatest) & (greatest < 0)
        rivals = {place: {other for other, column in known if beaten[row, column]} for place, row in known}
        return {place: others for place, others in rivals.items() if others}

    @cached_property
    def _widest(self) -> np.ndarray:
        """Return (n, n) numbers of groups on the weakest link of the best chain, by the Floyd-Warshall algorithm."""
        size = len(self.place)
        by_group: dict[str, np.ndarray] = {}
        for trial in self.trials:
            at = [self.place[name] for name in trial.treatments]
            group = self.group_of.get(trial.name, trial.name)
            by_group.setdefault(group, np.zeros((size, size), dtype=bool))[np.ix_(at, at)] = True
        widest = np.sum(list(by_group.values()), axis=0, dtype=int) if by_group else np.zeros((size, size), dtype=int)
        for middle in range(size):
            widest = np.maximum(widest, np.minimum.outer(widest[:, middle], widest[middle]))
        return widest
