"""The parts of a personality as it is written, and the error that says where it is not understood."""

from dataclasses import dataclass, field
from typing import NamedTuple


class Place(NamedTuple):
    """A position in the text; line and column count from 1, a tab is one column."""

    line: int
    column: int


class WmlError(ValueError):
    """A text that is not understood: where, and the reason, fit to show."""

    def __init__(self, place: Place, reason: str) -> None:
        super().__init__(f"line {place.line}, column {place.column}: {reason}")
        self.line, self.column = place
        self.reason = reason


MOST_STEPS = 50_000  # about a fifth of a second; the personalities that come with Filebench take some hundreds


@dataclass(slots=True)
class Budget:
    """The work one text may cause, from its first token to its profile: what it pays for is counted, not timed."""

    spent: int = 0  # steps, each about as long as reading a token

    def spend(self, steps: int, place: Place) -> None:
        """Raise WmlError at `place` where the text has had its MOST_STEPS."""
        self.spent += steps
        if self.spent > MOST_STEPS:
            raise WmlError(
                place,
                f"the text takes more than {MOST_STEPS:,} steps, the most allowed for reading it, expanding its "
                "composite flowops and going through its threads; here they run out",
            )


# Values. Numbers are int (sizes in bytes), flags bool, names and strings str.


@dataclass(frozen=True, slots=True)
class Variable:
    """`$name`, `$(ENVIRONMENT)` or `${internal}`; `name` keeps the brackets."""

    name: str
    place: Place

    @property
    def is_outside(self) -> bool:
        """Tell whether the variable has a value only where Filebench runs."""
        return self.name[0] in "({"


@dataclass(frozen=True, slots=True)
class Joined:
    """Parts written without a gap, as in `path=$dir/sub`."""

    parts: tuple[str | Variable, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """One operation on two numbers, as in `set $all=$each * 4`."""

    left: int | Variable
    operator: str
    right: int | Variable


@dataclass(frozen=True, slots=True)
class Random:
    """A random variable: `define randvar`, `randvar(...)` or `cvar(...)`.

    table : rows of percent, low and high: so many percent of the draws fall evenly between low and high
    custom_mean : of a cvar, the mean of its distribution; `min` and `max` are among the attributes
    """

    kind: str
    attributes: "Attributes"
    place: Place
    table: tuple[tuple[int | Variable, ...], ...] = ()
    custom_mean: float | None = None


Value = int | bool | str | Variable | Joined | Arithmetic | Random


@dataclass(frozen=True, slots=True)
class Attribute:
    """`name=value`, or `name` alone, which means true."""

    name: str
    value: Value
    place: Place


Attributes = dict[str, Attribute]


# Statements.


@dataclass(frozen=True, slots=True)
class Set:
    """`set $name=value`; `define randvar name=$name,...` is one too."""

    name: str
    value: Value
    place: Place


@dataclass(frozen=True, slots=True)
class Block:
    """A definition, a thread, a flowop, `eventgen`, `run` or `system`.

    kind : file, fileset, process, thread, define flowop, eventgen, run, system; of a flowop its own: openfile
    arguments : `$name=value` of a composite flowop; of its definition the parameters, None without a default
    body : what stands in braces behind it
    """

    kind: str
    place: Place
    attributes: Attributes = field(default_factory=dict)
    arguments: dict[str, Attribute | None] = field(default_factory=dict)
    body: tuple["Block", ...] = ()


Statement = Set | Block
