"""The language of the conditions that would have to hold for a claim, from JSON to dataclasses.

docs/models/claims.md has the grammar. Loops (`for`) are written out here, so nothing that is parsed has names
left to replace, and their product counts against MOST_PARTS. modelling.claims.evaluation asks the facts.

    {"for": {"vm_count": [1, 2, 3]}, "where": {"workload": "varmail"},
     "ratio": [{"hypervisor": "hyper-v"}, {"hypervisor": "kvm"}], "is": [1.1, null]}
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product, repeat
from math import inf, prod
from types import NoneType
from typing import Any

MOST_PARTS = 10_000  # conditions, quantities and coordinates of one check, loops written out; published ones have 600
DEEPEST_NESTING = 20  # parts inside each other; published ones have 9

Scalar = str | int | None
Coordinates = Mapping[str, Scalar]
COORDINATES = (
    *("case_study", "workload", "operation", "block_size", "vm_count", "hypervisor", "hypervisor_kind"),
    *("virtualisation", "guest_fs", "host_fs", "pair", "fs", "side", "source"),
)
ANY = "*"  # names a coordinate without fixing it: it may differ between the two sides
LAST = "last"  # as VM count: the greatest of the case study
_VALUES: dict[str, tuple[type, tuple[Scalar, ...]]] = {  # of coordinates that take not any name: a type, and words
    "block_size": (int, (ANY,)),
    "vm_count": (int, (ANY, LAST)),
    "side": (NoneType, ("guest", "host")),
    "source": (NoneType, ("text", "table")),
}
LIMITS = ("disk", "interface")
LISTS = ("best", "worst", "best-outstanding", "worst-outstanding", "score", "tier", "level")
AGGREGATES = ("sum", "mean", "median", "max", "min", "second")


class CheckError(ValueError):
    """A check that says nothing, or too much: the text names the place in it, and is fit to show."""


# Quantities


@dataclass(frozen=True)
class Throughput:
    at: Coordinates


@dataclass(frozen=True)
class Limit:
    """The physical limit of the case study's storage."""

    name: str


@dataclass(frozen=True)
class Ratio:
    """The ratio of two quantities; `at` are further coordinates that hold inside it."""

    upper: "Quantity"
    lower: "Quantity"
    at: Coordinates


@dataclass(frozen=True)
class Listed:
    """The number of findings on a list, or their points."""

    name: str
    at: Coordinates


@dataclass(frozen=True)
class Rank:
    """A subject's place among its rivals: 1 and the number of rivals that are faster."""

    subject: Coordinates
    rivals: tuple[Coordinates, ...]


@dataclass(frozen=True)
class Choice:
    """One coordinate and its values, or several that change together."""

    names: tuple[str, ...]
    values: tuple[tuple[Scalar, ...], ...]


@dataclass(frozen=True)
class Aggregate:
    how: str
    of: "Quantity"
    over: tuple[Choice, ...]

    def parts(self) -> Iterator[dict[str, Scalar]]:
        """Yield each combination of what the aggregate is taken over."""
        yield from _combinations([[dict(zip(c.names, row, strict=True)) for row in c.values] for c in self.over])


Quantity = Throughput | Limit | Ratio | Listed | Rank | Aggregate


# Conditions


@dataclass(frozen=True)
class Order:
    """The condition that each quantity is above the next."""

    quantities: tuple[Quantity, ...]
    where: Coordinates


@dataclass(frozen=True)
class Within:
    """One quantity, or the ratio of two, lies in a range or outside of it."""

    quantities: tuple[Quantity, ...]
    low: float
    high: float
    is_outside: bool
    where: Coordinates


@dataclass(frozen=True)
class All:
    parts: tuple["Condition", ...]
    where: Coordinates


@dataclass(frozen=True)
class Cases:
    """One condition for each combination of a loop's values; each has its own in `where`."""

    cases: tuple["Condition", ...]


@dataclass(frozen=True)
class Share:
    """The condition that more than this share of the cases hold."""

    of: "Condition"
    above: float
    where: Coordinates


@dataclass(frozen=True)
class Premise:
    """A condition `then` that is asked only where `given` holds."""

    given: "Condition"
    then: "Condition"
    where: Coordinates


@dataclass(frozen=True)
class Untestable:
    reason: str


Condition = Order | Within | All | Cases | Share | Premise


@dataclass(frozen=True)
class Checks:
    """The conditions that are stored with a claim.

    own, others : what its own paper and everybody else's facts are asked; None: it does not reach beyond its paper
    case_studies : those it speaks of, where they are not the paper's
    """

    own: Condition | Untestable
    others: Condition | Untestable | None
    case_studies: frozenset[str] | None


def parse_checks(raw: object) -> Checks | None:
    """Return a claim's checks; None where none are written. Raises CheckError, which names the place."""
    if raw == {}:
        return None
    fields = _object(raw, "checks", ("own", "others", "in"))
    if "own" not in fields:
        raise CheckError('checks: "own", the condition for its own paper, is missing')
    own = _parse_whole(fields["own"], "own")
    others: Condition | Untestable | None = own
    if "others" in fields:
        others = None if fields["others"] is None else _parse_whole(fields["others"], "others")
    slugs = fields.get("in")
    if slugs is not None and not (isinstance(slugs, list) and all(isinstance(slug, str) for slug in slugs)):
        raise CheckError(f"in: {_shown(slugs)} is no list of case studies")
    return Checks(own, others, None if slugs is None else frozenset(slugs))


def parse(raw: object, place: str = "condition") -> Condition:
    """Return one condition, its loops written out. Raises CheckError, which names the place in it."""
    return _Parser().condition(raw, _At(place))


def _parse_whole(raw: object, place: str) -> Condition | Untestable:
    if isinstance(raw, dict) and "untestable" in raw:
        reason = _object(raw, place, ("untestable",))["untestable"]
        if not isinstance(reason, str) or not reason:
            raise CheckError(f"{place}.untestable: the reason is missing")
        return Untestable(reason)
    return parse(raw, place)


def is_shallow(raw: object) -> bool:
    """Tell whether a stored JSON value is nested little enough to be written out."""
    level = [raw]
    for _ in range(4 * DEEPEST_NESTING):
        level = [part for item in level if isinstance(item, list | dict) for part in _children(item)]
    return not level


def _children(item: list[Any] | dict[str, Any]) -> list[Any]:
    return list(item.values()) if isinstance(item, dict) else item


_LARGEST = 1e300  # of the limits of a range
Value = Scalar | tuple[Scalar, ...]  # what a name of a loop stands for
_CONDITIONS = ("order", "ratio", "value", "all", "share", "if")
_WITH = {  # the fields that a condition may have beside
    "order": (),
    "ratio": ("is", "outside"),
    "value": ("is", "outside"),
    "all": (),
    "share": ("above",),
    "if": ("then",),
}


@dataclass(frozen=True)
class _At:
    """The parser's place, and what the names of the loops around it stand for."""

    place: str
    bound: Mapping[str, Value] | None = None
    depth: int = 0

    def inside(self, name: str) -> "_At":
        return replace(self, place=f"{self.place}{name}", depth=self.depth + 1)

    def error(self, text: str) -> CheckError:
        return CheckError(f"{self.place}: {text}")


class _Parser:
    """One condition on its way; `count` are its parts so far."""

    def __init__(self) -> None:
        self.count = 0

    def spend(self, parts: int, at: _At) -> None:
        self.count += parts
        if self.count > MOST_PARTS:
            raise at.error(f"with its loops written out it has more than {MOST_PARTS:,} parts, the most allowed")
        if at.depth > DEEPEST_NESTING:
            raise at.error(f"it is nested more than {DEEPEST_NESTING} deep, the most allowed")

    # Conditions

    def condition(self, raw: object, at: _At, where: Coordinates | None = None) -> Condition:
        """Return the condition. `where` are the coordinates that a loop around it fixes."""
        self.spend(1, at)
        if isinstance(raw, dict) and "untestable" in raw:
            raise at.error("untestable is the whole of a check, never a part of one")
        if isinstance(raw, dict) and "for" in raw:
            inner = {name: value for name, value in raw.items() if name != "for"}
            return Cases(tuple(self.condition(inner, *case) for case in self.cases(raw["for"], at)))
        kinds = [kind for kind in _CONDITIONS if isinstance(raw, dict) and kind in raw]
        if len(kinds) != 1:
            raise at.error(
                f"a condition has one of {', '.join(_CONDITIONS)}, and this has {' and '.join(kinds) or 'none'}"
            )
        kind = kinds[0]
        fields = _object(raw, at.place, (kind, "where", *_WITH[kind]))
        where = {**(where or {}), **self.coordinates(fields.get("where", {}), at.inside(".where"))}
        beside = at.inside(f".{kind}")
        match kind:
            case "order":
                return Order(self.quantities(fields["order"], beside, 2), where)
            case "ratio":
                pair = self.quantities(fields["ratio"], beside, 2, 2)
                return Within(pair, *self.range(fields, at), where)
            case "value":
                return Within((self.quantity(fields["value"], beside),), *self.range(fields, at), where)
            case "all":
                parts = _list(fields["all"], beside.place)
                return All(tuple(self.condition(p, beside.inside(f"[{i}]")) for i, p in enumerate(parts)), where)
            case "share":
                above = self.number(fields.get("above", 0), at.inside(".above"))
                if not 0 <= above < 1:
                    raise at.inside(".above").error("a share is from 0 to below 1")
                return Share(self.condition(fields["share"], beside), above, where)
            case _:
                if "then" not in fields:
                    raise at.error('"then" is missing')
                then = self.condition(fields["then"], at.inside(".then"))
                return Premise(self.condition(fields["if"], beside), then, where)

    def cases(self, raw: object, at: _At) -> Iterator[tuple[_At, Coordinates]]:
        """Yield for each combination of a loop's values where its condition is read, and the coordinates it fixes."""
        loops = self.loops(raw, at.inside(".for"))
        outer = at.bound or {}
        for names, _ in loops:
            for name in names:
                if name in outer:
                    raise at.inside(".for").error(f"a loop around this one has the name {name!r}, too")
        for bound in _combinations([[dict(zip(names, row, strict=True)) for row in rows] for names, rows in loops]):
            here = at.inside(".for")
            fixed = {name: self.coordinate(name, value, here) for name, value in bound.items() if name in COORDINATES}
            yield replace(at, bound={**outer, **bound}), fixed

    def loops(self, raw: object, at: _At) -> list[tuple[tuple[str, ...], list[tuple[Value, ...]]]]:
        """Return the names of a loop, and a row of values for each time; "a,b" takes its two values together."""
        loops = []
        for names, given in sorted(_object(raw, at.place).items()):
            here = at.inside(f".{names}")
            rows = [self.row(names.split(","), value, here) for value in _list(self.named(given, here), here.place)]
            loops.append((tuple(names.split(",")), rows))
        if not loops:
            raise at.error("it has no values")
        return loops

    def row(self, names: list[str], raw: object, at: _At) -> tuple[Value, ...]:
        self.spend(len(names), at)
        if len(names) == 1:
            return (self.value(raw, at),)
        if not isinstance(raw, list) or len(raw) != len(names):
            raise at.error(f"{_shown(raw)} is no list of {len(names)} values")
        return tuple(self.value(part, at) for part in raw)

    def range(self, fields: Mapping[str, object], at: _At) -> tuple[float, float, bool]:
        if ("is" in fields) == ("outside" in fields):
            raise at.error('"ratio" and "value" need "is" or "outside", with a lower and an upper limit')
        name = "outside" if "outside" in fields else "is"
        limits = fields[name]
        here = at.inside(f".{name}")
        if not isinstance(limits, list) or len(limits) != 2:
            raise here.error("a lower and an upper limit belong here")
        low, high = (None if limit is None else self.number(limit, here) for limit in limits)
        if low is not None and high is not None and low > high:
            raise here.error("the lower limit is above the upper one")
        return -inf if low is None else low, inf if high is None else high, name == "outside"

    # Quantities

    def quantities(self, raw: object, at: _At, least: int, most: int | None = None) -> tuple[Quantity, ...]:
        parts = _list(raw, at.place)
        if len(parts) < least or (most and len(parts) > most):
            raise at.error(f"{'exactly' if most else 'at least'} {least} quantities belong here, not {len(parts)}")
        self.spend(len(parts) * (len(parts) - 1) // 2, at)  # others are asked for each two
        return tuple(self.quantity(part, at.inside(f"[{i}]")) for i, part in enumerate(parts))

    def quantity(self, raw: object, at: _At) -> Quantity:
        self.spend(1, at)
        fields = _object(raw, at.place)
        if "of" in fields:
            return self.aggregate(fields, at)
        if "rank" in fields:
            _object(fields, at.place, ("rank", "among"))
            return self.rank(fields, at)
        if "ratio" in fields:
            upper, lower = self.quantities(fields["ratio"], at.inside(".ratio"), 2, 2)
            return Ratio(upper, lower, self.coordinates(_without(fields, "ratio"), at))
        if "list" in fields:
            name = self.word(fields["list"], LISTS, at.inside(".list"))
            return Listed(name, self.coordinates(_without(fields, "list"), at))
        if "limit" in fields:
            _object(fields, at.place, ("limit",))
            return Limit(self.word(fields["limit"], LIMITS, at.inside(".limit")))
        return Throughput(self.coordinates(fields, at))

    def aggregate(self, fields: Mapping[str, object], at: _At) -> Aggregate:
        how = self.word(fields["of"], AGGREGATES, at.inside(".of"))
        over = self.choices(fields.get("over"), at.inside(".over"))
        if how == "second" and prod(len(choice.values) for choice in over) < 2:
            raise at.inside(".over").error("the second of one value is none")
        if "each" in fields:
            _object(fields, at.place, ("of", "over", "each"))
            return Aggregate(how, self.quantity(fields["each"], at.inside(".each")), over)
        return Aggregate(how, self.quantity(_without(fields, "of", "over"), at.inside("")), over)

    def rank(self, fields: Mapping[str, object], at: _At) -> Rank:
        subject = self.coordinates(fields["rank"], at.inside(".rank"))
        among = Aggregate("", Throughput({}), self.choices(fields.get("among"), at.inside(".among")))
        rivals = tuple(rival for rival in among.parts() if rival != subject)
        if not rivals:
            raise at.inside(".among").error("it has no rival")
        return Rank(subject, rivals)

    def choices(self, raw: object, at: _At) -> tuple[Choice, ...]:
        """Return what an aggregate or a rank goes over: coordinates, each combination a part."""
        loops = self.loops(raw, at)
        self.spend(prod(len(rows) for _, rows in loops), at)
        return tuple(
            Choice(names, tuple(tuple(map(self.coordinate, names, row, repeat(at))) for row in rows))
            for names, rows in loops
        )

    # Values

    def coordinates(self, raw: object, at: _At) -> dict[str, Scalar]:
        coordinates = {}
        for name, value in _object(raw, at.place).items():
            self.spend(1, at)
            coordinates[name] = self.coordinate(name, self.named(value, at), at)
        return coordinates

    def coordinate(self, name: str, raw: object, at: _At) -> Scalar:
        if name not in COORDINATES:
            raise at.error(f"{_shown(name)} is no coordinate; known are {', '.join(COORDINATES)}")
        value = self.scalar(raw, at.inside(f".{name}"))
        kind, words = _VALUES.get(name, (str, ()))
        if not isinstance(value, kind | None) and value not in words:
            allowed = " or ".join([*(["a whole number"] if kind is int else []), *map(str, words)]) or "a name"
            raise at.inside(f".{name}").error(f"{_shown(value)} is not {allowed}")
        return value

    def named(self, raw: object, at: _At) -> object:
        """Return what "$name" stands for; anything else is itself."""
        if not isinstance(raw, str) or not raw.startswith("$"):
            return raw
        if at.bound is None or raw[1:] not in at.bound:
            raise at.error(f"no loop around it has the name {_shown(raw[1:])}")
        return at.bound[raw[1:]]

    def value(self, raw: object, at: _At) -> Value:
        raw = self.named(raw, at)
        if isinstance(raw, list | tuple):
            self.spend(len(raw), at)
            return tuple(self.scalar(self.named(part, at), at) for part in raw)
        return self.scalar(raw, at)

    def scalar(self, raw: object, at: _At) -> Scalar:
        if isinstance(raw, bool) or not isinstance(raw, str | int | None):
            raise at.error(f"{_shown(raw)} is neither a name nor a whole number")
        return raw

    def number(self, raw: object, at: _At) -> float:
        number = self.named(raw, at)
        if isinstance(number, bool) or not isinstance(number, int | float) or not abs(number) < _LARGEST:
            raise at.error(f"{_shown(number)} is no number")
        return number

    def word(self, raw: object, known: tuple[str, ...], at: _At) -> str:
        word = self.named(raw, at)
        if not isinstance(word, str) or word not in known:
            raise at.error(f"{_shown(word)} is not known here; known are {', '.join(known)}")
        return word


def _combinations(choices: list[list[dict[str, Any]]]) -> Iterator[dict[str, Any]]:
    for combination in product(*choices):
        yield {name: value for part in combination for name, value in part.items()}


def _object(raw: object, place: str, allowed: tuple[str, ...] = ()) -> Mapping[str, object]:
    if not isinstance(raw, dict):
        raise CheckError(f"{place}: {_shown(raw)} is no object")
    for name in raw:
        if allowed and name not in allowed:
            raise CheckError(f"{place}: {_shown(name)} has no meaning here; allowed are {', '.join(allowed)}")
    return raw


def _list(raw: object, place: str) -> list[object] | tuple[object, ...]:
    if not isinstance(raw, list | tuple) or not raw:
        raise CheckError(f"{place}: {_shown(raw)} is no list with something in it")
    return raw


def _without(fields: Mapping[str, object], *names: str) -> dict[str, object]:
    return {name: value for name, value in fields.items() if name not in names}


def _shown(raw: object) -> str:
    """Return a value as an error shows it: never long, and never walked through when it is large."""
    if isinstance(raw, dict | list | tuple):
        return f"{'an object' if isinstance(raw, dict) else 'a list'} of {len(raw)}"
    return f'"{raw[:60]}"' if isinstance(raw, str) else str(raw)[:60]
