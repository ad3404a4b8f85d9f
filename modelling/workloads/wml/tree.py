"""The syntax tree of a personality, and the error of a text that is not understood."""

from dataclasses import dataclass, field
from typing import NamedTuple


class Place(NamedTuple):
    """A position in the text; line and column count from 1, a tab is one column."""

    line: int
    column: int


class WmlError(ValueError):
    """The text is not understood. reason : a phrase for users"""

    def __init__(self, place: Place, reason: str) -> None:
        super().__init__(f"line {place.line}, column {place.column}: {reason}")
        self.line, self.column = place
        self.reason = reason


MOST_STEPS = 50_000  # about a fifth of a second; the personalities that come with Filebench take some hundreds


@dataclass(slots=True)
class Budget:
    """A limit on the work for one text, from its first token to its profile, in steps rather than seconds."""

    spent: int = 0  # steps, each about as long as reading a token

    def spend(self, steps: int, place: Place) -> None:
        """Count steps; raise WmlError at `place` if there are more than MOST_STEPS."""
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
class Random:
    """A random variable: `define randvar`, `randvar(...)` or `cvar(...)`.

    own_mean : of a table, or of the distribution of a cvar before its `min` and `max`
    """

    kind: str
    attributes: "Attributes"
    own_mean: float | None = None


Value = int | bool | str | Variable | Joined | Random


@dataclass(frozen=True, slots=True)
class Attribute:
    """`name=value`, or `name` alone, which means true."""

    name: str
    value: Value
    place: Place


Attributes = dict[str, Attribute]


@dataclass(frozen=True, slots=True)
class Block:
    """A definition, a thread or a flowop.

    kind : file, fileset, process, thread, composite flowop; of a flowop its own: openfile
    arguments : `$name=value` of a composite flowop; of its definition the parameters, None without a default
    body : what stands in braces behind it
    """

    kind: str
    place: Place
    attributes: Attributes
    arguments: dict[str, Attribute | None] = field(default_factory=dict)
    body: tuple["Block", ...] = ()


@dataclass(slots=True)
class Definitions:
    """The definitions of a text up to some point."""

    variables: dict[str, Value] = field(default_factory=dict)
    files: list[Block] = field(default_factory=list)
    composites: dict[str, Block] = field(default_factory=dict)
    processes: list[Block] = field(default_factory=list)
    eventgen: Attributes | None = None
    notes: list[str] = field(default_factory=list)

    def copy(self) -> "Definitions":
        copies = (dict(self.variables), list(self.files), dict(self.composites), list(self.processes))
        return Definitions(*copies, self.eventgen, list(self.notes))
