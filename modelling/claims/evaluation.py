"""Puts a claim's condition to the facts: the comparisons it comes down to. No Django.

Each comparison holds, fails, or cannot be decided: numbers are spans (modelling.claims.facts), so a condition holds
where it holds over the whole span and under every reading, fails where it fails over all of them, and is undecided
otherwise. Two numbers are only ever compared inside one fair-play group; across groups their ratios are.
experiments.claim_conditions has the conditions.
"""

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import combinations, pairwise
from math import inf
from typing import Any, assert_never

from experiments.claim_conditions import (
    ANY,
    LAST,
    Aggregate,
    All,
    Cases,
    CheckError,
    Condition,
    Limit,
    Listed,
    Order,
    Premise,
    Quantity,
    Rank,
    Ratio,
    Scalar,
    Share,
    Throughput,
    Within,
)
from kdb.pairs import pair_key

from . import condition_words
from .facts import AXES_OF_A_NUMBER, NATIVE, Finding, Number, PrintedRatio, PublishedFacts, Span

# Derived values are stored with two decimals, so the ends of their spans are good to about this share.
ROUNDING = 1e-4
EQUAL = 1e-9  # closer than this is equal: sums of printed decimals

MOST_STEPS = 1_000_000  # of one condition: rows put together, each some microseconds; published ones take 3,300
LOOKED_AT = 8  # rows that are only looked at in one step

# Coordinate that a quantity may name: those that differ along with it (modelling.evidence.axes).
_COMES_ALONG = {
    "pair": {"guest_fs", "host_fs"},
    "hypervisor": {"virtualisation", "medium", "host_fs"},
    "hypervisor_kind": {"hypervisor", "virtualisation", "medium", "host_fs"},
    "virtualisation": {"hypervisor", "medium", "host_fs"},
    "workload": {"variant"},
    "case_study": {"variant", "machine", "medium"},
}
_AXES_OF_NATIVE = ("case_study", "workload", "variant", "operation", "block_size")
_AGGREGATES: dict[str, Callable[[list[float]], float]] = {
    "sum": sum,
    "mean": statistics.fmean,
    "median": statistics.median,
    "max": max,
    "min": min,
    "second": lambda values: sorted(values)[-2],
}
_WHOLE = ("sum", "mean", "median", "second")  # need every value; the best of those present is still a best


class Basis:
    """The kinds of evidence that a comparison rests on, the surest first."""

    MEASURED = "measured"
    DERIVED = "derived"  # from the text by arithmetic
    LISTED = "listed"  # best and worst lists
    STATED = "stated"  # a ratio, or a limit above or below, that the text itself states
    ORDER = (MEASURED, DERIVED, LISTED, STATED)


@dataclass(frozen=True)
class Comparison:
    """One thing that was compared."""

    state: str  # "held", "failed", "undecided"
    say: Callable[[], str]
    evidence: tuple[str, ...] = ()
    basis: str = ""
    key: tuple[Any, ...] = ()

    @property
    def text(self) -> str:
        """Say what was compared and what came of it, fit to show. Worked out when asked: there may be many."""
        return self.say()


def compare(condition: Condition, facts: PublishedFacts, *, is_open: bool = False) -> list[Comparison]:
    """Return the comparisons that a condition comes down to on these facts.

    is_open : False for a paper's own facts: what the condition names and the facts do not have is
        undecided, and lists of pairs answer only questions about lists. True for everybody else's: the
        question is asked of whatever can be compared, and lists may answer which of two is faster.

    Raises CheckError where the facts are too many for the condition (MOST_STEPS).
    """
    comparisons = _Reader(facts, is_open, _Budget()).comparisons(condition, {})
    # A list of pairs names no VM count, so a question about each count meets it several times.
    return list({(c.key, c.evidence): c for c in comparisons}.values()) if is_open else comparisons


@dataclass
class _Budget:
    """The work one condition may cause, counted and not timed."""

    spent: int = 0

    def spend(self, steps: int) -> None:
        self.spent += steps
        if self.spent > MOST_STEPS:
            raise CheckError(f"on the published evidence it takes more than {MOST_STEPS:,} steps, the most allowed")


# Reading a condition

_Where = Mapping[str, Scalar]
_Key = tuple[Any, ...]
_Said = tuple[str, tuple[Span, ...]]  # a name and its values


@dataclass(frozen=True)
class _Known:
    """One value of a quantity. `at` are the coordinates the quantity leaves open."""

    at: Mapping[str, Any]
    readings: tuple[Span, ...]
    evidence: tuple[str, ...] = ()
    bases: frozenset[str] = frozenset()
    fair: _Key | None = None  # the fair-play group of a number; None: it may stand beside any
    is_level: bool = False  # a place in a list: orders, but measures nothing
    along: frozenset[_Key] = frozenset()  # each hypervisor with what came along with it


@dataclass(frozen=True)
class _Wanted:
    """The range that a value has to lie in, or outside of."""

    low: float = -inf
    high: float = inf
    is_above: bool = False  # low itself does not do
    is_outside: bool = False

    def state(self, readings: tuple[Span, ...]) -> str:
        if self.is_above:
            edge = self.low + EQUAL * max(1.0, abs(self.low))
            inside = [span.low > edge for span in readings]
            apart = [span.high <= edge for span in readings]
        else:
            low, high = self.low - ROUNDING * abs(self.low), self.high + ROUNDING * abs(self.high)
            inside = [low <= span.low and span.high <= high for span in readings]
            apart = [span.high < low or span.low > high for span in readings]
        if self.is_outside:
            inside, apart = apart, inside
        return "held" if all(inside) else "failed" if all(apart) else "undecided"

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


@dataclass
class _Reader:
    facts: PublishedFacts
    is_open: bool
    budget: _Budget
    takes_stated: bool = False  # also what the text only states: bounds and printed ratios
    leaves_out_own: bool = False  # nothing that says the compared thing itself in other words
    cells: dict[_Key, list[_Known]] = field(default_factory=dict)  # what this condition looked up already

    # Conditions

    def comparisons(self, condition: Condition, where: _Where) -> list[Comparison]:
        match condition:
            case Cases():
                return [c for case in condition.cases for c in self.comparisons(case, where)]
            case All():
                return [c for part in condition.parts for c in self.comparisons(part, {**where, **condition.where})]
            case Share():
                return self._share(condition, {**where, **condition.where})
            case Premise():
                return self._under(condition, {**where, **condition.where})
            case Order():  # to others a chain may have gaps, so each is compared with all after it
                links = combinations(condition.quantities, 2) if self.is_open else pairwise(condition.quantities)
                where = {**where, **condition.where}
                return [c for link in links for c in self._compared(replace(condition, quantities=link), where)]
            case Within():
                return self._compared(condition, {**where, **condition.where})
            case _:
                assert_never(condition)

    def _under(self, condition: Premise, where: _Where) -> list[Comparison]:
        assumed = self.comparisons(condition.given, where)
        if not assumed or any(c.state != "held" for c in assumed):
            return []
        premises = tuple(name for c in assumed for name in c.evidence)
        return [
            replace(c, evidence=tuple(dict.fromkeys((*c.evidence, *premises))))
            for c in self.comparisons(condition.then, where)
        ]

    def _share(self, condition: Share, where: _Where) -> list[Comparison]:
        """Return one comparison for each source: whether more than this share of the cases holds."""
        comparisons = []
        for facts in self.facts.studies if self.is_open else [self.facts]:
            reader, above = replace(self, facts=facts), condition.above
            if isinstance(condition.of, Cases):
                cases = [reader.comparisons(case, where) for case in condition.of.cases]
            else:
                cases = [[comparison] for comparison in reader.comparisons(condition.of, where)]
            cases = [case for case in cases if case]
            states = [_together(case) for case in cases]
            total, held, undecided = len(states), states.count("held"), states.count("undecided")
            if not total:
                continue
            state = "held" if held > above * total else "failed" if held + undecided <= above * total else "undecided"
            used = [c for case in cases for c in case if c.state != "undecided"]
            comparisons.append(
                Comparison(
                    state,
                    partial(self._say_share, held, total, above, facts),
                    tuple(dict.fromkeys(name for c in used for name in c.evidence)),
                    max((c.basis for c in used if c.basis), key=Basis.ORDER.index, default=""),
                    ("share", held, total, facts.names()),
                )
            )
        return comparisons

    def _say_share(self, held: int, total: int, above: float, facts: PublishedFacts) -> str:
        wanted = "one" if above == 0 else f"more than {above * total:g}"
        return f"{held} of {total} cases hold, wanted {wanted}{f' ({facts.names()})' if self.is_open else ''}"

    def _compared(self, condition: Order | Within, where: _Where) -> list[Comparison]:
        """Compare values first; what they leave open is asked again with what the text states."""
        sure = self._once(condition, where, takes_stated=False)
        if sure and not self.is_open and all(c.state != "undecided" for c in sure):
            return sure
        by_key = {c.key: c for c in sure}
        talkative = replace(self, facts=self.facts.stating) if self.is_open else self
        for comparison in talkative._once(condition, where, takes_stated=True):
            before = by_key.get(comparison.key)
            is_news = not self.is_open or comparison.state != "undecided"
            if is_news if before is None else before.state == "undecided":
                by_key[comparison.key] = comparison
        if not by_key and not self.is_open:
            return [Comparison("undecided", partial(self._say_nothing, condition, where))]
        return list(by_key.values())

    def _once(self, condition: Order | Within, where: _Where, *, takes_stated: bool) -> list[Comparison]:
        reader = replace(self, takes_stated=takes_stated)
        if isinstance(condition, Order):
            upper, lower = condition.quantities
            return reader._ordered(upper, lower, where)
        wanted = _Wanted(condition.low, condition.high, is_outside=condition.is_outside)
        if len(condition.quantities) == 1:
            (what,) = condition.quantities
            name = condition_words.name(what, self.facts)
            return [reader._comparison(known, name, wanted) for known in reader.quantity(what, where)]
        upper, lower = condition.quantities
        return reader._related(upper, lower, where, wanted)

    def _ordered(self, upper: Quantity, lower: Quantity, where: _Where) -> list[Comparison]:
        if _is_number(upper):
            return self._related(upper, lower, where, _Wanted(1.0, is_above=True))
        return self._beside(upper, lower, where, _Wanted(0.0, is_above=True), _span_difference, "above")

    def _related(self, upper: Quantity, lower: Quantity, where: _Where, wanted: _Wanted) -> list[Comparison]:
        if not _is_number(upper):
            return self._beside(upper, lower, where, wanted, _span_ratio, "against", f", wanted ratio {wanted}")
        name = f"{condition_words.name(upper, self.facts)} / {condition_words.name(lower, self.facts)}"
        reader = replace(self, leaves_out_own=not self.is_open)
        return [self._comparison(known, name, wanted) for known in reader._divided(upper, lower, where, {})]

    def _beside(
        self,
        upper: Quantity,
        lower: Quantity,
        where: _Where,
        wanted: _Wanted,
        how: Callable[[Span, Span], Span],
        word: str,
        ending: str = "",
    ) -> list[Comparison]:
        """Compare ratios, ranks and counts, and say both sides, because their ratio says little."""
        names = condition_words.name(upper, self.facts), condition_words.name(lower, self.facts)
        reader = replace(self, leaves_out_own=not self.is_open and _is_trend(upper, lower))
        comparisons = []
        for at, (a, b) in self._joined([reader.quantity(upper, where), reader.quantity(lower, where)]):
            known = _combined(at, [a, b], how)
            say = partial(self._say_both, (names[0], a.readings), word, (names[1], b.readings), at, ending)
            comparisons.append(_comparison(wanted.state(known.readings), say, known, " / ".join(names)))
        return comparisons

    def _comparison(self, known: _Known, name: str, wanted: _Wanted) -> Comparison:
        return _comparison(wanted.state(known.readings), partial(self._say_one, known, name, wanted), known, name)

    def _say_one(self, known: _Known, name: str, wanted: _Wanted) -> str:
        return f"{name}{self._context(known.at)} {condition_words.spans(known.readings)}, wanted {wanted}"

    def _say_both(self, upper: _Said, word: str, lower: _Said, at: Mapping[str, Any], ending: str) -> str:
        sides = [f"{name} {condition_words.spans(readings)}" for name, readings in (upper, lower)]
        return f"{sides[0]} {word} {sides[1]}{self._context(at)}{ending}"

    def _say_nothing(self, condition: Order | Within, where: _Where) -> str:
        names = " and ".join(dict.fromkeys(condition_words.name(part, self.facts) for part in condition.quantities))
        words = ", ".join(condition_words.words(where, self.facts))
        return f"nothing but the claim itself is published for {names}{f' ({words})' if words else ''}"

    def _context(self, at: Mapping[str, Any]) -> str:
        hidden = {"virtualisation"} if self.is_open else {"virtualisation", "case_study"}
        words = condition_words.words({k: v for k, v in at.items() if k not in hidden}, self.facts)
        return f" ({', '.join(words)})" if words else ""

    # Quantities

    def quantity(self, what: Quantity, where: _Where, named: _Where | None = None) -> list[_Known]:
        """Return every value of the quantity. `named` are coordinates that a quantity around it fixes."""
        named = named or {}
        match what:
            case Aggregate():
                return self._aggregated(what, where, named)
            case Rank():
                return self._ranks(what, where, named)
            case Ratio():
                return self._divided(what.upper, what.lower, where, {**named, **what.at})
            case Listed():
                return self._listed(what.name, where, {**named, **what.at})
            case Limit():
                limits = {slug: limit.get(what.name) for slug, limit in self.facts.limits.items()}
                return [_Known({"case_study": slug}, (Span(x, x),)) for slug, x in limits.items() if x is not None]
            case Throughput():
                return self._cell({**named, **what.at}, where)
            case _:
                assert_never(what)

    def _cell(self, named: _Where, where: _Where) -> list[_Known]:
        """Return the numbers at these coordinates; to an open question also places in lists."""
        key = (id(self.facts), self.takes_stated, *(tuple(sorted(part.items())) for part in (named, where)))
        if key not in self.cells:
            levels = self._levels(named, where) if self.is_open else []
            self.cells[key] = self._numbers(named, where) + levels
        return self.cells[key]

    def _numbers(self, named: _Where, where: _Where) -> list[_Known]:
        is_native = {**where, **named}.get("hypervisor") == NATIVE
        if is_native:
            where = {k: v for k, v in where.items() if k in (*_AXES_OF_NATIVE, "hypervisor")}
        wanted = _file_systems({**where, **named})
        rows: Sequence[Number] = self.facts.numbers
        if "workload" in wanted and wanted["workload"] != ANY:
            rows = self.facts.by_workload.get(wanted["workload"], ())
        open_axes = _open_axes(named, _AXES_OF_NATIVE if is_native else AXES_OF_A_NUMBER)
        self.budget.spend(1 + len(rows) // LOOKED_AT)
        return [
            _Known(
                {axis: row.at[axis] for axis in open_axes},
                row.readings,
                (row.id,),
                frozenset({_basis(row)}),
                tuple(row.at[axis] for axis in ("case_study", "variant", "operation", "block_size")),
                along=_along(row.at, named, open_axes),
            )
            for row in rows
            if (self.takes_stated or not row.is_bound)
            and (row.at["hypervisor"] == NATIVE) == is_native
            and all(self._fits(row.at, name, value) for name, value in wanted.items())
        ]

    def _fits(self, at: Mapping[str, Any], name: str, value: Scalar) -> bool:
        if value == ANY:
            return True
        if name == "vm_count" and value == LAST:
            return bool(at["vm_count"] == self.facts.last_count.get(at["case_study"]))
        return bool(at.get(name) == value)

    def _levels(self, named: _Where, where: _Where) -> list[_Known]:
        """Return places in lists as if they were numbers: they tell which is faster and not by how much."""
        if named.keys() & {"vm_count", "operation", "block_size", "case_study", "virtualisation", "hypervisor_kind"}:
            return []
        wanted = {k: v for k, v in _file_systems({**where, **named}).items() if k not in ("vm_count", "operation")}
        open_axes = [a for a in _open_axes(named, ("workload", "hypervisor", "guest_fs", "host_fs")) if a != "variant"]
        self.budget.spend(1 + len(self.facts.findings) // LOOKED_AT)
        return [
            _Known(
                {"case_study": f.publication, **{axis: getattr(f, axis) for axis in open_axes}},
                tuple(Span(p, p) for p in _points("level", f)),
                (f.id,),
                frozenset({Basis.LISTED}),
                (f.publication, f.workload, f.hypervisor),
                is_level=True,
                along=_along(vars(f), named, open_axes),
            )
            for f in self.facts.findings
            if _finding_fits(f, wanted)
        ]

    def _listed(self, name: str, where: _Where, named: _Where) -> list[_Known]:
        """Count the findings at these coordinates that are on a list, or add up their points; [] without findings."""
        self.budget.spend(1 + len(self.facts.findings) // LOOKED_AT)
        wanted = _file_systems({**where, **named})
        source = str(wanted.pop("source", None) or "")
        listed = [f for f in self.facts.findings if _finding_fits(f, wanted)]
        if not listed:
            return []
        points = [_points(name, finding, source) for finding in listed]
        readings = tuple(Span(total, total) for total in map(sum, zip(*points, strict=True)))
        at = {coordinate: value for coordinate, value in where.items() if coordinate not in named}
        return [_Known(at, readings, tuple(f.id for f in listed), frozenset({Basis.LISTED}))]

    def _aggregated(self, what: Aggregate, where: _Where, named: _Where) -> list[_Known]:
        aggregate = _AGGREGATES[what.how]
        parts = [self.quantity(what.of, where, {**named, **part}) for part in what.parts()]
        return [
            _combined(
                at, knowns, lambda *spans: Span(aggregate([s.low for s in spans]), aggregate([s.high for s in spans]))
            )
            for at, knowns in self._joined(parts, where_present=self.is_open and what.how not in _WHOLE)
        ]

    def _ranks(self, what: Rank, where: _Where, named: _Where) -> list[_Known]:
        """Return 1 and the number of rivals that are faster; equal ones share the better rank."""
        subject = Throughput({**named, **what.subject})
        duels = [self._divided(Throughput({**named, **rival}), subject, where, {}) for rival in what.rivals]

        def rank(*ratios: Span) -> Span:
            ahead = sum(r.low > 1 + EQUAL for r in ratios)
            maybe = sum(r.low <= 1 + EQUAL < r.high for r in ratios)
            return Span(1 + ahead, 1 + ahead + maybe)

        return [_combined(at, knowns, rank) for at, knowns in self._joined(duels, where_present=self.is_open)]

    def _divided(self, upper: Quantity, lower: Quantity, where: _Where, named: _Where) -> list[_Known]:
        """Return ratios inside fair-play groups, made narrower by what the text states of them, if asked for."""
        ratios = [
            _without_group(_combined(at, [a, b], _level_ratio if a.is_level else _span_ratio))
            for at, (a, b) in self._joined([self.quantity(upper, where, named), self.quantity(lower, where, named)])
            if not (a.fair and len(a.evidence) == 1 and a.evidence == b.evidence)  # the best and the weakest of one
        ]
        if not (self.takes_stated or self.leaves_out_own):
            return ratios
        stated, own = self._printed(upper, lower, where, named)
        if self.leaves_out_own:
            has_limit = isinstance(upper, Limit) or isinstance(lower, Limit)
            ratios = [known for known in ratios if not _is_own(known, own, has_limit)]
        if not self.takes_stated:
            return ratios
        self.budget.spend(len(ratios) * len(stated))
        refined: list[_Known] = []
        used: set[int] = set()
        for known in ratios:
            matching = [(i, s) for i, s in enumerate(stated) if _agree(known.at, s.at)]
            used |= {i for i, _ in matching}
            refined.append(_narrowed(known, [s for _, s in matching]))
        return refined + [s for i, s in enumerate(stated) if i not in used]

    def _printed(
        self, a: Quantity, b: Quantity, where: _Where, named: _Where
    ) -> tuple[list[_Known], list[Mapping[str, Any]]]:
        """Return what printed ratios say of two hypervisors, directly or by way of a third.

        Also the places that have a ratio of these two: there the third is needed where what is its own is left out.
        """
        if not (isinstance(a, Throughput) and isinstance(b, Throughput)):
            return [], []
        upper, lower = {**named, **a.at}, {**named, **b.at}
        if not all(isinstance(side.get("hypervisor"), str) for side in (upper, lower)):
            return [], []
        sides = [side for side in (upper, lower) if side["hypervisor"] != NATIVE]
        counts = {side.get("vm_count", where.get("vm_count")) for side in sides}
        rest = {**where, **upper, **lower}.keys() - {"hypervisor", "vm_count", "workload", "case_study"}
        if len(counts) != 1 or rest:
            return [], []
        count = counts.pop()
        wanted = {k: v for k, v in {**where, **upper}.items() if k in ("workload", "case_study") and v != ANY}
        printed: list[_Known] = []
        own: list[Mapping[str, Any]] = []
        groups: dict[tuple[str, str], list[PrintedRatio]] = {}
        self.budget.spend(1 + len(self.facts.ratios))
        for ratio in self.facts.ratios:
            if all(getattr(ratio, name) == value for name, value in wanted.items()):
                groups.setdefault((ratio.case_study, ratio.workload), []).append(ratio)
        for (case_study, workload), ratios in groups.items():
            last = self.facts.last_count.get(case_study)
            for n in sorted({n for ratio in ratios for n in ratio.vm_counts}):
                if count not in (None, ANY, n) and not (count == LAST and n == last):
                    continue
                edges = {(r.numerator, r.denominator): (span, r.id) for r in ratios if (span := r.at(n))}
                edges |= {(y, x): (_span_ratio(Span(1, 1), span), name) for (x, y), (span, name) in edges.items()}
                self.budget.spend(len(edges))
                ends = str(upper["hypervisor"]), str(lower["hypervisor"])
                at = {"case_study": case_study, "workload": workload, "vm_count": n}
                at = {k: v for k, v in at.items() if not any(k in side for side in (upper, lower))}
                if ends in edges:
                    own.append(at)
                if spans := _paths(edges, *ends, is_direct=ends in edges and not self.leaves_out_own):
                    evidence = tuple(dict.fromkeys(name for _, names in spans for name in names))
                    basis = Basis.STATED if len(evidence) == 1 else Basis.DERIVED
                    printed.append(_Known(at, (_common([s for s, _ in spans]),), evidence, frozenset({basis})))
        return printed, own

    def _joined(
        self, relations: list[list[_Known]], *, where_present: bool = False
    ) -> Iterator[tuple[Mapping[str, Any], list[_Known]]]:
        """Yield each combination of one value of every relation that agrees in what they leave open.

        where_present : a value of a relation may be missing: the best of those there are
        """
        rows: list[tuple[_Known, list[_Known]]] = [(known, [known]) for known in relations[0]] if relations else []
        for relation in relations[1:]:
            matching, met, longer = _Index(relation, self.budget), set(), []
            for known, knowns in rows:
                others = matching(known)
                met |= set(map(id, others))
                self.budget.spend((1 + len(others)) * len(knowns))
                longer += [(_meet(known, other), [*knowns, other]) for other in others]
                if where_present and not others:
                    longer.append((known, knowns))
            rows = longer
            if where_present:
                rows += [(known, [known]) for known in relation if id(known) not in met]
        return ((known.at, knowns) for known, knowns in rows)


# Small parts of the reading


def _file_systems(where: _Where) -> dict[str, Scalar]:
    """Return the coordinates with `fs` and `side` as the one they mean."""
    wanted = {name: value for name, value in where.items() if name not in ("fs", "side")}
    if "side" in where and "fs" in where:
        wanted[f"{where['side']}_fs"] = where["fs"]
    return wanted


def _open_axes(named: _Where, axes: tuple[str, ...]) -> list[str]:
    fixed = set(named) | {name for coordinate in named for name in _COMES_ALONG.get(coordinate, ())}
    return [axis for axis in axes if axis not in fixed]


def _along(at: Mapping[str, Any], named: _Where, open_axes: list[str]) -> frozenset[_Key]:
    """Return the hypervisor with what came along: a host file system may differ under another hypervisor only."""
    if "hypervisor" in open_axes or named.keys() & {"host_fs", "pair"} or at["hypervisor"] == NATIVE:
        return frozenset()
    return frozenset({(at["hypervisor"], at["host_fs"], at.get("virtualisation"), at.get("medium"))})


def _is_trend(a: Quantity, b: Quantity) -> bool:
    """Tell whether the two are one ratio at two VM counts."""
    if not (isinstance(a, Ratio) and isinstance(b, Ratio)):
        return False
    return replace(a, at={**a.at, "vm_count": None}) == replace(b, at={**b.at, "vm_count": None})


def _is_own(known: _Known, printed: list[Mapping[str, Any]], has_limit: bool) -> bool:
    """Tell whether a ratio only says again what the text says of these two: by a value that was derived from the ratio
    printed of them, or by a bound, against the limit that it was read from."""
    if has_limit:
        return Basis.STATED in known.bases
    return not known.bases <= {Basis.MEASURED} and any(_agree(known.at, at) for at in printed)


def _is_number(what: Quantity) -> bool:
    """Tell whether the quantity is a throughput; else it is a ratio, a rank or a count."""
    return _is_number(what.of) if isinstance(what, Aggregate) else isinstance(what, Throughput | Limit)


def _basis(row: Number) -> str:
    if row.is_bound:
        return Basis.STATED
    return Basis.DERIVED if row.id.startswith("derived") else Basis.MEASURED


def _finding_fits(finding: Finding, wanted: Mapping[str, Any]) -> bool:
    values = {
        "workload": finding.workload,
        "hypervisor": finding.hypervisor,
        "guest_fs": finding.guest_fs,
        "host_fs": finding.host_fs,
        "pair": pair_key(finding.guest_fs, finding.host_fs),
    }
    return all(value in (ANY, values[name]) for name, value in wanted.items() if name in values)


def _points(name: str, finding: Finding, source: str = "") -> list[int]:
    """Return the points of one finding, by its text and by its table: two readings, where no source is named."""
    points = []
    for read in (source,) if source else ("text", "table"):
        place = {"worst": -1, "unlisted": 0, "best": 1}[getattr(finding, read)]
        if name.endswith("outstanding"):  # only the text has the mark
            points.append(int(f"{finding.text}-outstanding" == name and finding.is_outstanding))
        elif name in ("best", "worst"):
            points.append(int(place == {"best": 1, "worst": -1}[name]))
        elif name == "level" and read == "text" and finding.is_outstanding:
            points.append(3 + 2 * place)
        else:
            points.append(place + {"score": 0, "tier": 2, "level": 3}[name])
    return points


def _agree(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    return all(b[name] == value for name, value in a.items() if name in b)


def _meet(known: _Known, other: _Known) -> _Known:
    along = known.along | other.along
    return replace(known, at={**known.at, **other.at}, fair=known.fair or other.fair, along=along)


class _Index:
    """Finds the values of a relation that agree with another value, without trying them all."""

    def __init__(self, relation: list[_Known], budget: _Budget) -> None:
        self.budget = budget
        self.by_axes: dict[frozenset[str], list[_Known]] = {}
        for known in relation:
            self.by_axes.setdefault(frozenset(known.at), []).append(known)
        self.tables: dict[_Key, dict[_Key, list[_Known]]] = {}

    def __call__(self, known: _Known) -> list[_Known]:
        others: list[_Known] = []
        for axes, rows in self.by_axes.items():
            common = tuple(sorted(axes & known.at.keys()))
            if (axes, common) not in self.tables:
                table: dict[_Key, list[_Known]] = {}
                self.tables[axes, common] = table
                self.budget.spend(len(rows))
                for row in rows:
                    table.setdefault(tuple(row.at[axis] for axis in common), []).append(row)
            others += self.tables[axes, common].get(tuple(known.at[axis] for axis in common), [])
        self.budget.spend(len(others))
        others = [
            other
            for other in others
            if known.is_level == other.is_level
            and (None in (known.fair, other.fair) or known.fair == other.fair)
            and len({hypervisor for hypervisor, *_ in known.along | other.along}) == len(known.along | other.along)
        ]
        # Prefer those that are equal also in what may come along with a hypervisor.
        surroundings = {along[1:] for along in known.along}
        alike = [other for other in others if {along[1:] for along in other.along} <= surroundings]
        return alike or others


def _combined(at: Mapping[str, Any], knowns: list[_Known], how: Callable[..., Span]) -> _Known:
    """Combine values reading by reading: a scan was read twice, a text and its table once each."""
    count = max(len(known.readings) for known in knowns)
    readings = [known.readings * (count if len(known.readings) == 1 else 1) for known in knowns]
    return _Known(
        at,
        tuple(how(*spans) for spans in zip(*readings, strict=True)),
        tuple(dict.fromkeys(name for known in knowns for name in known.evidence)),
        frozenset().union(*(known.bases for known in knowns)),
        next((known.fair for known in knowns if known.fair), None),
        knowns[0].is_level,
        frozenset().union(*(known.along for known in knowns)),
    )


def _without_group(known: _Known) -> _Known:
    """Drop the fair-play group of a ratio: it has no unit, so it may stand beside one of another case study."""
    at = dict(known.at)
    if "workload" not in at or "case_study" not in at:
        at = {name: value for name, value in at.items() if name not in ("variant", "machine", "medium")}
    along = known.along if "case_study" in at else frozenset()
    return replace(known, at=at, fair=None, is_level=False, along=along)


def _span_ratio(a: Span, b: Span) -> Span:
    return Span(_quotient(a.low, b.high), _quotient(a.high, b.low))


def _span_difference(a: Span, b: Span) -> Span:
    return Span(a.low - b.high, a.high - b.low)


def _quotient(a: float, b: float) -> float:
    if a == b:
        return 1.0  # two empty lists are equally long
    if b == inf:
        return 0.0
    return a / b if b else inf


def _level_ratio(a: Span, b: Span) -> Span:
    if a.low > b.high:
        return Span(1 + 2 * EQUAL, inf)
    if a.high < b.low:
        return Span(0.0, 1 - 2 * EQUAL)
    return Span(0.0, inf)


def _narrowed(known: _Known, stated: list[_Known]) -> _Known:
    """Return the part of a span that statements leave; where they leave none, both stand as readings."""
    for other in stated:
        span = other.readings[0]
        parts = [Span(max(r.low, span.low), min(r.high, span.high)) for r in known.readings]
        readings = tuple(parts) if all(p.low <= p.high for p in parts) else (*known.readings, span)
        evidence = tuple(dict.fromkeys((*known.evidence, *other.evidence)))
        known = replace(known, readings=readings, evidence=evidence, bases=known.bases | other.bases)
    return known


def _paths(
    edges: Mapping[tuple[str, str], tuple[Span, str]], start: str, end: str, *, is_direct: bool
) -> list[tuple[Span, tuple[str, ...]]]:
    """Return spans of start/end: the printed one if it may be taken, else products over a third compared with both."""
    if is_direct:
        span, name = edges[start, end]
        return [(span, (name,))]
    spans: list[tuple[Span, tuple[str, ...]]] = []
    for (a, middle), (first, name) in edges.items():
        if a == start and (middle, end) in edges:
            second, other = edges[middle, end]
            spans.append((Span(first.low * second.low, first.high * second.high), (name, other)))
    return spans


def _common(spans: list[Span]) -> Span:
    return reduce(lambda a, b: Span(max(a.low, b.low), min(a.high, b.high)), spans)


def _together(case: list[Comparison]) -> str:
    states = {c.state for c in case}
    return "failed" if "failed" in states else "undecided" if "undecided" in states else "held"


def _comparison(state: str, say: Callable[[], str], known: _Known, name: str) -> Comparison:
    basis = max(known.bases, key=Basis.ORDER.index, default="")
    return Comparison(state, say, known.evidence, basis, (name, frozenset(known.at.items()), known.along))
