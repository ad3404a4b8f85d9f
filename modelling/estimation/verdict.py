"""Decide what may be said of entries by their forecasts for a new laboratory, and how strongly. No Django.

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
INDEPENDENT = 2  # research groups with numbers on a contrast that suffice for an imperative
APART = 4.0  # estimated factor from which one group suffices for "avoid", if it measured DIFFER
DIFFER = 20.0  # factor by which laboratories never differed; default of `KDB_LABORATORIES_DIFFER`
OLD_YEARS = 10
WIDE = 2.0  # width of a prediction over that of the mean, above which laboratories disagree


@dataclass(frozen=True)
class EntryForecast:
    """The forecast of an entry with numbers for a new laboratory, and its comparisons with the first entry.

    behind : 1 - its estimated ratio to the first of the order, a share
    slower : probability of being slower than the best of all entries by the margin; loss : expected loss when chosen,
        a share
    groups : research groups on the weakest link between the first and this entry
    factor : smallest ratio of the first to this entry that a laboratory measured; None: never side by side
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
    against : place of the entry that the first is compared with; None: numbers compare no two
    """

    kind: str
    verdicts: tuple[str, ...]
    against: int | None = None


def ladder(
    choices: Sequence[EntryForecast | None],
    margin: float,
    *,
    differ: float = DIFFER,
    is_whole: bool = True,
    beaten_by: Mapping[int, Collection[int]] = MappingProxyType({}),
) -> Ladder:
    """Decide on entries in the order of their estimates, best first.

    choices : None for an entry without numbers, or not to be recommended
    differ : factor by which laboratories never differed
    is_whole : whether these are all entries of the question; else none is to be used
    beaten_by : entry to those that all laboratories that compared the two measured faster, by places

    no difference : several are within the margin of the best with a probability of 80 %
    use : the first alone is; its expected loss is within the margin, and two research groups have numbers on it against
        the second
    leads : laboratories measured the first (or, where none compared them, it is estimated) faster than another by more
        than the margin, none of them the reverse; entries between the two lead as well, unless they were measured
        slower than the other
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
        kind, chosen = NO_DIFFERENCE, within
        against = min((index for index in within if index != first), key=lambda index: known[index].groups)
    elif within == [first] and known[first].loss <= margin and known[second].groups >= INDEPENDENT and is_whole:
        kind, chosen, against = USE, [first], second
    elif ahead_of is not None:
        kind, against = LEADS, ahead_of
        chosen = [index for index in known if index < ahead_of and ahead_of not in beaten_by.get(index, ())]
    else:
        kind, chosen, against = NOT_KNOWN, [], second
    for index in chosen:
        if verdicts[index] != AVOID:
            verdicts[index] = kind
    return Ladder(kind, tuple(verdicts), against)


def _lead(choice: EntryForecast) -> float:
    """Return the ratio of the first to this entry: as measured, else as estimated."""
    return choice.factor if choice.factor is not None else 1.0 / (1.0 - choice.behind)


def _is_independent(choice: EntryForecast, differ: float) -> bool:
    far = choice.factor is not None and choice.factor >= differ and choice.behind >= 1 - 1 / APART
    return choice.groups >= INDEPENDENT or (choice.groups == 1 and far)


def recommendable(always_unsafe: Sequence[bool]) -> list[bool]:
    """Return which entries get probabilities: those not always_unsafe, if two or more are left, else none.

    always_unsafe : whether all numbers of an entry rest on options that can lose acknowledged writes
    A single safe entry was only compared with unsafe ones, so nothing shows that it is faster than a usable one; it is
    started with at most.
    """
    may = [not unsafe for unsafe in always_unsafe]
    return may if all(may) or sum(may) > 1 else [False] * len(may)


@dataclass(frozen=True)
class Contrast:
    """The contrast between two entries that numbers join; `first` and `second` are their keys.

    ratio : estimated, first to second; low, high : of its 95 % interval in a new laboratory
    measured : how many times as fast as the second each laboratory measured the first, ascending
    groups : research groups on the weakest link between the two
    storage : kinds of storage of the measured ratios; is_derived : whether they are derived from a text, not measured
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
    """The evidence of a verdict, as input to the rules of its strength.

    groups : research groups on the weakest link of the contrast
    measured : whether the first has measured numbers; has_numbers : measured or derived ones
    wider : width of the prediction of the second against the first, as a multiple of that of the mean
    direct : whether a fair-play group holds both
    confounded : whether another setting differs along with the first or the second
    unsafe : whether the first was measured with an option that can lose acknowledged writes, among others
    newest : year of the newest source; this_year : year of the question; None: unknown
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

    contrast : the two entries it rests on; None: numbers compare no two that may be recommended
    """

    kind: str
    strength: str
    reasons: tuple[tuple[str, str], ...]
    contrast: Contrast | None = None


def strength(basis: Basis) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return the strength, and the reasons why it is not greater, by all rules that there are.

    It begins as strong. One research group is very weak whatever else, as are lists alone. Steps down: one for two
    groups; one for derived numbers; one each where laboratories disagree, the two were never measured side by side,
    something came along with them, the first was measured also with an option that can lose acknowledged writes, or the
    newest source is more than ten years old.
    No rule asks how narrow the question is, as a filter only removes evidence and must not make a verdict stronger.
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
    """Return the next lower strength; the lowest stays."""
    return STRENGTHS[max(0, STRENGTHS.index(strength) - 1)]
