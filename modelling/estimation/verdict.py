"""From what a choice means in a new laboratory to a decision, and how strongly it may be said. No Django.

Source: docs/models/ranking.md, sections 6 and 8; strength after GRADE (Guyatt and others 2008,
10.1136/bmj.39489.470347.AD).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from modelling.evidence.words import STORAGE

CHOICES = USE, DOUBTFUL, AVOID, UNKNOWN = "use", "doubtful", "avoid", "unknown"
WINNER, NO_WINNER, NOT_KNOWN = "winner", "no clear winner", "not known"
STRENGTHS = ("very weak", "weak", "moderate", "strong")
SURE = 0.9  # probability of being slower by the margin from which an entry is to be avoided
OLD_YEARS = 10
WIDE = 2.0  # how many times as wide as the interval of the mean a prediction is, where laboratories disagree


@dataclass(frozen=True)
class Choice:
    """The expectation of one entry in a new laboratory, where numbers speak of it.

    behind : 1 - its estimated ratio to the first of the order, a share
    slower : probability of being slower than the best by the margin; loss : expected loss when chosen, a share
    """

    behind: float
    slower: float
    loss: float


def of_numbers(choices: Sequence[Choice | None], margin: float) -> list[str]:
    """Return the verdict on each entry, given in the order of their estimates, best first; None: without numbers, or
    not to be recommended (durable).

    use : from the first with numbers down to the last whose expected loss is within the margin and that is not
    behind by more than it by its estimate; without entries that are None, and ending before an avoided one
    avoid : at least 90 % probably slower than the best by the margin
    doubtful : more likely than not slower by the margin, or below an avoided one
    unknown : neither
    """
    known = {index: choice for index, choice in enumerate(choices) if choice is not None}
    if not known:
        return [UNKNOWN] * len(choices)
    best, *others = known
    avoided = [index for index in others if known[index].slower >= SURE]
    last_before = avoided[0] if avoided else len(choices)
    within = [i for i, choice in known.items() if choice.loss <= margin and choice.behind <= margin and i < last_before]
    last = max(within, default=best)
    verdicts = []
    for index, choice in enumerate(choices):
        if choice is not None and index <= last:
            verdicts.append(USE)
        elif index in avoided:
            verdicts.append(AVOID)
        elif index > last_before or (choice is not None and choice.slower > 0.5):
            verdicts.append(DOUBTFUL)
        else:
            verdicts.append(UNKNOWN)
    return verdicts


def of_lists(tiers: Sequence[int | None]) -> list[str]:
    """Return the verdict on each entry where only tier lists speak: use the first tier, avoid the last, least number
    best.

    None: not to be recommended (durable)
    """
    known = [tier for tier in tiers if tier is not None]
    verdict_of = {max(known): AVOID, min(known): USE} if known else {}
    return [UNKNOWN if tier is None else verdict_of.get(tier, UNKNOWN) for tier in tiers]


def durable(always_unsafe: Sequence[bool]) -> list[bool]:
    """Tell which entries may be recommended: not those measured with nothing but options that can lose acknowledged
    writes (modelling.evidence.durability), and none where that leaves fewer than two to choose from.

    An entry beaten only by such ones is not shown to be slower than what one may use, nor faster than anything.
    """
    may = [not unsafe for unsafe in always_unsafe]
    return may if all(may) or sum(may) > 1 else [False] * len(may)


@dataclass(frozen=True)
class Basis:
    """The evidence of a verdict, as the rules of its strength ask for it.

    laboratories : that compare the entries by numbers, or whose lists do where there are no numbers
    measured : whether the first has measured numbers; has_numbers : measured or derived ones
    wider : width of the prediction of the second against the first, as a multiple of that of the mean
    direct : whether some fair-play group holds the first and the second
    confounded : whether something came along with the first or the second
    unsafe : whether the first was measured with an option that can lose acknowledged writes, among others
    storage : kinds of storage behind the numbers; storage_asked : whether the question names one
    newest : year of the newest source; None: not known; this_year : the year it is asked in; None: not told
    """

    laboratories: int
    measured: bool
    has_numbers: bool
    wider: float | None = None
    direct: bool = True
    confounded: bool = False
    unsafe: bool = False
    storage: tuple[str, ...] = ()
    storage_asked: bool = False
    newest: int | None = None
    this_year: int | None = None


@dataclass(frozen=True)
class Verdict:
    """The decision on a part: kind, strength, and each step down with its sentence as (rule, sentence)."""

    kind: str
    strength: str
    reasons: tuple[tuple[str, str], ...]


def of_part(verdicts: Sequence[str], first: Choice | None, margin: float, basis: Basis) -> Verdict:
    """Return the verdict on a part whose entries have these verdicts, in their order."""
    alone = verdicts.count(USE) == 1
    sure = (first is not None and first.loss <= margin) or not basis.has_numbers
    return Verdict(WINNER if alone and sure else NO_WINNER, *strength(basis))


def strength(basis: Basis) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return the strength in one word, and why it is not more; every rule is here.

    Strong to begin with. Steps down: two for one laboratory, one for two; one for derived numbers, two for lists
    alone, which are never more than weak; one each where laboratories disagree, the first two were never measured side
    by side, something came along with them, the first was measured also with an option that can lose acknowledged
    writes, all is from one kind of storage that the question does not name, or the newest source is more than ten years
    old.
    """
    steps: list[tuple[int, str, str]] = []
    if basis.laboratories < 2:
        steps.append((2, "laboratories", "Only one laboratory compares them."))
    elif basis.laboratories < 3:
        steps.append((1, "laboratories", "Only two laboratories compare them."))
    if not basis.has_numbers:
        steps.append((2, "listed", "Tier lists alone speak of them, without numbers."))
    elif not basis.measured:
        steps.append((1, "derived", "Its numbers are derived from the text, not measured."))
    if basis.laboratories > 1 and basis.wider is not None and basis.wider > WIDE:
        steps.append((1, "spread", "The laboratories disagree: a new one may find something else."))
    if not basis.direct:
        steps.append((1, "indirect", "The first two were never measured side by side."))
    if basis.confounded:
        steps.append((1, "confounded", "Something else came along with the choice and may be the cause."))
    if basis.unsafe:
        steps.append((1, "durability", "Some numbers of the first rest on options that can lose acknowledged writes."))
    if len(basis.storage) == 1 and not basis.storage_asked:
        kind = STORAGE.get(basis.storage[0], basis.storage[0])
        steps.append((1, "storage", f"All numbers are from one kind of storage ({kind})."))
    if basis.newest is not None and basis.this_year is not None and basis.this_year - basis.newest > OLD_YEARS:
        steps.append((1, "age", f"The newest source is of {basis.newest}."))
    level = max(0, len(STRENGTHS) - 1 - sum(down for down, _, _ in steps))
    return STRENGTHS[level], tuple((rule, sentence) for _, rule, sentence in steps)
