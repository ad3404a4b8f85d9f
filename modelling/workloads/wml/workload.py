"""From statements to what would run: variables replaced, composites expanded, names resolved.

A workload is what the first `run` or `psrun` would start, or the end of the text where there is none.
A variable has the value it has then, also in definitions above it, as in Filebench: `set $nfiles=...`
after a definition changes the definition.

Random values stand for their mean here; Flow and FileSet say which unit each number has.
"""

import operator
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from .parser import LARGEST_NUMBER, Parser, suggestion
from .tree import (
    Arithmetic,
    Attribute,
    Attributes,
    Block,
    Budget,
    Joined,
    Place,
    Random,
    Set,
    Statement,
    Value,
    Variable,
    WmlError,
)

STEPS_OF_A_FLOW = 10  # of the budget, for one flowop each time it is expanded
DEEPEST_COMPOSITE = 20
LONGEST_NAME = 1024  # characters; MAXPATHLEN
DEFAULT_FILE_SIZE = 1024  # bytes, where a fileset names none
MOST_SUGGESTED = 1000  # names that a misspelt one is compared with

# The flowops of Filebench by what they do to files.
READS = ("read", "readwholefile")
WRITES = ("write", "writewholefile", "appendfile", "appendfilerand", "aiowrite")
WHOLE_FILE = ("readwholefile", "writewholefile")
METADATA = ("openfile", "createfile", "closefile", "deletefile", "statfile", "makedir", "removedir", "listdir")
FLUSHES = ("fsync", "fsyncset")
WAITS = ("block", "wakeup", "semblock", "sempost", "delay", "hog", "aiowait")
LIMITS = ("eventlimit", "bwlimit", "iopslimit", "opslimit")
FINISHES = ("finishoncount", "finishonbytes")
OTHERS = ("print", "testrandvar")
KINDS = (*READS, *WRITES, *METADATA, *FLUSHES, *WAITS, *LIMITS, *FINISHES, *OTHERS)
NEED_FILESET = ("openfile", "createfile", "statfile", "makedir", "removedir", "listdir", "fsyncset")

_OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.floordiv}


@dataclass(frozen=True, slots=True)
class FileSet:
    """Files that flowops work on; `define file` is a set of one. Sizes in bytes, means where random."""

    name: str
    entries: int
    mean_bytes: float
    directory_width: int | None  # mean entries of a directory; None for a single file


@dataclass(frozen=True, slots=True)
class Flow:
    """A flowop with its numbers; a composite has its flowops in `body`.

    iterations : times it runs in one loop of its thread, mean
    io_bytes : size of one request in bytes, mean; 0 means all at once
    fd, source_fd : numbers of open files, 0 where not given
    workingset_bytes : of each file, the bytes that are used; 0 means all
    wait_seconds : that a delay takes, mean
    """

    kind: str
    place: Place
    name: str
    iterations: float
    fileset: str | None = None
    fd: int = 0
    source_fd: int = 0
    io_bytes: float = 0.0
    workingset_bytes: int = 0
    random: bool = False
    synchronous: bool = False
    direct: bool = False
    next_file: bool = False
    target: str | None = None
    wait_seconds: float = 0.0
    body: tuple["Flow", ...] = ()


@dataclass(frozen=True, slots=True)
class Thread:
    """One thread definition; `instances` counts those of its process, too."""

    instances: int
    flows: tuple[Flow, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Workload:
    """A personality, ready to be reckoned with.

    event_rate : events a second that limits wait for; None without eventgen, 0 means no limit
    steps : of the budget, that understanding the text took so far
    """

    filesets: Mapping[str, FileSet]
    threads: tuple[Thread, ...]
    event_rate: float | None
    notes: tuple[str, ...]
    steps: int


def parse(text: str) -> Workload:
    """Read a personality of at most parser.LONGEST_TEXT characters.

    Raises WmlError with line, column and reason where the text is not understood: by the parser; an
    undefined variable, fileset, flowop or target; a number where a name belongs; nothing that runs;
    more work than a text may cause (tree.Budget).
    """
    budget = Budget()
    parser = Parser(text, budget)
    return _Interpreter(parser.statements(), parser.notes, budget).workload()


class _Interpreter:
    """A walk through the statements as Filebench would do it, up to the first run command."""

    def __init__(self, statements: list[Statement], notes: list[str], budget: Budget) -> None:
        self.statements = statements
        self.notes = notes
        self.budget = budget
        self.variables: dict[str, Value] = {}
        self.files: list[Block] = []
        self.composites: dict[str, Block] = {}
        self.processes: list[Block] = []
        self.event_rate: Attributes | None = None
        self.running: Block | None = None
        self.filesets: dict[str, FileSet] = {}
        self.means: dict[int, float] = {}  # by id of the random variable: a table may be long and much used

    def workload(self) -> Workload:
        for statement in self.statements:
            self.execute(statement)
        if not self.processes:
            raise WmlError(Place(1, 1), "no process is defined, so nothing would run")
        for files in self.files:
            fileset = self.fileset(files)
            if fileset.name in self.filesets:
                raise WmlError(files.place, f"the {files.kind} {fileset.name!r} is defined twice")
            self.filesets[fileset.name] = fileset
        threads = tuple(thread for process in self.processes for thread in self.threads(process))
        _check_targets(threads)
        if not sum(thread.instances for thread in threads):
            raise WmlError(self.processes[0].place, "no process has an instance with a thread, so nothing would run")
        rate = _Values(self, self.event_rate).mean("rate", 0.0) if self.event_rate else None
        return Workload(self.filesets, threads, rate, tuple(self.notes), self.budget.spent)

    def execute(self, statement: Statement) -> None:
        if self.running:
            if isinstance(statement, Block) and statement.kind == "run":
                self.note(statement, f"only the run on line {self.running.place.line} is described")
        elif isinstance(statement, Set):
            self.variables[statement.name] = self.assigned(statement)
        elif statement.kind in ("file", "fileset"):
            self.files.append(statement)
        elif statement.kind == "define flowop":
            self.define_flowop(statement)
        elif statement.kind == "process":
            for thread in statement.body:
                self.check_kinds(thread.body)
            self.processes.append(statement)
        elif statement.kind == "eventgen":
            self.event_rate = statement.attributes
        elif statement.kind == "system":
            self.note(statement, "what this system command does is not described")
        else:
            self.running = statement
            _Values(self, statement.attributes)  # raises where a variable is not set

    def note(self, statement: Block, text: str) -> None:
        self.notes.append(f"line {statement.place.line}: {text}")

    def define_flowop(self, definition: Block) -> None:
        name = self.name(_Values(self, definition.attributes), definition, "composite flowop")
        if name in KINDS or name in self.composites:
            raise WmlError(definition.place, f"there is a flowop {name!r} already")
        self.check_kinds(definition.body)
        self.composites[name] = definition

    def check_kinds(self, flowops: Iterable[Block]) -> None:
        """Refuse what was not defined above; so no composite can contain itself."""
        for flowop in flowops:
            if flowop.kind not in KINDS and flowop.kind not in self.composites:
                close = suggestion(flowop.kind, [*KINDS, *list(self.composites)[:MOST_SUGGESTED]])
                raise WmlError(flowop.place, f"there is no flowop {flowop.kind[:60]!r}{close}")

    # Values.

    def assigned(self, statement: Set) -> Value:
        """Return what `set` puts into a variable."""
        value, place = statement.value, statement.place
        if not isinstance(value, Arithmetic):
            return self.resolve(value)
        left, right = (_whole(self.resolve(side), place, "a number in set") for side in (value.left, value.right))
        if value.operator == "/" and right == 0:
            raise WmlError(place, "a division by zero")
        result = _OPERATORS[value.operator](left, right)
        if not 0 <= result <= LARGEST_NUMBER:
            raise WmlError(place, "the result is negative or does not fit into 64 bits")
        return result

    def resolve(self, value: Value, variables: Mapping[str, Value] | None = None) -> Value:
        """Return the value with its variables replaced. Raises WmlError where one is not set."""
        variables = self.variables if variables is None else variables
        if isinstance(value, Joined):
            return "".join(_text(self.resolve(part, variables), value.place, "a part") for part in value.parts)
        if not isinstance(value, Variable):
            return value
        if value.name in variables:
            return variables[value.name]
        if value.is_outside:
            raise WmlError(value.place, f"${value.name} has a value only where Filebench runs")
        raise WmlError(value.place, f"the variable ${value.name} is not set{self.where_set(value.name)}")

    def where_set(self, name: str) -> str:
        later = [statement for statement in self.statements if isinstance(statement, Set) and statement.name == name]
        if later:
            return f" before it is needed, only on line {later[0].place.line}"
        return suggestion(f"${name}", [f"${known}" for known in list(self.variables)[:MOST_SUGGESTED]])

    def mean(self, variable: Random) -> float:
        if id(variable) not in self.means:
            self.means[id(variable)] = self.random_mean(variable)
        return self.means[id(variable)]

    def random_mean(self, variable: Random) -> float:
        """Return the mean as fb_random.c has it: the table's if none is given; of gamma without one gamma/1000."""
        number = _Values(self, variable.attributes).whole
        if variable.custom_mean is not None:
            return min(max(variable.custom_mean, number("min", -LARGEST_NUMBER)), number("max", LARGEST_NUMBER))
        if variable.kind == "tabular":
            return number("mean") or self.table_mean(variable)
        if variable.kind == "gamma" and "mean" not in variable.attributes:
            return max(number("gamma", 1500) / 1000, number("min"))
        return number("mean")

    def table_mean(self, variable: Random) -> float:
        total, weighted = 0, 0.0
        for row in variable.table:
            cells = (_whole(self.resolve(cell), variable.place, "a cell of the table") for cell in row)
            percent, low, high = cells
            total += percent
            weighted += percent * (low + high) / 2
        if total != 100:
            raise WmlError(variable.place, f"the percentages of the table add up to {total}, not to 100")
        return weighted / 100

    # Definitions.

    def name(self, values: "_Values", block: Block, construct: str) -> str:
        name = values.text("name")
        if name is None:
            raise WmlError(block.place, f"{construct} needs a name")
        return name

    def fileset(self, files: Block) -> FileSet:
        attributes = dict(files.attributes)
        path = attributes.pop("path", None)
        values = _Values(self, attributes)
        name = self.name(values, files, f"a {files.kind}")
        if path is None:
            raise WmlError(files.place, f"the {files.kind} {name!r} needs a path")
        self.check_path(path)
        is_single = files.kind == "file"
        return FileSet(
            name,
            entries=1 if is_single else values.whole("entries"),
            mean_bytes=values.mean("size", DEFAULT_FILE_SIZE),
            directory_width=None if is_single else values.whole("dirwidth"),
        )

    def check_path(self, path: Attribute) -> None:
        """Take a path of text and of variables such as $(HOME): a profile does not ask where the files lie."""
        for part in path.value.parts if isinstance(path.value, Joined) else (path.value,):
            if not (isinstance(part, Variable) and part.is_outside):
                _text(self.resolve(part), path.place, "path")

    def threads(self, process: Block) -> Iterator[Thread]:
        values = _Values(self, process.attributes)
        self.name(values, process, "a process")
        copies = values.whole("instances", 1)
        for thread in process.body:
            inner = _Values(self, thread.attributes)
            self.name(inner, thread, "a thread")
            flows = tuple(self.flow(flowop, self.variables, 0) for flowop in thread.body)
            _check_open(flows)
            yield Thread(copies * inner.whole("instances", 1), flows, thread.place)

    def flow(self, call: Block, variables: Mapping[str, Value], depth: int) -> Flow:
        self.budget.spend(STEPS_OF_A_FLOW, call.place)
        values = _Values(self, call.attributes, variables)
        name = self.name(values, call, f"the flowop {call.kind!r}")
        if call.kind in self.composites:
            return self.composite(call, name, values, depth)
        for argument, given in call.arguments.items():
            assert given is not None  # the parser refuses a call without
            raise WmlError(given.place, f"${argument} is given, but {call.kind!r} is no composite flowop")
        return self.builtin(call, name, values)

    def composite(self, call: Block, name: str, values: "_Values", depth: int) -> Flow:
        if depth == DEEPEST_COMPOSITE:
            raise WmlError(call.place, f"composite flowops are nested more than {DEEPEST_COMPOSITE} deep")
        definition = self.composites[call.kind]
        for argument, given in call.arguments.items():
            if given and argument not in definition.arguments:
                raise WmlError(given.place, f"the flowop {call.kind!r} has no parameter ${argument}")
        arguments = {name: value for name, value in (definition.arguments | call.arguments).items() if value}
        scope = ChainMap(_Values(self, arguments, values.variables).values, self.variables)
        body = tuple(self.flow(flowop, scope, depth + 1) for flowop in definition.body)
        iterations = values.mean("iters", _Values(self, definition.attributes, scope).mean("iters", 1.0))
        return Flow(call.kind, call.place, name, iterations, body=body)

    def builtin(self, call: Block, name: str, values: "_Values") -> Flow:
        fileset = values.text("filename")
        if fileset is not None and fileset not in self.filesets:
            close = suggestion(fileset, list(self.filesets)[:MOST_SUGGESTED])
            raise WmlError(call.attributes["filename"].place, f"there is no file or fileset {fileset[:60]!r}{close}")
        for unused in ("highwater", "indexed"):  # no part of a profile, but to be understood
            values.mean(unused, 0.0)
        value = values.mean("value", 0.0)
        flow = Flow(
            call.kind,
            call.place,
            name,
            iterations=values.mean("iters", 1.0),
            fileset=fileset,
            fd=values.whole("fd"),
            source_fd=values.whole("srcfd"),
            io_bytes=values.mean("iosize", 0.0),
            workingset_bytes=values.whole("workingset"),
            random=values.flag("random"),
            synchronous=values.flag("dsync"),
            direct=values.flag("directio"),
            next_file=values.flag("opennext"),
            target=values.text("target"),
            wait_seconds=value if call.kind == "delay" else 0.0,
        )
        if call.kind in NEED_FILESET and fileset is None:
            raise WmlError(call.place, f"{call.kind} needs a filesetname")
        if call.kind in READS + WRITES and call.kind not in WHOLE_FILE and not flow.io_bytes:
            raise WmlError(call.place, f"{call.kind} needs an iosize above 0")
        return flow


class _Values:
    """Attributes with their variables replaced, also those that a profile does not need."""

    def __init__(
        self, interpreter: _Interpreter, attributes: Attributes, variables: Mapping[str, Value] | None = None
    ) -> None:
        self.interpreter = interpreter
        self.attributes = attributes
        self.variables = interpreter.variables if variables is None else variables
        self.values = {
            name: interpreter.resolve(attribute.value, self.variables) for name, attribute in attributes.items()
        }

    def text(self, name: str) -> str | None:
        return _text(self.values[name], self.attributes[name].place, name) if name in self.values else None

    def flag(self, name: str) -> bool:
        value = self.values.get(name, False)
        if not isinstance(value, bool | int):
            raise WmlError(self.attributes[name].place, f"{name} needs true or false")
        return bool(value)

    def whole(self, name: str, default: int = 0) -> int:
        return _whole(self.values[name], self.attributes[name].place, name) if name in self.values else default

    def mean(self, name: str, default: float) -> float:
        """Return the number, or the mean of the random variable."""
        value = self.values.get(name)
        if not isinstance(value, Random):
            return default if value is None else float(self.whole(name))
        mean = self.interpreter.mean(value)
        if not 0 <= mean <= LARGEST_NUMBER:
            raise WmlError(self.attributes[name].place, f"the mean of {name} is negative or too large")
        return mean


def _whole(value: Value, place: Place, what: str) -> int:
    if isinstance(value, Random):
        raise WmlError(place, f"{what} cannot be random")
    if isinstance(value, bool) or not isinstance(value, int):
        shown = str(value).lower() if isinstance(value, bool) else repr(str(value)[:60])
        raise WmlError(place, f"{what} needs a number, not {shown}")
    return value


def _text(value: Value, place: Place, what: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise WmlError(place, f"{what} needs a name")
    if len(str(value)) > LONGEST_NAME:
        raise WmlError(place, f"{what} is longer than {LONGEST_NAME} characters")
    return str(value)


def _check_open(flows: tuple[Flow, ...]) -> None:
    """Refuse a flowop that works on a file descriptor which no flowop of its thread opens."""
    flat = list(flatten(flows))
    if any(flow.next_file for flow in flat):
        return  # descriptors are handed round
    opened = {flow.fd for flow in flat if flow.fileset is not None}
    for flow in flat:
        needs_file = flow.kind in (*READS, *WRITES, "fsync", "closefile", "deletefile")
        if needs_file and flow.fileset is None and flow.fd not in opened:
            raise WmlError(flow.place, f"nothing in this thread opens a file for fd {flow.fd}")
        if flow.source_fd and flow.source_fd not in opened:
            raise WmlError(flow.place, f"nothing in this thread opens a file for srcfd {flow.source_fd}")


def _check_targets(threads: tuple[Thread, ...]) -> None:
    flows = [flow for thread in threads for flow in flatten(thread.flows)]
    names = {flow.name for flow in flows}
    for flow in flows:
        if flow.target is not None and flow.target not in names:
            close = suggestion(flow.target, list(names)[:MOST_SUGGESTED])
            raise WmlError(flow.place, f"the target {flow.target[:60]!r} is no flowop's name{close}")


def flatten(flows: Iterable[Flow]) -> Iterator[Flow]:
    """Yield each flow that is no composite, in order, and the bodies of those that are."""
    for flow in flows:
        if flow.body:
            yield from flatten(flow.body)
        else:
            yield flow
