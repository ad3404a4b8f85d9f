"""The nodes of a personality, and the error that tells where it cannot be understood."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Place:
    """A position in the text; line and column count from 1, a tab is one column."""

    line: int
    column: int


class WmlError(ValueError):
    """A text that is not understood: `line` and `column` (from 1) and the `reason`, fit to show."""

    def __init__(self, line: int, column: int, reason: str) -> None:
        super().__init__(f"line {line}, column {column}: {reason}")
        self.line = line
        self.column = column
        self.reason = reason


def refuse(place: Place, reason: str) -> WmlError:
    return WmlError(place.line, place.column, reason)


MOST_STEPS = 50_000  # about a fifth of a second; the personalities that come with Filebench take some hundreds


@dataclass(slots=True)
class Budget:
    """The work one text may cause, from its first token to its profile: what it pays for is counted, not timed."""

    spent: int = 0  # steps, each about as long as reading a token

    def spend(self, steps: int, place: Place) -> None:
        """Raise WmlError at `place` where the text has had its MOST_STEPS."""
        self.spent += steps
        if self.spent > MOST_STEPS:
            raise refuse(
                place,
                f"the text takes more than {MOST_STEPS:,} steps, the most allowed for reading it, expanding its "
                "composite flowops and going through its threads; here they run out",
            )


@dataclass(frozen=True, slots=True)
class Note:
    """Something a reader of the result should know about the text at `place`."""

    place: Place
    text: str


# Values. Numbers are int (sizes in bytes), flags bool, names and strings str.


@dataclass(frozen=True, slots=True)
class Variable:
    """`$name`, `$(ENVIRONMENT)` or `${internal}`; `name` keeps the brackets."""

    name: str
    place: Place


@dataclass(frozen=True, slots=True)
class Joined:
    """Parts written without a gap, as in `path=$dir/sub` (1.4)."""

    parts: tuple["str | Variable", ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """One operation on two numbers, as in `set $all=$each * 4` (1.4)."""

    left: "int | Variable"
    operator: str
    right: "int | Variable"
    place: Place


@dataclass(frozen=True, slots=True)
class TableRow:
    """`percent` of the draws fall evenly between `low` and `high`."""

    percent: "int | Variable"
    low: "int | Variable"
    high: "int | Variable"


@dataclass(frozen=True, slots=True)
class RandomVariable:
    """Filebench's own distributions: gamma (if none is named), uniform, tabular."""

    attributes: "Attributes"
    table: tuple[TableRow, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class CustomVariable:
    """`cvar(...)` (1.5): a distribution from a library, with its parameters as plain numbers."""

    kind: str
    parameters: dict[str, float]
    attributes: "Attributes"
    place: Place


Value = int | bool | str | Variable | Joined | Arithmetic | RandomVariable | CustomVariable


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
    """`set $name=value`; `define randvar name=$name,...` is one too. `member` as in `$name.mean` (1.4)."""

    name: str
    value: Value
    place: Place
    member: str = ""


@dataclass(frozen=True, slots=True)
class DefineFiles:
    """`define file` or `define fileset`."""

    kind: str
    attributes: Attributes
    place: Place


@dataclass(frozen=True, slots=True)
class FlowopCall:
    """`flowop KIND attributes`, with `$parameter=value` for a composite in `arguments`."""

    kind: str
    attributes: Attributes
    arguments: Attributes
    place: Place


@dataclass(frozen=True, slots=True)
class DefineFlowop:
    """`define flowop`: a composite with `parameters`, each with its default or None."""

    attributes: Attributes
    parameters: dict[str, Attribute | None]
    flowops: tuple[FlowopCall, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class DefineThread:
    attributes: Attributes
    flowops: tuple[FlowopCall, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class DefineProcess:
    attributes: Attributes
    threads: tuple[DefineThread, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class EventGenerator:
    attributes: Attributes
    place: Place


@dataclass(frozen=True, slots=True)
class Run:
    """`run [seconds]` or `psrun [interval [seconds]]`; None where the text names no number."""

    command: str
    seconds: "int | Variable | None"
    interval: int | None
    place: Place


@dataclass(frozen=True, slots=True)
class Foreach:
    """`foreach $name in first, second { ... }` (1.4)."""

    name: str
    values: tuple["int | str", ...]
    body: tuple["Statement", ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Command:
    """A command that defines nothing: echo, usage, system, create, enable, set mode, stats, ..."""

    word: str
    arguments: tuple["str | int | Variable", ...]
    place: Place


Statement = Set | DefineFiles | DefineFlowop | DefineProcess | EventGenerator | Run | Foreach | Command


@dataclass(frozen=True, slots=True)
class Tree:
    """A text as written. `dialect` is "1.4" or "1.5"; a text that both read counts as 1.5."""

    dialect: str
    statements: tuple[Statement, ...]
    notes: tuple[Note, ...] = field(default=())
