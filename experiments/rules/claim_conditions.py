"""Parse the conditions of claims, from JSON to dataclasses. docs/models/claims.md has the grammar.

The parser expands loops (`for`) and passes `where` down, so that conditions have no variables left.
modelling.claims.evaluation evaluates them.

    {"for": {"vm_count": [1, 2, 3]}, "where": {"workload": "varmail"},
     "ratio": [{"hypervisor": "hyper-v"}, {"hypervisor": "kvm"}], "is": [1.1, null]}
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from math import inf, prod
from typing import Any

MAX_PARTS = 10_000  # conditions, quantities and coordinates of one check, loops expanded; published ones have 600
MAX_DEPTH = 20  # objects and lists inside each other; published ones have 11

Scalar = str | int | None
Coordinates = Mapping[str, Scalar]
COORDINATES = (
    *("case_study", "workload", "operation", "block_size", "vm_count", "hypervisor", "hypervisor_kind"),
    *("virtualisation", "guest_fs", "host_fs", "pair", "fs", "side", "source"),
)
ANY = "*"  # names a coordinate without fixing it: it may differ between the two sides
LAST = "last"  # as VM count: the greatest of the case study
WHOLE_NUMBERS = ("block_size", "vm_count")
WORDS: Mapping[str, tuple[str, ...]] = {  # of coordinates that do not take every name
    "block_size": (ANY,),
    "vm_count": (ANY, LAST),
    "side": ("guest", "host"),
    "source": ("text", "table"),
}
LIMITS = ("disk", "interface")
LISTS = ("best", "worst", "best-outstanding", "worst-outstanding", "score", "tier", "level")
AGGREGATES = ("sum", "mean", "median", "max", "min", "second")
FIELDS: Mapping[str, tuple[str, ...]] = {  # of each kind of condition, besides "for" and "where"
    "order": (),
    "ratio": ("is", "outside"),
    "value": ("is", "outside"),
    "all": (),
    "share": ("above",),
    "if": ("then",),
}


class CheckError(ValueError):
    """The check is not valid; the message names the place in it, and may be shown to users."""


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
class Aggregate:
    """A sum, mean or extreme of a quantity. over : for each dimension its values, of one coordinate or several"""

    how: str
    of: "Quantity"
    over: tuple[tuple[Coordinates, ...], ...]

    def parts(self) -> Iterator[Coordinates]:
        """Yield each combination of what the aggregate is taken over."""
        return _combinations(self.over)


Quantity = Throughput | Limit | Ratio | Listed | Rank | Aggregate


def placed(quantity: Quantity, at: Coordinates) -> Quantity:
    """Return the quantity at further coordinates; its own take precedence."""
    match quantity:
        case Limit():
            return quantity
        case Rank():
            rivals = tuple({**at, **rival} for rival in quantity.rivals)
            return Rank({**at, **quantity.subject}, rivals)
        case Aggregate():
            return replace(quantity, of=placed(quantity.of, at))
        case _:
            return replace(quantity, at={**at, **quantity.at})


# Conditions


@dataclass(frozen=True)
class Order:
    """The condition that each quantity is above the next. where : coordinates held equal on all sides"""

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
    """Several conditions: written ones, or one for each combination of a loop's values."""

    parts: tuple["Condition", ...]


@dataclass(frozen=True)
class Share:
    """The condition that more than a share of its parts hold, such as "in most cases of a loop"."""

    parts: tuple["Condition", ...]
    above: float


@dataclass(frozen=True)
class Premise:
    """A condition `then` that is evaluated only where `given` holds."""

    given: "Condition"
    then: "Condition"


@dataclass(frozen=True)
class Untestable:
    reason: str


Condition = Order | Within | All | Share | Premise


@dataclass(frozen=True)
class Checks:
    """The conditions that are stored with a claim.

    own, others : evaluated with the facts of its own paper, and with those of all others
    case_studies : those it is about, where they are not the paper's
    """

    own: Condition | Untestable
    others: Condition | Untestable
    case_studies: frozenset[str] = frozenset()


def workloads_of(condition: Condition) -> frozenset[str] | None:
    """Return the workloads that a condition is about; None where it does not fix them."""
    names = {
        "" if workload in (None, ANY) else str(workload)
        for quantity, where in _placed_quantities(condition)
        for workload in _workloads(quantity, where)
    }
    return None if not names or "" in names else frozenset(names)


def _placed_quantities(condition: Condition) -> Iterator[tuple[Quantity, Coordinates]]:
    match condition:
        case All() | Share():
            for part in condition.parts:
                yield from _placed_quantities(part)
        case Premise():
            yield from _placed_quantities(condition.given)
            yield from _placed_quantities(condition.then)
        case Order() | Within():
            for quantity in condition.quantities:
                yield quantity, condition.where


def _workloads(quantity: Quantity, where: Coordinates) -> Iterator[Scalar]:
    match quantity:
        case Aggregate():
            for part in quantity.parts():
                yield from _workloads(placed(quantity.of, part), where)
        case Ratio():
            for side in (quantity.upper, quantity.lower):
                yield from _workloads(placed(side, quantity.at), where)
        case Rank():
            for at in (quantity.subject, *quantity.rivals):
                yield {**where, **at}.get("workload")
        case Throughput() | Listed():
            yield {**where, **quantity.at}.get("workload")
        case Limit():  # beside numbers of its own case study
            pass


UNWRITTEN = Untestable("Nobody has written down yet what would decide it.")
OF_ITS_PAPER_ALONE = Untestable("The claim speaks of its own paper alone.")


# From JSON


def parse_checks(raw: object) -> Checks:
    """Return a claim's checks. Raises CheckError, which names the place."""
    if raw == {}:
        return Checks(UNWRITTEN, UNWRITTEN)
    if not is_shallow(raw):
        raise CheckError(f"checks: it is nested more than {MAX_DEPTH} deep, the most allowed")
    fields = _object(raw, "checks", ("own", "others", "in"))
    if "own" not in fields:
        raise CheckError('checks: "own", the condition for its own paper, is missing')
    own = _parse_whole(fields["own"], "own")
    others: Condition | Untestable = own
    if "others" in fields:
        others = OF_ITS_PAPER_ALONE if fields["others"] is None else _parse_whole(fields["others"], "others")
    slugs = fields.get("in", [])
    if not (isinstance(slugs, list) and all(isinstance(slug, str) for slug in slugs)):
        raise CheckError(f"in: {_shown(slugs)} is no list of case studies")
    return Checks(own, others, frozenset(slugs))


def _parse_whole(raw: object, place: str) -> Condition | Untestable:
    if isinstance(raw, dict) and "untestable" in raw:
        reason = _object(raw, place, ("untestable",))["untestable"]
        if not isinstance(reason, str) or not reason:
            raise CheckError(f"{place}.untestable: the reason is missing")
        return Untestable(reason)
    return parse(raw, place)


def parse(raw: object, place: str = "condition") -> Condition:
    """Return one condition, its loops expanded. Raises CheckError, which names the place in it."""
    return _Parser().condition(raw, place, {})


def is_shallow(raw: object) -> bool:
    """Tell whether a JSON value is nested at most MAX_DEPTH deep, so that recursion over it is safe."""
    level = [raw]
    for _ in range(MAX_DEPTH + 1):
        level = [part for item in level if isinstance(item, dict | list) for part in _children(item)]
    return not level


def _children(item: dict[str, Any] | list[Any]) -> list[Any]:
    return list(item.values()) if isinstance(item, dict) else item


class _Parser:
    """Parses one condition. count : its parts so far"""

    def __init__(self) -> None:
        self.count = 0

    def count_parts(self, parts: int, place: str) -> None:
        self.count += parts
        if self.count > MAX_PARTS:
            raise CheckError(
                f"{place}: with its loops written out it has more than {MAX_PARTS:,} parts, the most allowed"
            )

    def condition(self, raw: object, place: str, where: Coordinates) -> Condition:
        """Return the condition. `where` are the coordinates that conditions and loops around it fix."""
        self.count_parts(1, place)
        fields = _object(raw, place)
        if "untestable" in fields:
            raise CheckError(f"{place}: untestable is the whole of a check, never a part of one")
        if "for" in fields:
            parts, body = [], _without(fields, "for")
            for values in _combinations(self.choices(fields["for"], f"{place}.for")):
                fixed = {name: value for name, value in values.items() if name in COORDINATES}
                here = {**where, **self.coordinates(fixed, f"{place}.for")}
                parts.append(self.condition(_substitute(body, values, place), place, here))
            return All(tuple(parts))
        kinds = [kind for kind in FIELDS if kind in fields]
        if len(kinds) != 1:
            kinds_here = " and ".join(kinds) or "none"
            raise CheckError(f"{place}: a condition has one of {', '.join(FIELDS)}, and this has {kinds_here}")
        (kind,) = kinds
        _object(fields, place, (kind, "where", *FIELDS[kind]))
        where = {**where, **self.coordinates(fields.get("where", {}), f"{place}.where")}
        content, inside = fields[kind], f"{place}.{kind}"
        match kind:
            case "order":
                return Order(self.quantities(content, inside, 2), where)
            case "ratio":
                return Within(self.quantities(content, inside, 2, 2), *_range(fields, place), where)
            case "value":
                return Within((self.quantity(content, inside),), *_range(fields, place), where)
            case "all":
                listed = enumerate(_list(content, inside))
                return All(tuple(self.condition(part, f"{inside}[{i}]", where) for i, part in listed))
            case "share":
                above = _number(fields.get("above", 0), f"{place}.above")
                if not 0 <= above < 1:
                    raise CheckError(f"{place}.above: a share is from 0 to below 1")
                of = self.condition(content, inside, where)
                return Share(of.parts if isinstance(of, All) else (of,), above)
            case _:
                if "then" not in fields:
                    raise CheckError(f'{place}: "then" is missing')
                then = self.condition(fields["then"], f"{place}.then", where)
                return Premise(self.condition(content, inside, where), then)

    def quantities(self, raw: object, place: str, least: int, most: int | None = None) -> tuple[Quantity, ...]:
        parts = _list(raw, place)
        if len(parts) < least or (most and len(parts) > most):
            how_many = "exactly" if most else "at least"
            raise CheckError(f"{place}: {how_many} {least} quantities belong here, not {len(parts)}")
        self.count_parts(len(parts) * (len(parts) - 1) // 2, place)  # the facts of others are compared pair by pair
        return tuple(self.quantity(part, f"{place}[{i}]") for i, part in enumerate(parts))

    def quantity(self, raw: object, place: str) -> Quantity:
        self.count_parts(1, place)
        fields = _object(raw, place)
        if "of" in fields:
            how = _word(fields["of"], AGGREGATES, f"{place}.of")
            over = self.over(fields.get("over"), f"{place}.over")
            if how == "second" and prod(map(len, over)) < 2:
                raise CheckError(f"{place}.over: the second of one value is none")
            if "each" in fields:
                _object(fields, place, ("of", "over", "each"))
                return Aggregate(how, self.quantity(fields["each"], f"{place}.each"), over)
            return Aggregate(how, self.quantity(_without(fields, "of", "over"), place), over)
        if "rank" in fields:
            _object(fields, place, ("rank", "among"))
            subject = self.coordinates(fields["rank"], f"{place}.rank")
            among = _combinations(self.over(fields.get("among"), f"{place}.among"))
            rivals = tuple(rival for rival in among if rival != subject)
            if not rivals:
                raise CheckError(f"{place}.among: it has no rival")
            return Rank(subject, rivals)
        if "ratio" in fields:
            upper, lower = self.quantities(fields["ratio"], f"{place}.ratio", 2, 2)
            return Ratio(upper, lower, self.coordinates(_without(fields, "ratio"), place))
        if "list" in fields:
            name = _word(fields["list"], LISTS, f"{place}.list")
            return Listed(name, self.coordinates(_without(fields, "list"), place))
        if "limit" in fields:
            _object(fields, place, ("limit",))
            return Limit(_word(fields["limit"], LIMITS, f"{place}.limit"))
        return Throughput(self.coordinates(fields, place))

    def over(self, raw: object, place: str) -> tuple[tuple[Coordinates, ...], ...]:
        """Return the coordinates that an aggregate or a rank goes over."""
        choices = self.choices(raw, place)
        self.count_parts(prod(map(len, choices)), place)
        return tuple(tuple(self.coordinates(row, place) for row in rows) for rows in choices)

    def choices(self, raw: object, place: str) -> list[list[dict[str, Any]]]:
        """Return the values of each name; the names in "a,b" take their values together."""
        choices = []
        for names, rows in sorted(_object(raw, place).items()):
            keys, here, choice = names.split(","), f"{place}.{names}", []
            for row in _list(rows, here):
                values = _list(row, here) if len(keys) > 1 else [row]
                if len(values) != len(keys):
                    raise CheckError(f"{here}: {_shown(row)} is no list of {len(keys)} values")
                parts = [part for value in values for part in (value if isinstance(value, list) else [value])]
                self.count_parts(len(parts), here)
                if any(isinstance(part, dict | list) for part in parts):  # with these loops could multiply lists
                    raise CheckError(f"{here}: {_shown(row)} is neither a value nor a list of values")
                choice.append(dict(zip(keys, values, strict=True)))
            choices.append(choice)
        if not choices:
            raise CheckError(f"{place}: it has no values")
        return choices

    def coordinates(self, raw: object, place: str) -> dict[str, Scalar]:
        fields = _object(raw, place)
        self.count_parts(len(fields), place)
        return {name: _coordinate(name, value, place) for name, value in fields.items()}


def _coordinate(name: str, raw: Any, place: str) -> Scalar:
    if name not in COORDINATES:
        raise CheckError(f"{place}: {_shown(name)} is no coordinate; known are {', '.join(COORDINATES)}")
    if isinstance(raw, str) and raw.startswith("$"):
        raise CheckError(f"{place}.{name}: no loop around it has the name {_shown(raw[1:])}")
    is_number, words = name in WHOLE_NUMBERS, WORDS.get(name, ())
    is_typed = isinstance(raw, int if is_number else str) and not isinstance(raw, bool)
    if raw is None or raw in words or (is_typed and (is_number or not words)):
        return raw
    allowed = " or ".join([*(["a whole number"] if is_number else []), *words]) or "a name"
    raise CheckError(f"{place}.{name}: {_shown(raw)} is not {allowed}")


def _range(fields: Mapping[str, object], place: str) -> tuple[float, float, bool]:
    """Return the lower and the upper limit, and whether a value is to lie outside of them."""
    if ("is" in fields) == ("outside" in fields):
        raise CheckError(f'{place}: "ratio" and "value" need "is" or "outside", with a lower and an upper limit')
    name = "outside" if "outside" in fields else "is"
    limits = fields[name]
    if not isinstance(limits, list) or len(limits) != 2:
        raise CheckError(f"{place}.{name}: a lower and an upper limit belong here")
    low, high = (
        end if limit is None else _number(limit, f"{place}.{name}")
        for limit, end in zip(limits, (-inf, inf), strict=True)
    )
    if low > high:
        raise CheckError(f"{place}.{name}: the lower limit is above the upper one")
    return low, high, name == "outside"


def _number(raw: object, place: str) -> float:
    if isinstance(raw, bool) or not isinstance(raw, int | float) or not abs(raw) < 1e300:
        raise CheckError(f"{place}: {_shown(raw)} is no number")
    return raw


def _word(raw: object, known: tuple[str, ...], place: str) -> str:
    if not isinstance(raw, str) or raw not in known:
        raise CheckError(f"{place}: {_shown(raw)} is not known here; known are {', '.join(known)}")
    return raw


def _substitute(raw: Any, values: Mapping[str, Any], place: str) -> Any:
    """Replace each "$name" in the JSON by its value in a loop."""
    if isinstance(raw, dict):
        for names in raw["for"] if isinstance(raw.get("for"), dict) else ():
            for name in values.keys() & set(names.split(",")):
                raise CheckError(f"{place}: a loop in this one has the name {_shown(name)}, too")
        return {key: _substitute(value, values, place) for key, value in raw.items()}
    if isinstance(raw, list):
        return [_substitute(value, values, place) for value in raw]
    return values.get(raw[1:], raw) if isinstance(raw, str) and raw.startswith("$") else raw


def _combinations(choices: Any) -> Iterator[dict[str, Any]]:
    """Yield each combination of one row of every choice, merged."""
    for combination in product(*choices):
        yield {name: value for row in combination for name, value in row.items()}


def _object(raw: object, place: str, allowed: tuple[str, ...] = ()) -> Mapping[str, object]:
    if not isinstance(raw, dict):
        raise CheckError(f"{place}: {_shown(raw)} is no object")
    for name in raw:
        if allowed and name not in allowed:
            raise CheckError(f"{place}: {_shown(name)} has no meaning here; allowed are {', '.join(allowed)}")
    return raw


def _list(raw: object, place: str) -> list[object]:
    if not isinstance(raw, list) or not raw:
        raise CheckError(f"{place}: {_shown(raw)} is no list with something in it")
    return raw


def _without(fields: Mapping[str, object], *names: str) -> dict[str, object]:
    return {name: value for name, value in fields.items() if name not in names}


def _shown(raw: object) -> str:
    """Return a value, shortened for an error; large ones are only counted."""
    if isinstance(raw, dict | list):
        return f"{'an object' if isinstance(raw, dict) else 'a list'} of {len(raw)}"
    return f'"{raw[:60]}"' if isinstance(raw, str) else str(raw)[:60]
