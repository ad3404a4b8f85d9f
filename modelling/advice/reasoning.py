"""From the profile of a load to advice: what is near it, what the mechanisms predict, and whether evidence agrees.

No Django. A load that nobody measured gets the measured answer of the nearest workload, as long as that is
near enough to carry over, and beside it the opinion of the mechanism layer. Source: docs/models/profiles.md,
section "From a profile to advice".
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from kdb.pairs import pair_parts
from modelling.estimation.ranking import Entry
from modelling.workloads.mechanisms import RULES, Matrix, Pair, Term, is_stated, order, predict
from modelling.workloads.profiles import Accesses, Profile, nearest

# No answer carries over from further away than this. The published orders of web server and random file access
# (0.155 apart) agree; those of workloads 0.37 and more apart have nothing to do with each other.
FAR = 0.25
ALSO_NEAR = 0.05  # a second workload speaks, too, where it is no further away than this beyond the nearest

ADD_UP = 0.01  # shares typed in are rounded: their sum may miss 1 by this much
AGREES = 2 / 3  # of the comparisons on which both have an opinion; contradicts from the same share upwards


@dataclass(frozen=True)
class Neighbour:
    """A known workload, and how far the load is from it (0..1).

    is_far : beyond FAR, so nothing measured carries over
    speaks : its measured answer is given, as transferred or, where it is far, for orientation
    """

    workload: str
    distance: float
    is_far: bool
    speaks: bool


def neighbours(profile: Profile, known: Mapping[str, Profile]) -> list[Neighbour]:
    """Every known workload, nearest first. The nearest one speaks, and those about as near that are not far."""
    found = nearest(profile, known)
    limit = min(found[0][1] + ALSO_NEAR, FAR) if found else 0.0
    return [
        Neighbour(workload, distance, distance > FAR, place == 0 or distance <= limit)
        for place, (workload, distance) in enumerate(found)
    ]


# What the mechanisms let one expect


@dataclass(frozen=True)
class Predicted:
    """One pair in the order of the mechanisms.

    rank : from 1, ties share the best ("1, 2, 2, 4")
    score : without unit, only the order of scores means anything
    terms : those that matter against the plainest pair, the largest first
    """

    pair: Pair
    rank: int
    score: float
    terms: tuple[Term, ...]


@dataclass(frozen=True)
class Expectation:
    """The predicted order, best first, and the pair that terms are held against; none: nothing is stated."""

    against: Pair | None
    pairs: tuple[Predicted, ...]


def expect(guests: Iterable[str], hosts: Iterable[str], matrix: Matrix, profile: Profile) -> Expectation:
    """Predict the order of each guest file system on each host file system.

    A side with one file system says nothing and needs no stated mechanisms; elsewhere file systems of
    which none is stated are left out.
    """
    ordered = order(product(guests, hosts), matrix, profile)
    if not ordered:
        return Expectation(None, ())
    against = min((pair for pair, _ in ordered), key=lambda pair: (_ornament(pair, matrix), pair))
    scores = [round(score, 9) for _, score in ordered]
    return Expectation(
        against,
        tuple(
            Predicted(
                pair, scores.index(round(score, 9)) + 1, score, predict(pair, against, matrix, profile).deciding()
            )
            for pair, score in ordered
        ),
    )


def _ornament(pair: Pair, matrix: Matrix) -> float:
    """Return how much a pair does in other than the plain way, for better or worse."""
    cells = [
        (rule, matrix[name][rule.operation]) for name in pair if is_stated(name, matrix) for rule in RULES.values()
    ]
    return sum(abs(rule.levels[cell.mechanism]) for rule, cell in cells)


@dataclass(frozen=True)
class Agreement:
    """In how many comparisons that the evidence decides the model says the same, the opposite, or nothing."""

    agrees: int = 0
    contradicts: int = 0
    silent: int = 0

    @property
    def verdict(self) -> str:
        """agrees, contradicts or mixed; silent where the model says nothing, untested where evidence does not."""
        if not self.agrees + self.contradicts:
            return "silent" if self.silent else "untested"
        share = self.agrees / (self.agrees + self.contradicts)
        return "agrees" if share >= AGREES else "contradicts" if share <= 1 - AGREES else "mixed"


def agreement(entries: Sequence[Entry], matrix: Matrix, profile: Profile) -> Agreement:
    """Hold the mechanisms' opinion on this profile against a ranking of pairs.

    entries : of a ranking on the axis fs-pair. Two of them count where they stand in one part and the evidence
        tells them apart.
    """
    signs = []
    for a, b in combinations(entries, 2):
        if a.part != b.part or a.rank == b.rank or b.key in a.tied_with:
            continue
        pair_a, pair_b = (pair_parts(entry.key) for entry in (a, b))
        predicted = predict(pair_a, pair_b, matrix, profile).sign or 0
        signs.append(predicted if a.rank < b.rank else -predicted)
    return Agreement(signs.count(1), signs.count(-1), signs.count(0))


# A profile without a personality


class SharesError(ValueError):
    """Shares of all operations that add up to `total` and not to 1."""

    def __init__(self, total: float) -> None:
        super().__init__(f"the shares add up to {total:.4g} and not to 1")
        self.total = total


def by_hand(
    operations: Accesses,
    *,
    metadata: float = 0.0,
    flush: float = 0.0,
    sync: float = 0.0,
    threads: int | None = None,
    files: int | None = None,
    mean_file_bytes: float | None = None,
) -> Profile:
    """Return the profile of a load whose shares are known and whose personality is not.

    operations, metadata, flush : shares of all operations, together 1; sync : of the writes, 0..1.
    None: not known. Every access is taken to move as much as any other. Raises SharesError where
    the shares do not add up to 1 within ADD_UP.
    """
    total = sum(operations.shares()) + metadata + flush
    if abs(total - 1.0) > ADD_UP + 1e-9:
        raise SharesError(total)
    accesses = sum(operations.shares())
    writes = operations.random_write + operations.sequential_write
    return Profile(
        operations=Accesses(*(share / total for share in operations.shares())),
        bytes=Accesses(*(share / accesses for share in operations.shares())) if accesses else Accesses(),
        metadata_share=metadata / total,
        flush_share=flush / total,
        sync_share=sync if writes else 0.0,
        concurrency=threads,
        files=files,
        mean_file_bytes=mean_file_bytes,
        working_set_bytes=files * mean_file_bytes if files is not None and mean_file_bytes is not None else None,
        notes=tuple(_assumed(accesses, writes, sync, threads, files, mean_file_bytes)),
    )


def _assumed(
    accesses: float, writes: float, sync: float, threads: int | None, files: int | None, mean_file_bytes: float | None
) -> Iterable[str]:
    if accesses:
        yield "Every read and write is taken to move the same number of bytes."
    if sync and not writes:
        yield "There are no writes, so the share of synchronous ones counts nothing."
    if files is not None and mean_file_bytes is not None:
        yield "All files are taken to be in use."
    given = {"threads": threads, "number of files": files, "mean file size": mean_file_bytes}
    if unknown := [name for name, value in given.items() if value is None]:
        yield f"Not given, and left out of the distance: {', '.join(unknown)}."
    if mean_file_bytes is None:
        yield "Without a mean file size the mechanisms are judged as for small files."
