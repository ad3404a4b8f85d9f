"""Decide from what a choice means in a new laboratory what may be said of it, and how strongly. No Django.

Source: docs/models/verdict.md; strength after GRADE (Guyatt and others 2008, 10.1136/bmj.39489.470347.AD).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

KINDS = USE, LEADS, NO_DIFFERENCE, NOT_KNOWN = "use", "leads", "no difference", "not known"
AVOID, UNKNOWN = "avoid", "unknown"
ENTRY_KINDS = (USE, LEADS, NO_DIFFERENCE, AVOID, UNKNOWN)
STRENGTHS = ("very weak", "weak", "moderate", "strong")
WITHIN = 0.8  # probability of being within the margin of the best from which an entry may be used
SURE = 0.9  # probability of being slower by the margin from which an entry is to be avoided
INDEPENDENT = 2  # research groups with numbers on a contrast that are enough for an imperative
APART = 4.0  # times slower by the estimate, from which one group is enough to say "avoid"
DIFFER = 20.0  # times, that laboratories never differ by: `KDB_LABORATORIES_DIFFER`, unless told
OLD_YEARS = 10
WIDE = 2.0  # how many times as wide as the interval of the mean a prediction is, where laboratories disagree


@dataclass(frozen=True)
class Choice:
    """The expectation of one entry in a new laboratory, where numbers speak of it, and what joins it to the first.

    behind : 1 - its estimated ratio to the first of the order, a share
    slower : probability of being slower than the best of all entries by the margin; loss : expected loss when chosen,
        a share
    groups : research groups with numbers on each link between the first and this one, the fewest
    factor : how many times as fast as this one laboratories measured the first, the least; None: never side by side
    """

    behind: float
    slower: float
    loss: float
    groups: int = 0
    factor: float | None = None


@dataclass(frozen=True)
class Ladder:
    """The verdicts on entries in the order of their estimates.

    kind : of KINDS; verdicts : of ENTRY_KINDS, one an entry
    against : place of the entry that the first is held against, where numbers compare two
    """

    kind: str
    verdicts: tuple[str, ...]
    against: int | None = None


def ladder(
    choices: Sequence[Choice | None],
    margin: float,
    *,
    differ: float = DIFFER,
    is_whole: bool = True,
    beaten_by: Mapping[int, Collection[int]] = MappingProxyType({}),
) -> Ladder:
    """Say one of four kinds of entries in the order of their estimates, best first.

    choices : None of an entry without numbers, or not to be recommended (durable)
    differ : factor beyond what laboratories ever differ by
    is_whole : whether these are all entries of the question; without the others nothing is to be used
    beaten_by : entry to those that every laboratory measured faster, where some compared the two; by their places

    no difference : several are within the margin of the best with a probability of 80 %
    use : the first alone is; its expected loss is within the margin, and two research groups have numbers on it against
        the second
    leads : laboratories measured the first faster than another by more than the margin, none of them the reverse; with
        it lead those between the two that were not measured slower than the other
    not known : all else
    An entry is to be avoided if it is slower than the best by the margin with a probability of 90 % and two research
    groups have numbers on the first against it, or one with a factor beyond what laboratories ever differ by, where the
    estimate, too, is far behind.
    """
    known = {index: choice for index, choice in enumerate(choices) if choice is not None}
    verdicts = [UNKNOWN] * len(choices)
    if len(known) < 2:
        return Ladder(NOT_KNOWN, tuple(verdicts))
    first, second, *_ = known
    for index, choice in known.items():
        if index != first and choice.slower >= SURE and _is_independent(choice, differ):
            verdicts[index] = AVOID
    within = [index for index, choice in known.items() if 1.0 - choice.slower >= WITHIN]
    ahead_of = next((i for i, choice in known.items() if i != first and _lead(choice) >= 1 / (1 - margin)), None)
    if len(within) > 1:
        kind, those = NO_DIFFERENCE, within
        against = min((index for index in within if index != first), key=lambda index: known[index].groups)
    elif within == [first] and known[first].loss <= margin and known[second].groups >= INDEPENDENT and is_whole:
        kind, those, against = USE, [first], second
    elif ahead_of is not None:
        kind, against = LEADS, ahead_of
        those = [index for index in known if index < ahead_of and ahead_of not in beaten_by.get(index, ())]
    else:
        kind, those, against = NOT_KNOWN, [], second
    for index in those:
        if verdicts[index] != AVOID:
            verdicts[index] = kind
    return Ladder(kind, tuple(verdicts), against)


def _lead(choice: Choice) -> float:
    """Return how many times as fast the first is: as measured, or if nobody measured it, as estimated."""
    return choice.factor if choice.factor is not None else 1.0 / (1.0 - choice.behind)


def _is_independent(choice: Choice, differ: float) -> bool:
    far = choice.factor is not None and choice.factor >= differ and choice.behind >= 1 - 1 / APART
    return choice.groups >= INDEPENDENT or (choice.groups == 1 and far)


def durable(always_unsafe: Sequence[bool]) -> list[bool]:
    """Tell which entries may be recommended: not those measured with nothing but options that can lose acknowledged
    writes (modelling.evidence.durability), and none where that leaves fewer than two to choose from.

    An entry beaten only by such ones is not shown to be slower than what one may use, nor faster than anything.
    """
    may = [not unsafe for unsafe in always_unsafe]
    return may if all(may) or sum(may) > 1 else [False] * len(may)


@dataclass(frozen=True)
class Contrast:
    """The contrast between two entries that numbers join; `first` and `second` are their keys.

    ratio : estimated, first to second; low, high : of its 95 % interval in a new laboratory
    measured : how many times as fast as the second each laboratory measured the first, ascending
    groups : research groups with numbers on each link between the two, the fewest
    storage : kinds of it behind the measured; is_derived : whether a text was worked out in place of measured values
    cost : expected loss of the first where it is not the best, percent
    is_mixed : whether it weighs several workloads, so that no laboratory measured it as one number
    """

    first: str
    second: str
    ratio: float
    low: float
    high: float
    measured: tuple[float, ...]
    groups: int
    storage: tuple[str, ...] = ()
    is_derived: bool = False
    cost: float | None = None
    is_mixed: bool = False


@dataclass(frozen=True)
class Basis:
    """The evidence of a verdict, as the rules of its strength ask for it.

    groups : research groups with numbers on each link of the contrast that is decided, the fewest
    measured : whether the first has measured numbers; has_numbers : measured or derived ones
    wider : width of the prediction of the second against the first, as a multiple of that of the mean
    direct : whether some fair-play group holds the first and the second
    confounded : whether something came along with the first or the second
    unsafe : whether the first was measured with an option that can lose acknowledged writes, among others
    newest : year of the newest source; None: not known; this_year : the year it is asked in; None: not told
    """

    groups: int
    measured: bool
    has_numbers: bool
    wider: float | None = None
    direct: bool = True
    confounded: bool = False
    unsafe: bool = False
    newest: int | None = None
    this_year: int | None = None


@dataclass(frozen=True)
class Verdict:
    """The decision on a part: kind, strength, and each step down with its sentence as (rule, sentence).

    contrast : that is decided; None: numbers compare no two that may be recommended
    """

    kind: str
    strength: str
    reasons: tuple[tuple[str, str], ...]
    contrast: Contrast | None = None


def strength(basis: Basis) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return the strength in one word, and why it is not more; every rule is here.

    Strong to begin with. One research group is very weak whatever else, as are lists alone. Steps down: one for two
    groups; one for derived numbers; one each where laboratories disagree, the two were never measured side by side,
    something came along with them, the first was measured also with an option that can lose acknowledged writes, or the
    newest source is more than ten years old.
    No rule asks how narrow the question is: a filter, which only takes evidence
    away, makes nothing stronger.
    """
    steps: list[tuple[int, str, str]] = []
    if not basis.has_numbers:
        steps.append((3, "listed", "Tier lists alone speak of them, without numbers."))
    elif basis.groups < 2:
        steps.append((3, "groups", "Only one research group compares them."))
    elif basis.groups < 3:
        steps.append((1, "groups", "Only two research groups compare them."))
    if basis.has_numbers and not basis.measured:
        steps.append((1, "derived", "Its numbers are derived from the text, not measured."))
    if basis.groups > 1 and basis.wider is not None and basis.wider > WIDE:
        steps.append((1, "spread", "The laboratories disagree: a new one may find something else."))
    if not basis.direct:
        steps.append((1, "indirect", "They were never measured side by side."))
    if basis.confounded:
        steps.append((1, "confounded", "Something else came along with the choice and may be the cause."))
    if basis.unsafe:
        steps.append((1, "durability", "Some numbers of the first rest on options that can lose acknowledged writes."))
    if basis.newest is not None and basis.this_year is not None and basis.this_year - basis.newest > OLD_YEARS:
        steps.append((1, "age", f"The newest source is of {basis.newest}."))
    level = max(0, len(STRENGTHS) - 1 - sum(down for down, _, _ in steps))
    return STRENGTHS[level], tuple((rule, sentence) for _, rule, sentence in steps)


def weaker(strength: str) -> str:
    """Return the strength a step down, of an answer whose evidence aged; the weakest stays."""
    return STRENGTHS[max(0, STRENGTHS.index(strength) - 1)]
