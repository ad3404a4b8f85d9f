"""Look up the values of a condition's quantities in the facts. No Django.

A quantity has a value for each combination of the coordinates that it leaves open. Values are joined if they agree in
these, numbers only within a fair-play group; ratios, which have no unit, also across groups.
"""

import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

from experiments.rules.claim_conditions import (
    ANY,
    LAST,
    Aggregate,
    CheckError,
    Coordinates,
    Limit,
    Listed,
    Quantity,
    Rank,
    Ratio,
    Scalar,
    Throughput,
    placed,
)
from kdb.pairs import pair_key

from .facts import AXES_OF_A_NUMBER, LOOKUP_AXES, NATIVE, Finding, Number, PublishedFacts, Span

EQUAL = 1e-9  # tolerance for sums of printed decimals
MOST_STEPS = 1_000_000  # joined rows of one condition, some microseconds each; published ones need up to 3,300
ROWS_A_STEP = 8  # rows that are only filtered cost less: so many in one step

# Coordinate that a quantity may name: others that may differ with it (modelling.evidence.axes).
_COMES_ALONG = {
    "pair": {"guest_fs", "host_fs"},
    "hypervisor": {"virtualisation", "medium", "host_fs"},
    "hypervisor_kind": {"hypervisor", "virtualisation", "medium", "host_fs"},
    "virtualisation": {"hypervisor", "medium", "host_fs"},
    "workload": {"variant"},
    "case_study": {"variant", "machine", "medium"},
}
_AXES_OF_NATIVE = ("case_study", "workload", "variant", "operation", "block_size")
_AXES_OF_A_FINDING = ("workload", "hypervisor", "guest_fs", "host_fs")
_NOT_IN_LISTS = {"vm_count", "operation", "block_size", "case_study", "virtualisation", "hypervisor_kind"}
_AGGREGATES: dict[str, Callable[[tuple[float, ...]], float]] = {
    "sum": sum,
    "mean": statistics.fmean,
    "median": statistics.median,
    "max": max,
    "min": min,
    "second": lambda values: sorted(values)[-2],
}
_Key = tuple[Any, ...]


class Basis:
    """The kinds of evidence of a comparison, in ORDER from the most to the least certain."""

    MEASURED = "measured"
    DERIVED = "derived"  # from the text by arithmetic
    LISTED = "listed"  # best and worst lists
    STATED = "stated"  # a ratio, or a limit above or below, that the text itself states
    ORDER = (MEASURED, DERIVED, LISTED, STATED)


@dataclass(frozen=True)
class Value:
    """One value of a quantity. at : the coordinates that the quantity leaves open"""

    at: Mapping[str, Any]
    readings: tuple[Span, ...]
    evidence: tuple[str, ...] = ()
    bases: frozenset[str] = frozenset()
    fair: _Key | None = None  # fair-play group of a number; None: comparable with all
    is_level: bool = False  # a place in a list, of which only the order matters
    along: frozenset[_Key] = frozenset()  # each hypervisor with its host_fs, virtualisation and medium


@dataclass
class Budget:
    """A limit on the work for one condition, in steps rather than seconds."""

    spent: int = 0

    def spend(self, steps: int) -> None:
        self.spent += steps
        if self.spent > MOST_STEPS:
            raise CheckError(f"on the published evidence it takes more than {MOST_STEPS:,} steps, the most allowed")


@dataclass
class Reader:
    """Look up quantities in facts.

    is_open : as for evaluation.compare
    takes_stated : include bounds and printed ratios, which the text only states
    leaves_out_own : exclude values that were derived from a statement of the compared ratio itself
    """

    facts: PublishedFacts
    is_open: bool
    takes_stated: bool = False
    leaves_out_own: bool = False
    budget: Budget = field(default_factory=Budget)

    def values(self, what: Quantity, where: Coordinates) -> list[Value]:
        """Return every value of the quantity. where : coordinates that its condition fixes"""
        match what:
            case Aggregate(how=how):
                parts = [self.values(placed(what.of, part), where) for part in what.parts()]
                # A best of the present values is meaningful; a sum needs every part.
                joined = self.join(parts, where_present=self.is_open and how in ("max", "min"))
                return [
                    combine(at, values, lambda *spans: Span(*map(_AGGREGATES[how], zip(*spans, strict=True))))
                    for at, values in joined
                ]
            case Rank():
                duels = [self.ratios_of(Throughput(rival), Throughput(what.subject), where) for rival in what.rivals]
                return [combine(at, values, _rank) for at, values in self.join(duels, where_present=self.is_open)]
            case Ratio():
                return self.ratios_of(placed(what.upper, what.at), placed(what.lower, what.at), where)
            case Listed():
                return self._values_from_lists(what, where)
            case Limit():
                limits = {slug: limit.get(what.name) for slug, limit in self.facts.limits.items()}
                return [Value({"case_study": slug}, (Span(x, x),)) for slug, x in limits.items() if x is not None]
            case Throughput():
                levels = self._levels(what.at, where) if self.is_open else []
                return self._numbers(what.at, where) + levels

    def _numbers(self, named: Coordinates, where: Coordinates) -> list[Value]:
        """Return the numbers at these coordinates as values."""
        is_native = {**where, **named}.get("hypervisor") == NATIVE
        if is_native:
            where = {name: value for name, value in where.items() if name in (*_AXES_OF_NATIVE, "hypervisor")}
        wanted = _resolve_file_system({**where, **named})
        rows = self.facts.numbers_at(*(wanted.get(name, ANY) for name in LOOKUP_AXES))
        open_axes = _open_axes(named, _AXES_OF_NATIVE if is_native else AXES_OF_A_NUMBER)
        self.budget.spend(1 + len(rows) // ROWS_A_STEP)
        return [
            Value(
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
        if name == "vm_count" and value == LAST:
            value = self.facts.last_count.get(at["case_study"])
        return value in (ANY, at.get(name))

    def _levels(self, named: Coordinates, where: Coordinates) -> list[Value]:
        """Return places in lists as values of which only the order matters."""
        if named.keys() & _NOT_IN_LISTS:
            return []
        wanted = _resolve_file_system({**where, **named})
        open_axes = _open_axes(named, _AXES_OF_A_FINDING)
        self.budget.spend(1 + len(self.facts.findings) // ROWS_A_STEP)
        return [
            Value(
                {"case_study": f.publication, **{axis: getattr(f, axis) for axis in open_axes}},
                tuple(Span(p, p) for p in _points_of("level", f)),
                (f.id,),
                frozenset({Basis.LISTED}),
                (f.publication, f.workload, f.hypervisor),
                is_level=True,
                along=_along(vars(f), named, open_axes),
            )
            for f in self.facts.findings
            if _finding_fits(f, wanted)
        ]

    def _values_from_lists(self, what: Listed, where: Coordinates) -> list[Value]:
        """Return the number of findings at these coordinates on a list, or their points; [] without findings."""
        self.budget.spend(1 + len(self.facts.findings) // ROWS_A_STEP)
        wanted = _resolve_file_system({**where, **what.at})
        source = str(wanted.pop("source", None) or "")
        listed = [f for f in self.facts.findings if _finding_fits(f, wanted)]
        if not listed:
            return []
        points = [_points_of(what.name, finding, source) for finding in listed]
        readings = tuple(Span(total, total) for total in map(sum, zip(*points, strict=True)))
        at = {coordinate: value for coordinate, value in where.items() if coordinate not in what.at}
        return [Value(at, readings, tuple(f.id for f in listed), frozenset({Basis.LISTED}))]

    def ratios_of(self, upper: Quantity, lower: Quantity, where: Coordinates) -> list[Value]:
        """Return ratios within fair-play groups, with takes_stated narrowed by those that the text states."""
        ratios = [
            _without_group(combine(at, [a, b], _level_ratio if a.is_level else span_ratio))
            for at, (a, b) in self.join([self.values(upper, where), self.values(lower, where)])
            if not (a.fair and len(a.evidence) == 1 and a.evidence == b.evidence)  # the same value on both sides
        ]
        if not (self.takes_stated or self.leaves_out_own):
            return ratios
        stated, own = self._printed(upper, lower, where)
        if self.leaves_out_own:
            has_limit = isinstance(upper, Limit) or isinstance(lower, Limit)
            ratios = [ratio for ratio in ratios if not _repeats_statement(ratio, own, has_limit)]
        if not self.takes_stated:
            return ratios
        self.budget.spend(len(ratios) * len(stated))
        narrowed = [_narrow(ratio, [s for s in stated if _is_compatible(ratio.at, s.at)]) for ratio in ratios]
        return narrowed + [s for s in stated if not any(_is_compatible(ratio.at, s.at) for ratio in ratios)]

    def _printed(self, a: Quantity, b: Quantity, where: Coordinates) -> tuple[list[Value], list[Coordinates]]:
        """Return ratios of two hypervisors from printed ratios, directly or through a third hypervisor.

        The second list has the coordinates at which the ratio itself is printed; with leaves_out_own the first has
        only those through a third there.
        """
        if not (isinstance(a, Throughput) and isinstance(b, Throughput)):
            return [], []
        ends = a.at.get("hypervisor"), b.at.get("hypervisor")
        named = {**where, **b.at, **a.at}
        counts = {
            side.at.get("vm_count", where.get("vm_count")) for side in (a, b) if side.at.get("hypervisor") != NATIVE
        }
        if None in ends or len(counts) != 1 or named.keys() - {"hypervisor", "vm_count", "workload", "case_study"}:
            return [], []
        (count,) = counts
        printed: list[Value] = []
        own: list[Coordinates] = []
        self.budget.spend(1 + len(self.facts.printed))
        for (case_study, workload, n), ratios in self.facts.printed.items():
            last = self.facts.last_count.get(case_study)
            if not (
                named.get("case_study", ANY) in (ANY, case_study)
                and named.get("workload", ANY) in (ANY, workload)
                and (count in (None, ANY, n) or (count == LAST and n == last))
            ):
                continue
            edges = ratios | {(y, x): (span_ratio(Span(1, 1), span), name) for (x, y), (span, name) in ratios.items()}
            self.budget.spend(len(edges))
            place: Coordinates = {"case_study": case_study, "workload": workload, "vm_count": n}
            at = {name: value for name, value in place.items() if name not in a.at and name not in b.at}
            if ends in edges:
                own.append(at)
            if ends in edges and not self.leaves_out_own:
                spans, evidence = [edges[ends][0]], [edges[ends][1]]
            else:
                paths = [
                    (first, second)
                    for (x, third), first in edges.items()
                    if x == ends[0]
                    if (second := edges.get((third, str(ends[1]))))
                ]
                spans = [Span(x.low * y.low, x.high * y.high) for (x, _), (y, _) in paths]
                evidence = [name for path in paths for _, name in path]
            if spans:
                span = Span(max(s.low for s in spans), min(s.high for s in spans))
                basis = Basis.STATED if len(set(evidence)) == 1 else Basis.DERIVED
                printed.append(Value(at, (span,), tuple(dict.fromkeys(evidence)), frozenset({basis})))
        return printed, own

    def join(
        self, relations: list[list[Value]], *, where_present: bool = False
    ) -> Iterator[tuple[Mapping[str, Any], list[Value]]]:
        """Yield each combination of one value of every relation that agrees in coordinates, with these.

        where_present : also yield combinations that lack values of some relations
        """
        rows = [(value, [value]) for value in relations[0]]
        for relation in relations[1:]:
            index, joined_ids, longer = _Index(relation, self.budget), set(), []
            for value, values in rows:
                others = index.find_agreeing(value)
                joined_ids |= set(map(id, others))
                self.budget.spend((1 + len(others)) * len(values))
                longer += [(_merge(value, other), [*values, other]) for other in others]
                if where_present and not others:
                    longer.append((value, values))
            rows = longer
            if where_present:
                rows += [(value, [value]) for value in relation if id(value) not in joined_ids]
        return ((value.at, values) for value, values in rows)


class _Index:
    """An index of a relation by coordinates, to find the values that agree with another one."""

    def __init__(self, relation: list[Value], budget: Budget) -> None:
        self.budget = budget
        self.by_axes: dict[frozenset[str], list[Value]] = {}
        for value in relation:
            self.by_axes.setdefault(frozenset(value.at), []).append(value)
        self.tables: dict[_Key, dict[_Key, list[Value]]] = {}

    def find_agreeing(self, value: Value) -> list[Value]:
        others: list[Value] = []
        for axes, rows in self.by_axes.items():
            common = tuple(sorted(axes & value.at.keys()))
            if (axes, common) not in self.tables:
                table: dict[_Key, list[Value]] = {}
                self.tables[axes, common] = table
                self.budget.spend(len(rows))
                for row in rows:
                    table.setdefault(tuple(row.at[axis] for axis in common), []).append(row)
            others += self.tables[axes, common].get(tuple(value.at[axis] for axis in common), [])
        self.budget.spend(len(others))
        others = [
            other
            for other in others
            if value.is_level == other.is_level
            and (None in (value.fair, other.fair) or value.fair == other.fair)
            and len({hypervisor for hypervisor, *_ in value.along | other.along}) == len(value.along | other.along)
        ]
        # Prefer those that also agree in host_fs, virtualisation and medium, which may differ with a hypervisor.
        surroundings = {along[1:] for along in value.along}
        alike = [other for other in others if {along[1:] for along in other.along} <= surroundings]
        return alike or others


# Coordinates


def _resolve_file_system(where: Coordinates) -> dict[str, Scalar]:
    """Return the coordinates with `fs` and `side` replaced by guest_fs or host_fs."""
    wanted = {name: value for name, value in where.items() if name not in ("fs", "side")}
    if "side" in where and "fs" in where:
        wanted[f"{where['side']}_fs"] = where["fs"]
    return wanted


def _open_axes(named: Coordinates, axes: tuple[str, ...]) -> list[str]:
    fixed = set(named) | {name for coordinate in named for name in _COMES_ALONG.get(coordinate, ())}
    return [axis for axis in axes if axis not in fixed]


def _along(at: Mapping[str, Any], named: Coordinates, open_axes: list[str]) -> frozenset[_Key]:
    """Return the hypervisor with its surroundings, which may differ between hypervisors but not within one."""
    if "hypervisor" in open_axes or named.keys() & {"host_fs", "pair"} or at["hypervisor"] == NATIVE:
        return frozenset()
    return frozenset({(at["hypervisor"], at["host_fs"], at.get("virtualisation"), at.get("medium"))})


def _is_compatible(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    return all(b[name] == value for name, value in a.items() if name in b)


def _merge(value: Value, other: Value) -> Value:
    along = value.along | other.along
    return replace(value, at={**value.at, **other.at}, fair=value.fair or other.fair, along=along)


def _without_group(value: Value) -> Value:
    """Drop the fair-play group of a ratio: without a unit it is comparable across case studies."""
    at = dict(value.at)
    if "workload" not in at or "case_study" not in at:
        at = {name: coordinate for name, coordinate in at.items() if name not in ("variant", "machine", "medium")}
    along = value.along if "case_study" in at else frozenset()
    return replace(value, at=at, fair=None, is_level=False, along=along)


# Numbers and findings


def _basis(row: Number) -> str:
    if row.is_bound:
        return Basis.STATED
    return Basis.DERIVED if row.id.startswith("derived") else Basis.MEASURED


def _repeats_statement(ratio: Value, printed: list[Coordinates], has_limit: bool) -> bool:
    """Tell whether a ratio repeats a statement of the text, and so is no evidence for it.

    It does if it uses a value derived from the printed ratio of the same two, or compares a bound with its own limit.
    """
    if has_limit:
        return Basis.STATED in ratio.bases
    return not ratio.bases <= {Basis.MEASURED} and any(_is_compatible(ratio.at, at) for at in printed)


def _narrow(value: Value, stated: list[Value]) -> Value:
    """Intersect the span with statements; where the intersection is empty, both become readings."""
    for other in stated:
        span = other.readings[0]
        parts = [Span(max(r.low, span.low), min(r.high, span.high)) for r in value.readings]
        readings = tuple(parts) if all(p.low <= p.high for p in parts) else (*value.readings, span)
        evidence = tuple(dict.fromkeys((*value.evidence, *other.evidence)))
        value = replace(value, readings=readings, evidence=evidence, bases=value.bases | other.bases)
    return value


def _finding_fits(finding: Finding, wanted: Coordinates) -> bool:
    pair = pair_key(finding.guest_fs, finding.host_fs)
    at = {**{axis: getattr(finding, axis) for axis in _AXES_OF_A_FINDING}, "pair": pair}
    return all(value in (ANY, at[name]) for name, value in wanted.items() if name in at)


def _points_of(name: str, finding: Finding, source: str = "") -> list[int]:
    """Return the points of one finding by its text and by its table, or only by the named source."""
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


# Spans


def combine(at: Mapping[str, Any], values: list[Value], how: Callable[..., Span]) -> Value:
    """Combine values reading by reading; how : of one span from each. Single readings are repeated."""
    count = max(len(value.readings) for value in values)
    readings = [value.readings * (count if len(value.readings) == 1 else 1) for value in values]
    return Value(
        at,
        tuple(how(*spans) for spans in zip(*readings, strict=True)),
        tuple(dict.fromkeys(name for value in values for name in value.evidence)),
        frozenset().union(*(value.bases for value in values)),
        next((value.fair for value in values if value.fair), None),
        values[0].is_level,
        frozenset().union(*(value.along for value in values)),
    )


def span_ratio(a: Span, b: Span) -> Span:
    return Span(_quotient(a.low, b.high), _quotient(a.high, b.low))


def span_difference(a: Span, b: Span) -> Span:
    return Span(a.low - b.high, a.high - b.low)


def _quotient(a: float, b: float) -> float:
    if a == b:
        return 1.0  # also 0 / 0, of two empty lists
    if b == inf:
        return 0.0
    return a / b if b else inf


def _level_ratio(a: Span, b: Span) -> Span:
    if a.low > b.high:
        return Span(1 + 2 * EQUAL, inf)
    if a.high < b.low:
        return Span(0.0, 1 - 2 * EQUAL)
    return Span(0.0, inf)


def _rank(*ratios: Span) -> Span:
    """Return the rank, 1 + the number of faster rivals, from their ratios to the subject; equal ones share a rank."""
    ahead = sum(ratio.low > 1 + EQUAL for ratio in ratios)
    maybe = sum(ratio.low <= 1 + EQUAL < ratio.high for ratio in ratios)
    return Span(1 + ahead, 1 + ahead + maybe)
