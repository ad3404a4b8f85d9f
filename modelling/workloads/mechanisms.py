"""Derive which file system should be faster: its mechanisms' cost matrix times what a workload does. No Django.

This is an opinion of the model. The paper behind it states which mechanism helps or hurts, but no sizes; the weights
are our reading of it, fixed before looking at any result. Source: P3 Sections 3 and 4
(Table 1, hypotheses H3.1-H3.6); docs/models/mechanisms.md says rule by rule what is whose.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from types import MappingProxyType
from typing import Literal

from .profiles import RANDOM_EXTENT, Profile

Side = Literal["guest", "host"]
Pair = tuple[str, str]  # guest_fs, host_fs

SIDES: tuple[Side, ...] = ("guest", "host")
PASSED_ON = 0.5  # share of the asynchronous writes to a write-back cache that it passes on
RANDOM_UNDER_COW = 0.5  # weight of a random write where a sequential one has weight 1 (H3.4)
STRESSED = 2.0  # strength of the effects that P3 calls major (H3.2) or the largest (H3.5); others have 1
MATTERS = 0.05  # a mechanism with a smaller share of the workload is ignored


@dataclass(frozen=True)
class Mechanism:
    """One cell of the cost matrix."""

    code: str  # "C3.1"
    mechanism: str  # "copy-on-write"


# File system to operation (a key of RULES) to cell; file systems without stated mechanisms are absent or empty.
Matrix = Mapping[str, Mapping[str, Mechanism]]


def matrix_of(cells: Iterable[tuple[str, str, str, str]]) -> Matrix:
    """Build the cost matrix. cells : file system, operation, code and mechanism of each"""
    matrix: dict[str, dict[str, Mechanism]] = {}
    for file_system, operation, code, mechanism in cells:
        matrix.setdefault(file_system, {})[operation] = Mechanism(code, mechanism)
    return matrix


@dataclass(frozen=True)
class Rule:
    """The rule by which one of the seven operations is judged.

    hypotheses : what it rests on, the main one first
    levels : mechanism to how good it is, 0 for the plain one; a mechanism not listed is not judged
    exercised : function of side and profile, the share of the workload that uses the operation, 0..1
    on_host : whether it applies to a host file system, which serves one large image file (H3.6)
    """

    operation: str
    label: str
    hypotheses: tuple[str, ...]
    levels: Mapping[str, float]
    exercised: Callable[[Side, Profile], float]
    strength: float = 1.0
    on_host: bool = True

    def weight(self, side: Side, profile: Profile) -> float:
        """Return the share of the workload that uses the operation on this side, 0..1."""
        return self.exercised(side, profile) if side == "guest" or self.on_host else 0.0


@dataclass(frozen=True)
class Term:
    """The effect of one operation on file system a against b on one side.

    a, b : their mechanisms; None where none is stated
    weight : share of the workload that uses the operation, 0..1
    sign : +1 a is helped, -1 a is hurt, 0 no difference is expected, None not known
    contribution : strength x weight x difference of levels; 0 where sign is 0 or None
    hypotheses : what the sign rests on; on the host "H3.6" is among them
    """

    side: Side
    operation: str
    label: str
    a: Mechanism | None
    b: Mechanism | None
    weight: float
    sign: int | None
    contribution: float
    hypotheses: tuple[str, ...]

    @property
    def matters(self) -> bool:
        """Tell whether the term takes part in the answer."""
        return bool(self.sign) and self.weight >= MATTERS


@dataclass(frozen=True)
class Expectation:
    """The expected order of pair a and pair b by the mechanisms.

    sign : +1 a is faster, -1 slower, 0 no difference expected, None where a file system that differs
        has no stated mechanisms; `unstated` names those
    score : sum of the terms' contributions, without unit: only its sign and order mean anything
    """

    sign: int | None
    score: float | None
    terms: tuple[Term, ...]
    unstated: tuple[str, ...] = ()

    def deciding(self) -> tuple[Term, ...]:
        """Return the terms that matter, the largest first."""
        return tuple(sorted(filter(lambda t: t.matters, self.terms), key=lambda t: -abs(t.contribution)))


def terms(side: Side, a: str, b: str, matrix: Matrix, profile: Profile) -> tuple[Term, ...]:
    """Compare file systems a and b on one side: a term for each of the seven operations, in the order of RULES.

    A file system does not differ from itself, whether its mechanisms are stated or not.
    """
    return tuple(_term(rule, side, a, b, matrix, profile) for rule in RULES.values())


def _term(rule: Rule, side: Side, a: str, b: str, matrix: Matrix, profile: Profile) -> Term:
    cells = tuple(matrix.get(name, {}).get(rule.operation) for name in (a, b))
    level_a, level_b = (rule.levels.get(cell.mechanism) if cell else None for cell in cells)
    weight = rule.weight(side, profile)
    difference = None if level_a is None or level_b is None else level_a - level_b
    if a == b:
        difference = 0.0
    contribution = rule.strength * weight * (difference or 0.0)
    return Term(
        side=side,
        operation=rule.operation,
        label=rule.label,
        a=cells[0],
        b=cells[1],
        weight=weight,
        sign=None if difference is None else _sign(contribution),
        contribution=contribution,
        hypotheses=rule.hypotheses if side == "guest" else (*rule.hypotheses, "H3.6"),
    )


def expect(pair_a: Pair, pair_b: Pair, matrix: Matrix, profile: Profile) -> Expectation:
    """Compare two pairs of file systems by the sum of their terms over guest and host.

    A side on which both pairs agree is left out and needs no mechanisms, so xfs-on-vmfs and ext4-on-vmfs can be
    compared although no mechanisms of VMFS are stated.
    """
    summands = tuple(
        chain.from_iterable(
            terms(side, a, b, matrix, profile) for side, a, b in zip(SIDES, pair_a, pair_b, strict=True) if a != b
        )
    )
    differing = [name for a, b in zip(pair_a, pair_b, strict=True) if a != b for name in (a, b)]
    unstated = tuple(dict.fromkeys(name for name in differing if not is_stated(name, matrix)))
    if unstated:
        return Expectation(None, None, summands, unstated)
    score = sum(term.contribution for term in summands)
    return Expectation(_sign(score), score, summands)


def is_stated(file_system: str, matrix: Matrix) -> bool:
    """Tell whether all seven mechanisms are stated, each with a level in its rule."""
    cells = matrix.get(file_system, {})
    return all(name in cells and cells[name].mechanism in rule.levels for name, rule in RULES.items())


def _sign(value: float) -> int:
    return (value > 1e-9) - (value < -1e-9)


# The share of a workload, 0..1, that uses an operation.


def _metadata_share(side: Side, profile: Profile) -> float:
    """Return the share of operations that create, open, close or remove files, each a lookup of name and inode."""
    return profile.metadata_share


def _random_share(side: Side, profile: Profile) -> float:
    """Return the share of bytes accessed at random: each access has to look up its blocks."""
    return profile.bytes.random_read + profile.bytes.random_write


def _written_share(side: Side, profile: Profile) -> float:
    """Return the share of bytes that are written through the caches to where space is allocated and checksummed."""
    return (profile.bytes.random_write + profile.bytes.sequential_write) * _share_reaching(side, profile)


def _updated_share(side: Side, profile: Profile) -> float:
    """Return _written_share with random writes weighted by RANDOM_UNDER_COW (H3.4)."""
    written = RANDOM_UNDER_COW * profile.bytes.random_write + profile.bytes.sequential_write
    return written * _share_reaching(side, profile)


def _small_file_share(side: Side, profile: Profile) -> float:
    """Return the share of bytes accessed at random, less the larger the files are; an unknown size counts as small."""
    size = profile.mean_file_bytes or 0.0
    return _random_share(side, profile) * RANDOM_EXTENT / (RANDOM_EXTENT + size)


def _share_reaching(side: Side, profile: Profile) -> float:
    """Return the share of writes that reach a side: synchronous ones, and those that the caches above it pass on."""
    caches = 1 if side == "guest" else 2
    return profile.sync_share + (1.0 - profile.sync_share) * PASSED_ON**caches


_B_TREE = {"B+ tree": 1.0, "H-tree": 0.0, "linear inode table": 0.0, "linear bitmap": 0.0}
_COW = {"overwrite": 0.0, "copy-on-write": -1.0}
_CHECKSUMS = {"journal CRC": 0.0, "data, metadata and journal CRC": -1.0}
_EMBEDDING = {"none": 0.0, "moderate performance": 0.5, "good performance": 1.0}

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        rule.operation: rule
        for rule in (
            Rule("update_method", "update method", ("H3.3", "H3.4"), _COW, _updated_share),
            Rule("directory", "directory operations", ("H3.1",), _B_TREE, _metadata_share, on_host=False),
            Rule("metadata", "metadata operations", ("H3.1",), _B_TREE, _metadata_share, on_host=False),
            Rule("free_lists", "free list operations", ("H3.1",), _B_TREE, _written_share),
            Rule("block_access", "file block access", ("H3.1",), _B_TREE, _random_share),
            Rule("housekeeping", "housekeeping", ("H3.5",), _CHECKSUMS, _written_share, strength=STRESSED),
            Rule(
                "small_files", "small file embedding", ("H3.2",), _EMBEDDING, _small_file_share, STRESSED, on_host=False
            ),
        )
    }
)
