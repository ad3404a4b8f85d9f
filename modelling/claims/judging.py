"""Claims: a verdict on each, counted from its comparisons and never typed in. No Django."""

from dataclasses import dataclass

from experiments.claim_conditions import Condition, Untestable

from .evaluation import Basis, Comparison, compare
from .facts import PublishedFacts

SCOPES = ("own", "others")


@dataclass(frozen=True)
class Verdict:
    """supported: every comparison holds. open: some hold, and the others cannot be decided. partly: some hold, and
    some fail. contradicted: none holds, and one fails at least. untestable: none can be decided."""

    verdict: str
    reason: str
    basis: str = ""  # the least sure basis of a decided comparison; empty where none was decided, or by a limit alone
    held: int = 0
    failed: int = 0
    undecided: int = 0
    evidence: tuple[str, ...] = ()
    comparisons: tuple[Comparison, ...] = ()


def evaluate(condition: Condition | Untestable | None, facts: PublishedFacts, *, is_open: bool = False) -> Verdict:
    """Judge whether the condition holds on the facts.

    Parameters
    ----------
    condition : what would have to hold, or None: it does not reach beyond its own paper
    facts : what it is put to
    is_open : False for the claim's own paper, True for everybody else's facts (modelling.claims.evaluation.compare)

    Raises CheckError where the facts are too many for the condition.
    """
    if condition is None:
        return Verdict("untestable", "The claim speaks of its own paper alone.")
    if isinstance(condition, Untestable):
        return Verdict("untestable", condition.reason)
    return verdict_of(compare(condition, facts, is_open=is_open))


def verdict_of(comparisons: list[Comparison]) -> Verdict:
    """Return the verdict of several comparisons, by counting alone."""
    states = [c.state for c in comparisons]
    held, failed, undecided = (states.count(state) for state in ("held", "failed", "undecided"))
    if failed:
        verdict = "partly" if held else "contradicted"
    elif held:
        verdict = "open" if undecided else "supported"
    else:
        verdict = "untestable"
    used = [c for c in comparisons if c.state != "undecided"]
    basis = max((c.basis for c in used if c.basis), key=Basis.ORDER.index, default="")
    evidence = tuple(dict.fromkeys(name for c in used for name in c.evidence))
    return Verdict(
        verdict, _reason(comparisons, used, basis), basis, held, failed, undecided, evidence, tuple(comparisons)
    )


def _reason(comparisons: list[Comparison], used: list[Comparison], basis: str) -> str:
    failing = [c.text for c in used if c.state == "failed"]
    open_ = [c.text for c in comparisons if c.state == "undecided"]
    held, total = len(used) - len(failing), len(comparisons)
    if not comparisons:
        return "No published case study compares this."
    if not used:
        if total == 1:
            return f"The comparison cannot be decided: {open_[0]}."
        return f"None of the {total} comparisons can be decided, for example {open_[0]}."
    if not failing and not open_:
        all_ = "Both" if total == 2 else f"All {total}"
        text = f"It holds: {comparisons[0].text}." if total == 1 else f"{all_} comparisons hold."
    elif not held and total == 1:
        text = f"It does not hold: {failing[0]}."
    elif not held:
        text = f"None of the {total} comparisons holds, for example {failing[0]}."
    else:
        parts = [f"{held} of {total} comparisons hold{'s' if held == 1 else ''}"]
        if failing:
            does_not = "does not" if len(failing) == 1 else "do not"
            parts.append(f"{len(failing)} {does_not} ({'' if len(failing) == 1 else 'for example '}{failing[0]})")
        if open_:
            parts.append(f"{len(open_)} cannot be decided")
        text = ", ".join(parts) + "."
    if basis == Basis.STATED:
        count = sum(c.basis == Basis.STATED for c in used)
        rest = "It rests" if count == len(used) else f"{count} of them rest{'s' if count == 1 else ''}"
        text += f" {rest} on ratios or limits that the text itself states."
    return text
