"""Evaluate a claim's condition on the facts: make its comparisons and their common verdict. No Django.

Numbers are spans (modelling.claims.facts), so a comparison holds if it holds over the whole span and under every
reading, fails if it fails over all of them, and is undecided otherwise. experiments.rules.claim_conditions defines the
conditions, modelling.claims.values looks up their quantities.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from math import inf
from typing import Any

from experiments.rules.claim_conditions import (
    Aggregate,
    All,
    Condition,
    Coordinates,
    Limit,
    Order,
    Premise,
    Quantity,
    Ratio,
    Share,
    Throughput,
    Untestable,
    Within,
)

from .condition_words import name_of_quantity, name_place, name_values
from .facts import PublishedFacts, Span
from .values import EQUAL, Basis, Reader, Value, combine, span_difference, span_ratio

# Derived values are stored with two decimals, so the ends of their spans have about this relative error.
ROUNDING = 1e-4


@dataclass(frozen=True)
class Comparison:
    """One comparison. say : returns its sentence, which is written only when needed, because there may be many"""

    state: str  # "held", "failed", "undecided"
    say: Callable[[], str]
    evidence: tuple[str, ...] = ()
    basis: str = ""
    key: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Evaluation:
    """The verdict of all comparisons of a condition.

    supported : every one holds; open : some hold, the others cannot be decided; partly : some hold and some fail;
    contradicted : none holds and at least one fails; untestable : none can be decided
    """

    verdict: str
    reason: str
    basis: str = ""  # the least certain Basis of a decided comparison; empty: none, or limits alone
    held: int = 0
    failed: int = 0
    undecided: int = 0
    evidence: tuple[str, ...] = ()
    comparisons: tuple[Comparison, ...] = ()


def evaluate(condition: Condition | Untestable, facts: PublishedFacts, *, is_open: bool = False) -> Evaluation:
    """Judge whether the condition holds on the facts. Parameters and errors are those of compare."""
    if isinstance(condition, Untestable):
        return Evaluation("untestable", condition.reason)
    return verdict_of(compare(condition, facts, is_open=is_open))


def compare(condition: Condition, facts: PublishedFacts, *, is_open: bool = False) -> list[Comparison]:
    """Return the comparisons of a condition on these facts.

    is_open : False for a paper's own facts: a comparison whose numbers are missing is undecided, and lists of pairs
        answer only questions about lists. True for the facts of others: whatever can be compared is, and lists may
        answer which of two is faster.

    Raises CheckError where the condition needs more than values.MOST_STEPS on these facts.
    """
    comparisons = _comparisons(Reader(facts, is_open), condition)
    # A list of pairs has no VM count, so a condition on each count compares it several times.
    return list({(c.key, c.evidence): c for c in comparisons}.values()) if is_open else comparisons


def _comparisons(reader: Reader, condition: Condition) -> list[Comparison]:
    match condition:
        case All():
            return [comparison for part in condition.parts for comparison in _comparisons(reader, part)]
        case Share():
            sources = reader.facts.studies if reader.is_open else [reader.facts]
            shares = [_share(replace(reader, facts=facts), condition) for facts in sources]
            return [share for share in shares if share]
        case Premise():
            assumed = _comparisons(reader, condition.given)
            if not assumed or any(c.state != "held" for c in assumed):
                return []
            then = _comparisons(reader, condition.then)
            return [replace(c, evidence=_evidence([c, *assumed])) for c in then]
        case Order():  # facts of others may lack links of the chain, so each quantity is compared with all after it
            links = combinations(condition.quantities, 2) if reader.is_open else pairwise(condition.quantities)
            return [c for link in links for c in _compare_quantities(reader, link, condition.where, None)]
        case Within():
            wanted = _Wanted(condition.low, condition.high, is_outside=condition.is_outside)
            return _compare_quantities(reader, condition.quantities, condition.where, wanted)


def _share(reader: Reader, condition: Share) -> Comparison | None:
    """Compare whether more than this share of the cases holds; None where there are none."""
    cases = [_comparisons(reader, part) for part in condition.parts]
    states = [_state_of_case(case) for case in cases if case]
    total, held, undecided = len(states), states.count("held"), states.count("undecided")
    if not total:
        return None
    wanted = condition.above * total
    state = "held" if held > wanted else "failed" if held + undecided <= wanted else "undecided"
    used = [c for case in cases for c in case if c.state != "undecided"]
    text = f"{held} of {total} cases hold, wanted {f'more than {wanted:g}' if wanted else 'one'}"
    text += f" ({reader.facts.source})" if reader.is_open else ""
    return Comparison(state, lambda: text, _evidence(used), _basis(used), ("share", held, total, reader.facts.source))


def _state_of_case(case: list[Comparison]) -> str:
    states = {comparison.state for comparison in case}
    return "failed" if "failed" in states else "undecided" if "undecided" in states else "held"


# One comparison of values


@dataclass(frozen=True)
class _Wanted:
    """The range that a value has to lie in, or outside of."""

    low: float = -inf
    high: float = inf
    is_above: bool = False  # low itself is outside the range
    is_outside: bool = False

    def state(self, readings: tuple[Span, ...]) -> str:
        if self.is_above:
            edge = self.low + EQUAL * max(1.0, abs(self.low))
            inside = [span.low > edge for span in readings]
            outside = [span.high <= edge for span in readings]
        else:
            low, high = self.low - ROUNDING * abs(self.low), self.high + ROUNDING * abs(self.high)
            inside = [low <= span.low and span.high <= high for span in readings]
            outside = [span.high < low or span.low > high for span in readings]
        if self.is_outside:
            inside, outside = outside, inside
        return "held" if all(inside) else "failed" if all(outside) else "undecided"

    def __str__(self) -> str:
        if self.is_above:
            return f"above {self.low:g}"
        if self.low == self.high:
            return f"{'other than ' if self.is_outside else ''}{self.low:g}"
        if self.high == inf:
            return f"at least {self.low:g}"
        if self.low in (0, -inf):
            return f"at most {self.high:g}"
        return f"{'outside ' if self.is_outside else ''}{self.low:g} to {self.high:g}"


def _compare_quantities(
    reader: Reader, quantities: tuple[Quantity, ...], where: Coordinates, wanted: _Wanted | None
) -> list[Comparison]:
    """Compare measured and derived values; use what the text states only for comparisons that these leave undecided.

    wanted : range of a quantity, or of the ratio of two; None: the first has to be above the second
    """
    sure = _compare_with(reader, quantities, where, wanted)
    if sure and not reader.is_open and all(c.state != "undecided" for c in sure):
        return sure
    by_key = {c.key: c for c in sure}
    facts = reader.facts.with_statements if reader.is_open else reader.facts
    for comparison in _compare_with(replace(reader, facts=facts, takes_stated=True), quantities, where, wanted):
        before = by_key.get(comparison.key)
        is_news = not reader.is_open or comparison.state != "undecided"
        if is_news if before is None else before.state == "undecided":
            by_key[comparison.key] = comparison
    if by_key or reader.is_open:
        return list(by_key.values())
    names = " and ".join(dict.fromkeys(name_of_quantity(part, reader.facts) for part in quantities))
    text = f"nothing but the claim itself is published for {names}{_bracketed(where, reader)}"
    return [Comparison("undecided", lambda: text)]


def _compare_with(
    reader: Reader, quantities: tuple[Quantity, ...], where: Coordinates, wanted: _Wanted | None
) -> list[Comparison]:
    names = [name_of_quantity(quantity, reader.facts) for quantity in quantities]
    if len(quantities) == 1:
        return [_compare_value(reader, value, names[0], wanted) for value in reader.values(quantities[0], where)]
    upper, lower = quantities
    if _is_number(upper):
        reader = replace(reader, leaves_out_own=not reader.is_open)
        ratios = reader.ratios_of(upper, lower, where)
        return [
            _compare_value(reader, ratio, " / ".join(names), wanted or _Wanted(1.0, is_above=True)) for ratio in ratios
        ]
    reader = replace(reader, leaves_out_own=not reader.is_open and _is_trend(upper, lower))
    joined = reader.join([reader.values(upper, where), reader.values(lower, where)])
    return [_compare_two(reader, at, values, names, wanted) for at, values in joined]


def _compare_value(reader: Reader, value: Value, name: str, wanted: _Wanted | None) -> Comparison:
    assert wanted is not None  # only an order of two quantities has no range
    return _comparison(
        wanted.state(value.readings),
        lambda: f"{name}{_at(value.at, reader)} {name_values(value.readings)}, wanted {wanted}",
        value,
        name,
    )


def _compare_two(
    reader: Reader, at: Mapping[str, Any], values: list[Value], names: list[str], wanted: _Wanted | None
) -> Comparison:
    """Compare two ratios, ranks or counts; the sentence gives both, because their ratio is hard to interpret."""
    if wanted is None:
        value, word, ending = combine(at, values, span_difference), "above", ""
        state = _Wanted(0.0, is_above=True).state(value.readings)
    else:
        value, word, ending = combine(at, values, span_ratio), "against", f", wanted ratio {wanted}"
        state = wanted.state(value.readings)

    def say() -> str:
        sides = [f"{name} {name_values(v.readings)}" for name, v in zip(names, values, strict=True)]
        return f"{f' {word} '.join(sides)}{_at(at, reader)}{ending}"

    return _comparison(state, say, value, " / ".join(names))


def _comparison(state: str, say: Callable[[], str], value: Value, name: str) -> Comparison:
    basis = max(value.bases, key=Basis.ORDER.index, default="")
    return Comparison(state, say, value.evidence, basis, (name, frozenset(value.at.items()), value.along))


def _at(at: Mapping[str, Any], reader: Reader) -> str:
    hidden = {"virtualisation"} if reader.is_open else {"virtualisation", "case_study"}
    return _bracketed({name: value for name, value in at.items() if name not in hidden}, reader)


def _bracketed(where: Mapping[str, Any], reader: Reader) -> str:
    words = ", ".join(name_place(where, reader.facts))
    return f" ({words})" if words else ""


def _is_number(what: Quantity) -> bool:
    """Tell whether the quantity is a throughput; otherwise it is a ratio, a rank or a count."""
    return _is_number(what.of) if isinstance(what, Aggregate) else isinstance(what, Throughput | Limit)


def _is_trend(a: Quantity, b: Quantity) -> bool:
    """Tell whether both are the same ratio at two VM counts."""
    if not (isinstance(a, Ratio) and isinstance(b, Ratio)):
        return False
    return replace(a, at={**a.at, "vm_count": None}) == replace(b, at={**b.at, "vm_count": None})


# The verdict


def verdict_of(comparisons: list[Comparison]) -> Evaluation:
    """Return the verdict of several comparisons, from the number in each state."""
    states = [c.state for c in comparisons]
    held, failed, undecided = (states.count(state) for state in ("held", "failed", "undecided"))
    if failed:
        verdict = "partly" if held else "contradicted"
    elif held:
        verdict = "open" if undecided else "supported"
    else:
        verdict = "untestable"
    used = [c for c in comparisons if c.state != "undecided"]
    reason = _reason(comparisons, held, failed) + _describe_stated(used)
    return Evaluation(verdict, reason, _basis(used), held, failed, undecided, _evidence(used), tuple(comparisons))


def _reason(comparisons: list[Comparison], held: int, failed: int) -> str:
    def example(state: str) -> str:
        return next(c.say() for c in comparisons if c.state == state)

    total = len(comparisons)
    if not total:
        return "No published case study compares this."
    if not held and not failed:
        if total == 1:
            return f"The comparison cannot be decided: {example('undecided')}."
        return f"None of the {total} comparisons can be decided, for example {example('undecided')}."
    if held == total:
        all_ = "Both" if total == 2 else f"All {total}"
        return f"It holds: {example('held')}." if total == 1 else f"{all_} comparisons hold."
    if not held:
        if total == 1:
            return f"It does not hold: {example('failed')}."
        return f"None of the {total} comparisons holds, for example {example('failed')}."
    parts = [f"{held} of {total} comparisons hold{'s' if held == 1 else ''}"]
    if failed:
        words = ("does not", "") if failed == 1 else ("do not", "for example ")
        parts.append(f"{failed} {words[0]} ({words[1]}{example('failed')})")
    if undecided := total - held - failed:
        parts.append(f"{undecided} cannot be decided")
    return ", ".join(parts) + "."


def _describe_stated(used: list[Comparison]) -> str:
    """Write how many of the decided comparisons use ratios or limits stated in the text; empty for none."""
    count = sum(c.basis == Basis.STATED for c in used)
    if not count:
        return ""
    rest = "It rests" if count == len(used) else f"{count} of them rest{'s' if count == 1 else ''}"
    return f" {rest} on ratios or limits that the text itself states."


def _basis(used: list[Comparison]) -> str:
    """Return the least certain basis."""
    return max((c.basis for c in used if c.basis), key=Basis.ORDER.index, default="")


def _evidence(used: Iterable[Comparison]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for comparison in used for name in comparison.evidence))
