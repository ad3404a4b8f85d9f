"""Decide among choices by runs where no server can be asked: modelling.estimation.sequential in plain Python, with
nothing published. What it computes is explained there; a test compares the two.
"""

import math
import random
from collections.abc import Sequence
from typing import NamedTuple

MARGIN = 0.1
SURE, LOSS = 0.9, 0.02
PLACES, ALIKE = 0.7, 0.2  # standard deviation of ln speed: between two places, and of choices on one
DRAWS, SAMPLES = 400, 4000
USUAL, APART, BY_CHOICE = 0.12, 1.0, 0.3
BOUNDS = 0.01, 0.8
EARLY, OFF, MOST_EARLY = 0.35, 0.6, 2
DISTURBED, SLOWER, WIDER = 0.05, 0.15, 0.4
LEAST = 2
OUT, OPEN, LIKELY = 0.01, 0.05, 0.5
TIED = 12
LARGEST = 6
LEVEL = 100.0
Matrix = list[list[float]]


class Standing(NamedTuple):
    """How n choices stand. first : place of the one to use; ratios : median, low and high (95 %) against that one"""

    first: int
    within: list[float]
    losses: list[float]
    ratios: list[tuple[float, float, float]]


class Trial:
    """What is known of choices on these places, of which two may be the same."""

    def __init__(self, places: Sequence[str]) -> None:
        self.size = len(places)
        self.runs = [0] * self.size
        self.weights = [1 / DRAWS] * DRAWS
        self.noise, self.early = draws(DRAWS, self.size)
        self.means = [[0.0] * (2 * self.size) for _ in range(DRAWS)]
        self.covariances = [self._before(places, early) for early in self.early]

    def _before(self, places: Sequence[str], early: Sequence[int]) -> Matrix:
        covariance = [[0.0] * (2 * self.size) for _ in range(2 * self.size)]
        for i, one in enumerate(places):
            for j, other in enumerate(places):
                covariance[i][j] = PLACES**2 * (one == other) + ALIKE**2 * (i == j)
            covariance[self.size + i][self.size + i] = OFF**2 * (early[i] > 0)
        return covariance

    def update(self, places: Sequence[int], outcomes: Sequence[float]) -> None:
        """Take in a block of runs. places : of their choices, each once; outcomes : ln speed"""
        middle = sum(outcomes) / len(outcomes)
        shown = [outcome - middle for outcome in outcomes]
        logs = [self._after(number, places, shown) for number in range(DRAWS)]
        top = max(logs)
        likely = [weight * math.exp(log - top) for weight, log in zip(self.weights, logs, strict=True)]
        self.weights = [weight / sum(likely) for weight in likely]
        for place in places:
            self.runs[place] += 1

    def _after(self, number: int, places: Sequence[int], shown: Sequence[float]) -> float:
        """Condition a draw on a block; return the ln likelihood of the block."""
        mean, covariance, count = self.means[number], self.covariances[number], len(places)
        parts = [
            (place, self.size + place) if self.runs[place] < self.early[number][place] else (place,) for place in places
        ]
        across = [[sum(covariance[part][m] for part in own) for m in range(2 * self.size)] for own in parts]
        total = [[sum(across[i][part] for part in parts[j]) + LEVEL for j in range(count)] for i in range(count)]
        for i, place in enumerate(places):
            total[i][i] += self.noise[number][place] ** 2
        inverse, log_determinant = _inverse(total)
        apart = [shown[i] - sum(mean[part] for part in parts[i]) for i in range(count)]
        ways = [_way(inverse, apart, way) for way in (None, *range(count))]
        chances = [share / (1 + DISTURBED * count) for share in (1.0, *[DISTURBED] * count)]
        logs = [
            math.log(chance) - (misfit + log_determinant + more) / 2
            for chance, (_, misfit, more) in zip(chances, ways, strict=True)
        ]
        top = max(logs)
        shares = [math.exp(log - top) for log in logs]
        likely = sum(shares)
        shares = [share / likely for share in shares]
        moves = [_times(weighed, across) for weighed, _, _ in ways]
        move = _times(shares, moves)
        gain = [list(row) for row in inverse]
        for i in range(count):  # what one disturbed run takes away
            less = shares[1 + i] * WIDER**2 / (1 + WIDER**2 * inverse[i][i])
            for j in range(count):
                for k in range(count):
                    gain[j][k] -= less * inverse[j][i] * inverse[i][k]
        gained = [_times(row, across) for row in gain]
        for m, row in enumerate(covariance):
            for n in range(2 * self.size):
                row[n] -= sum(across[i][m] * gained[i][n] for i in range(count))
                row[n] += sum(
                    share * (way[m] - move[m]) * (way[n] - move[n]) for share, way in zip(shares, moves, strict=True)
                )
        self.means[number] = [one + by for one, by in zip(mean, move, strict=True)]
        return top + math.log(likely)

    def standing(self) -> Standing:
        """Return how the choices stand, from a fixed set of samples."""
        samples = self._samples()
        best = [max(sample) for sample in samples]
        lost = [[1 - math.exp(value - top) for value in sample] for sample, top in zip(samples, best, strict=True)]
        losses = [sum(column) / SAMPLES for column in zip(*lost, strict=True)]
        within = [sum(loss <= MARGIN for loss in column) / SAMPLES for column in zip(*lost, strict=True)]
        first = losses.index(min(losses))
        ratios = []
        for place in range(self.size):
            apart = sorted(sample[place] - sample[first] for sample in samples)
            middle, low, high = (math.exp(apart[int(share * SAMPLES)]) for share in (0.5, 0.025, 0.975))
            ratios.append((middle, low, high))
        return Standing(first, within, losses, ratios)

    def _samples(self) -> list[list[float]]:
        chance = random.Random(2)  # noqa: S311 - no secret
        ahead, number, samples, root = self.weights[0], 0, [], self._root(0)
        for sample in range(SAMPLES):
            before = number
            while (sample + 0.5) / SAMPLES > ahead and number + 1 < DRAWS:
                number += 1
                ahead += self.weights[number]
            root = root if number == before else self._root(number)
            normal = [chance.gauss(0.0, 1.0) for _ in range(self.size)]
            samples.append(
                [self.means[number][i] + sum(root[i][j] * normal[j] for j in range(i + 1)) for i in range(self.size)]
            )
        return samples

    def _root(self, number: int) -> Matrix:
        """Return the Cholesky factor of the covariance of ln speed."""
        root = [[0.0] * self.size for _ in range(self.size)]
        for i in range(self.size):
            for j in range(i + 1):
                rest = self.covariances[number][i][j] - sum(root[i][k] * root[j][k] for k in range(j))
                root[i][j] = math.sqrt(max(rest, 1e-12)) if i == j else rest / root[j][j]
        return root

    def is_settled(self, standing: Standing) -> bool:
        """Tell whether the decision stands."""
        within = standing.within
        if within[standing.first] < SURE or standing.losses[standing.first] > LOSS:
            return False
        if any(chance >= OUT and runs < LEAST for chance, runs in zip(within, self.runs, strict=True)):
            return False
        return sum(self.runs) >= TIED or not any(LIKELY < chance < SURE for chance in within)

    def next_block(self, standing: Standing) -> list[int]:
        """Return the places of the choices to run next."""
        within = standing.within
        order = sorted(range(self.size), key=lambda place: (round(standing.losses[place], 9), place))
        open_ = [i for i in order if within[i] >= OPEN or (within[i] >= OUT and self.runs[i] < LEAST)]
        chosen = sorted(open_, key=lambda place: min(self.runs[place], LEAST))[:LARGEST]
        return chosen if len(chosen) > 1 else list(dict.fromkeys([*chosen, *order]))[:2]


def draws(count: int, size: int) -> tuple[list[list[float]], list[list[int]]]:
    """Return what modelling.estimation.sequential.draws does."""
    chance = random.Random(1)  # noqa: S311 - no secret
    noise, early = [], []
    for _ in range(count):
        common = chance.gauss(math.log(USUAL), APART)
        own = [math.exp(common + chance.gauss(0.0, BY_CHOICE)) for _ in range(size)]
        noise.append([min(max(one, BOUNDS[0]), BOUNDS[1]) for one in own])
        early.append([chance.randint(1, MOST_EARLY) if chance.random() < EARLY else 0 for _ in range(size)])
    return noise, early


def _way(inverse: Matrix, apart: Sequence[float], way: int | None) -> tuple[list[float], float, float]:
    """Return precision times residuals, misfit, and what the ln determinant grows by, where run `way` is disturbed
    (Sherman and Morrison 1950)."""
    shown = [one + (SLOWER if i == way else 0.0) for i, one in enumerate(apart)]
    weighed = [sum(a * b for a, b in zip(row, shown, strict=True)) for row in inverse]
    more = 0.0
    if way is not None:
        grown = 1 + WIDER**2 * inverse[way][way]
        pull = WIDER**2 * weighed[way] / grown
        weighed = [one - pull * row[way] for one, row in zip(weighed, inverse, strict=True)]
        more = math.log(grown)
    return weighed, sum(a * b for a, b in zip(shown, weighed, strict=True)), more


def _times(row: Sequence[float], matrix: Sequence[Sequence[float]]) -> list[float]:
    return [sum(a * b for a, b in zip(row, column, strict=True)) for column in zip(*matrix, strict=True)]


def _inverse(matrix: Matrix) -> tuple[Matrix, float]:
    """Return the inverse of a positive definite matrix, and the logarithm of its determinant."""
    size, logs = len(matrix), 0.0
    rows = [[*row, *(float(i == j) for j in range(size))] for i, row in enumerate(matrix)]
    for i in range(size):
        pivot = rows[i][i]
        logs += math.log(pivot)
        rows[i] = [one / pivot for one in rows[i]]
        for j in range(size):
            if j != i and rows[j][i]:
                by = rows[j][i]
                rows[j] = [one - by * other for one, other in zip(rows[j], rows[i], strict=True)]
    return [row[size:] for row in rows], logs
