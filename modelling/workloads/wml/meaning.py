"""From the tree to what would run: variables replaced, composites expanded, names resolved.

A workload is what the first `run` or `psrun` would start, or the end of the text where there is none.
A variable has the value it has then, also in definitions above it, as in Filebench: `set $nfiles=...`
after a definition changes the definition. Of a foreach the first value counts.

Random values stand for their mean here; Flow and FileSet say which unit each number has.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .grammar import LARGEST_NUMBER, parse_tree, suggestion
from .tree import (
    Arithmetic,
    Attribute,
    Attributes,
    Budget,
    CustomVariable,
    DefineFiles,
    DefineFlowop,
    DefineProcess,
    DefineThread,
    EventGenerator,
    FlowopCall,
    Foreach,
    Joined,
    Note,
    Place,
    RandomVariable,
    Run,
    Set,
    Statement,
    Tree,
    Value,
    Variable,
    refuse,
)

STEPS_OF_A_FLOW = 10  # of the budget, for one flowop each time it is expanded
DEEPEST_COMPOSITE = 20
LONGEST_NAME = 1024  # characters; MAXPATHLEN
DEFAULT_FILE_SIZE = 1024  # bytes, where a fileset names none

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


@dataclass(frozen=True, slots=True)
class FileSet:
    """Files that flowops work on; `define file` is a set of one. Sizes in bytes, means where random."""

    name: str
    entries: int
    mean_bytes: float
    directory_width: int | None  # mean entries of a directory; None for a single file
    place: Place


@dataclass(frozen=True, slots=True)
class Flow:
    """A flowop with its numbers; a composite has its flowops in `body`.

    iterations : times it runs in one loop of its thread, mean
    io_bytes : size of one request in bytes, mean; 0 means all at once
    fd, source_fd : numbers of open files, None where not given
    workingset_bytes : of each file, the bytes that are used; 0 means all
    wait_seconds : that a delay takes, mean
    """

    kind: str
    place: Place
    name: str = ""
    iterations: float = 1.0
    fileset: str | None = None
    fd: int | None = None
    source_fd: int | None = None
    io_bytes: float = 0.0
    workingset_bytes: int = 0
    random: bool = False
    synchronous: bool = False
    direct: bool = False
    next_file: bool = False
    target: str = ""
    wait_seconds: float = 0.0
    body: tuple["Flow", ...] = ()


@dataclass(frozen=True, slots=True)
class Thread:
    """One thread definition; `instances` counts those of its process, too."""

    process: str
    name: str
    instances: int
    flows: tuple[Flow, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Workload:
    """A personality, ready to be reckoned with.

    dialect : "1.4" or "1.5"; a text that both read counts as 1.5
    event_rate : events a second that limits wait for; None without eventgen, 0 means no limit
    steps : of the budget, that understanding the text took so far
    """

    dialect: str
    filesets: Mapping[str, FileSet]
    threads: tuple[Thread, ...]
    event_rate: float | None
    notes: tuple[Note, ...]
    tree: Tree
    steps: int


def parse(text: str, dialect: str | None = None) -> Workload:
    """Read a personality.

    Parameters
    ----------
    text : the personality, at most grammar.LONGEST_TEXT characters
    dialect : "1.4" or "1.5" to hold the text to one dialect; None lets the text decide

    Raises WmlError with line, column and reason where the text is not understood: by the grammar; an
    undefined variable, fileset, flowop or target; a number where a name belongs; nothing that runs;
    more work than a text may cause (tree.Budget).
    """
    budget = Budget()
    return _Run(parse_tree(text, dialect, budget), budget).workload()


class _Run:
    """A walk through the statements as Filebench would do it, up to the first run command."""

    def __init__(self, tree: Tree, budget: Budget) -> None:
        self.tree = tree
        self.budget = budget
        self.variables: dict[str, Value] = {}
        self.notes = list(tree.notes)
        self.files: list[DefineFiles] = []
        self.composites: dict[str, DefineFlowop] = {}
        self.processes: list[DefineProcess] = []
        self.eventgen: EventGenerator | None = None
        self.running: Run | None = None
        self.filesets: dict[str, FileSet] = {}
        self.means: dict[int, float] = {}  # by id of the random variable: a table may be long and much used

    def workload(self) -> Workload:
        for statement in self.tree.statements:
            self.execute(statement)
        if not self.processes:
            raise refuse(Place(1, 1), "no process is defined, so nothing would run")
        for files in self.files:
            fileset = self.fileset(files)
            if fileset.name in self.filesets:
                raise refuse(files.place, f"the {files.kind} {fileset.name!r} is defined twice")
            self.filesets[fileset.name] = fileset
        threads = tuple(thread for process in self.processes for thread in self.threads(process))
        self.check_targets(threads)
        if not sum(thread.instances for thread in threads):
            raise refuse(self.processes[0].place, "no process has an instance with a thread, so nothing would run")
        rate = self.eventgen and self.eventgen.attributes.get("rate")
        event_rate = self.mean(rate.value, rate.place, "rate") if rate else None
        notes, steps = tuple(self.notes), self.budget.spent
        return Workload(self.tree.dialect, self.filesets, threads, event_rate, notes, self.tree, steps)

    # Statements.

    def execute(self, statement: Statement) -> None:
        if self.running:
            if isinstance(statement, Run):
                self.notes.append(Note(statement.place, f"only the run on line {self.running.place.line} is described"))
            return
        match statement:
            case Set():
                self.assign(statement)
            case DefineFiles():
                self.files.append(statement)
            case DefineFlowop():
                name = self.name(statement.attributes, "composite flowop", statement.place)
                if name in KINDS or name in self.composites:
                    raise refuse(statement.place, f"there is a flowop {name!r} already")
                self.check_kinds(statement.flowops)
                self.composites[name] = statement
            case DefineProcess():
                for thread in statement.threads:
                    self.check_kinds(thread.flowops)
                self.processes.append(statement)
            case EventGenerator():
                self.eventgen = statement
            case Foreach():
                self.variables[statement.name] = statement.values[0]
                if len(statement.values) > 1:
                    text = f"of foreach ${statement.name} only the first value is described: {statement.values[0]}"
                    self.notes.append(Note(statement.place, text))
                for inner in statement.body:
                    self.execute(inner)
            case Run():
                self.running = statement
                if isinstance(statement.seconds, Variable):
                    self.resolve(statement.seconds)
            case _ if statement.word == "system":
                self.notes.append(Note(statement.place, "what this system command does is not described"))

    def assign(self, statement: Set) -> None:
        value = statement.value
        if statement.member:
            held = self.variables.get(statement.name)
            if not isinstance(held, RandomVariable):
                raise refuse(statement.place, f"${statement.name} is no random variable that was defined before")
            name = statement.member
            changed = {**held.attributes, name: Attribute(name, value, statement.place)}
            value = RandomVariable(changed, held.table, held.place)
        elif isinstance(value, Arithmetic):
            value = self.calculate(value)
        elif isinstance(value, Variable):
            value = self.resolve(value)
        self.variables[statement.name] = value

    def calculate(self, sum_: Arithmetic) -> int:
        left, right = (self.whole(side, sum_.place, "a number in set") for side in (sum_.left, sum_.right))
        if sum_.operator == "/" and right == 0:
            raise refuse(sum_.place, "a division by zero")
        result = {
            "+": lambda: left + right,
            "-": lambda: left - right,
            "*": lambda: left * right,
            "/": lambda: left // right,
        }[sum_.operator]()
        if not 0 <= result <= LARGEST_NUMBER:
            raise refuse(sum_.place, "the result is negative or does not fit into 64 bits")
        return result

    def check_kinds(self, flowops: Iterable[FlowopCall]) -> None:
        """Refuse what was not defined above; so no composite can contain itself."""
        for flowop in flowops:
            if flowop.kind not in KINDS and flowop.kind not in self.composites:
                close = suggestion(flowop.kind, [*KINDS, *list(self.composites)[:1000]])
                raise refuse(flowop.place, f"there is no flowop {flowop.kind[:60]!r}{close}")

    # Values.

    def resolve(self, value: Value, arguments: Mapping[str, Value] | None = None) -> Value:
        if isinstance(value, Joined):
            return "".join(self.text(part, value.place, "a part", arguments) for part in value.parts)
        if not isinstance(value, Variable):
            return value
        if arguments and value.name in arguments:
            return arguments[value.name]
        if value.name in self.variables:
            return self.variables[value.name]
        if value.name[0] in "({":
            raise refuse(value.place, f"${value.name} has a value only where Filebench runs")
        raise refuse(value.place, f"the variable ${value.name} is not set{self.where_set(value.name)}")

    def where_set(self, name: str) -> str:
        later = [s for s in self.tree.statements if isinstance(s, Set) and s.name == name]
        if later:
            return f" before it is needed, only on line {later[0].place.line}"
        return suggestion(f"${name}", [f"${known}" for known in list(self.variables)[:1000]])

    def text(self, value: Value, place: Place, what: str, arguments: Mapping[str, Value] | None = None) -> str:
        resolved = self.resolve(value, arguments)
        if isinstance(resolved, bool) or not isinstance(resolved, str | int):
            raise refuse(place, f"{what} needs a name")
        if len(str(resolved)) > LONGEST_NAME:
            raise refuse(place, f"{what} is longer than {LONGEST_NAME} characters")
        return str(resolved)

    def flag(self, value: Value, place: Place, what: str, arguments: Mapping[str, Value] | None = None) -> bool:
        resolved = self.resolve(value, arguments)
        if not isinstance(resolved, bool | int):
            raise refuse(place, f"{what} needs true or false")
        return bool(resolved)

    def whole(self, value: Value, place: Place, what: str, arguments: Mapping[str, Value] | None = None) -> int:
        resolved = self.resolve(value, arguments)
        if isinstance(resolved, RandomVariable | CustomVariable):
            raise refuse(place, f"{what} cannot be random")
        if isinstance(resolved, bool) or not isinstance(resolved, int):
            raise refuse(place, f"{what} needs a number, not {self.shown(resolved)}")
        return resolved

    def shown(self, value: Value) -> str:
        return str(value).lower() if isinstance(value, bool) else repr(str(value)[:60])

    def mean(self, value: Value, place: Place, what: str, arguments: Mapping[str, Value] | None = None) -> float:
        """Return the number, or the mean of the random variable."""
        resolved = self.resolve(value, arguments)
        if not isinstance(resolved, RandomVariable | CustomVariable):
            return float(self.whole(resolved, place, what))
        if id(resolved) not in self.means:
            self.means[id(resolved)] = (
                self.random_mean(resolved) if isinstance(resolved, RandomVariable) else self.custom_mean(resolved)
            )
        mean = self.means[id(resolved)]
        if not (math.isfinite(mean) and 0 <= mean <= LARGEST_NUMBER):
            raise refuse(place, f"the mean of {what} is negative or too large")
        return mean

    def random_mean(self, variable: RandomVariable) -> float:
        """Return the mean as fb_random.c has it: the table's if none is given; of gamma without one gamma/1000."""

        def given(name: str, default: int) -> int:
            stated = variable.attributes.get(name)
            return self.whole(stated.value, stated.place, name) if stated else default

        kind = variable.attributes.get("type")
        if variable.table and (kind is None or kind.value == "tabular"):
            return given("mean", 0) or self.table_mean(variable)
        if kind and kind.value == "uniform":
            return given("mean", 0)
        if "mean" not in variable.attributes:
            return max(given("gamma", 1500) / 1000, given("min", 0))
        return given("mean", 0)

    def table_mean(self, variable: RandomVariable) -> float:
        self.budget.spend(len(variable.table), variable.place)  # many variables may share one table
        total, weighted = 0, 0.0
        for row in variable.table:
            cells = (row.percent, row.low, row.high)
            percent, low, high = (self.whole(cell, variable.place, "a cell of the table") for cell in cells)
            total += percent
            weighted += percent * (low + high) / 2
        if total != 100:
            raise refuse(variable.place, f"the percentages of the table add up to {total}, not to 100")
        return weighted / 100

    def custom_mean(self, variable: CustomVariable) -> float:
        """Return the means of the libraries under cvars/ with their defaults, held to the variable's min and max."""

        def given(name: str, default: float) -> float:
            return variable.parameters.get(name, default)

        try:
            mean = {
                "cvar-erlang": lambda: given("rate", 1.0),  # the library takes its rate for the mean
                "cvar-exponential": lambda: given("mean", 1.0),
                "cvar-gamma": lambda: given("mean", 4096.0),
                "cvar-lognormal": lambda: math.exp(given("scale", 1.0) + given("shape", 1.0) ** 2 / 2),
                "cvar-normal": lambda: given("mean", 0.0),
                "cvar-triangular": lambda: (given("lower", 0.0) + given("upper", 1.0) + given("mode", 0.5)) / 3,
                "cvar-uniform": lambda: (given("lower", 0.0) + given("upper", 1.0)) / 2,
                "cvar-weibull": lambda: given("scale", 1.0) * math.gamma(1 + 1 / given("shape", 1.0)),
            }[variable.kind]()
        except (ArithmeticError, ValueError):
            raise refuse(variable.place, f"{variable.kind} has no mean with these parameters") from None
        for name, held in (("min", max), ("max", min)):
            limit = variable.attributes.get(name)
            if limit:
                mean = held(mean, self.whole(limit.value, limit.place, name))
        return mean

    # Definitions.

    def name(self, attributes: Attributes, construct: str, place: Place) -> str:
        given = attributes.get("name")
        if given is None:
            raise refuse(place, f"a {construct} needs a name")
        return self.text(given.value, given.place, "name")

    def fileset(self, files: DefineFiles) -> FileSet:
        attributes = files.attributes
        name = self.name(attributes, files.kind, files.place)
        path = attributes.get("path")
        if path is None:
            raise refuse(files.place, f"the {files.kind} {name!r} needs a path")
        self.path(path)

        def whole(attribute: str, default: int) -> int:
            stated = attributes.get(attribute)
            return self.whole(stated.value, stated.place, attribute) if stated else default

        size = attributes.get("size")
        mean = self.mean(size.value, size.place, "size") if size else float(DEFAULT_FILE_SIZE)
        single = files.kind == "file"
        self.check_variables({key: value for key, value in attributes.items() if key != "path"})
        entries = 1 if single else whole("entries", 0)
        return FileSet(name, entries, mean, None if single else whole("dirwidth", 0), files.place)

    def check_variables(self, attributes: Attributes, arguments: Mapping[str, Value] | None = None) -> None:
        """Resolve all variables: also what has no part in a profile must be understood."""
        for attribute in attributes.values():
            self.resolve(attribute.value, arguments)

    def path(self, path: Attribute) -> None:
        """Take a path of text and of variables such as $(HOME): a profile does not ask where the files lie."""
        parts = path.value.parts if isinstance(path.value, Joined) else (path.value,)
        for part in parts:
            if not (isinstance(part, Variable) and part.name[0] in "({"):
                self.text(part, path.place, "path")

    def threads(self, process: DefineProcess) -> Iterator[Thread]:
        name = self.name(process.attributes, "process", process.place)
        copies = self.instances(process.attributes)
        self.check_variables(process.attributes)
        for thread in process.threads:
            self.check_variables(thread.attributes)
            inner = self.name(thread.attributes, "thread", thread.place)
            flows = tuple(self.flow(flowop, {}, 0) for flowop in thread.flowops)
            self.check_open(thread, flows)
            yield Thread(name, inner, copies * self.instances(thread.attributes), flows, thread.place)

    def instances(self, attributes: Attributes) -> int:
        given = attributes.get("instances")
        return self.whole(given.value, given.place, "instances") if given else 1

    def flow(self, call: FlowopCall, arguments: Mapping[str, Value], depth: int) -> Flow:
        self.budget.spend(STEPS_OF_A_FLOW, call.place)
        if call.kind in self.composites:
            return self.composite(call, arguments, depth)
        return self.builtin(call, arguments)

    def composite(self, call: FlowopCall, arguments: Mapping[str, Value], depth: int) -> Flow:
        if depth == DEEPEST_COMPOSITE:
            raise refuse(call.place, f"composite flowops are nested more than {DEEPEST_COMPOSITE} deep")
        definition = self.composites[call.kind]
        inner: dict[str, Value] = {}
        for name, default in definition.parameters.items():
            given = call.arguments.get(name) or default
            if given:
                inner[name] = self.resolve(given.value, arguments)
        for name, given in call.arguments.items():
            if name not in definition.parameters:
                raise refuse(given.place, f"the flowop {call.kind!r} has no parameter ${name}")
        body = tuple(self.flow(flowop, inner, depth + 1) for flowop in definition.flowops)
        iterations = 1.0
        for attributes, scope in ((definition.attributes, inner), (call.attributes, arguments)):
            if given := attributes.get("iters"):
                iterations = self.mean(given.value, given.place, "iters", scope)
        name = self.name(call.attributes, "flowop", call.place)
        return Flow(call.kind, call.place, name, iterations, body=body)

    def builtin(self, call: FlowopCall, arguments: Mapping[str, Value]) -> Flow:
        attributes = call.attributes
        for name, given in call.arguments.items():
            raise refuse(given.place, f"${name} is given, but {call.kind!r} is no composite flowop")
        if "name" not in attributes:
            raise refuse(call.place, f"the flowop {call.kind!r} needs a name")

        def read(name: str, how: Callable[..., Any], default: Any) -> Any:
            stated = attributes.get(name)
            return how(stated.value, stated.place, name, arguments) if stated else default

        self.check_variables(attributes, arguments)
        for name in ("highwater", "indexed"):  # no part of a profile, but to be understood
            read(name, self.mean, 0.0)
        value = read("value", self.mean, 0.0)
        fileset = read("filename", self.text, None)
        if fileset is not None and fileset not in self.filesets:
            close = suggestion(fileset, list(self.filesets)[:1000])
            place = attributes["filename"].place
            raise refuse(place, f"there is no file or fileset {fileset[:60]!r}{close}")
        flow = Flow(
            call.kind,
            call.place,
            read("name", self.text, ""),
            read("iters", self.mean, 1.0),
            fileset,
            read("fd", self.whole, None),
            read("srcfd", self.whole, None),
            read("iosize", self.mean, 0.0),
            read("workingset", self.whole, 0),
            read("random", self.flag, False),
            read("dsync", self.flag, False),
            read("directio", self.flag, False),
            read("opennext", self.flag, False),
            read("target", self.text, ""),
            value if call.kind == "delay" else 0.0,
        )
        if call.kind in NEED_FILESET and fileset is None:
            raise refuse(call.place, f"{call.kind} needs a filesetname")
        if call.kind in READS + WRITES and call.kind not in WHOLE_FILE and not flow.io_bytes:
            raise refuse(call.place, f"{call.kind} needs an iosize above 0")
        return flow

    def check_open(self, thread: DefineThread, flows: tuple[Flow, ...]) -> None:
        """Refuse a flowop that works on a file descriptor which no flowop of its thread opens."""
        flat = list(flatten(flows))
        if any(flow.next_file for flow in flat):
            return  # descriptors are handed round
        opened = {flow.fd or 0 for flow in flat if flow.fileset is not None}
        for flow in flat:
            needs = flow.kind in (*READS, *WRITES, "fsync", "closefile", "deletefile")
            if needs and flow.fileset is None and (flow.fd or 0) not in opened:
                raise refuse(flow.place, f"nothing in this thread opens a file for fd {flow.fd or 0}")
            if flow.source_fd and flow.source_fd not in opened:
                raise refuse(flow.place, f"nothing in this thread opens a file for srcfd {flow.source_fd}")

    def check_targets(self, threads: tuple[Thread, ...]) -> None:
        flows = [flow for thread in threads for flow in flatten(thread.flows)]
        names = {flow.name for flow in flows}
        for flow in flows:
            if flow.target and flow.target not in names:
                close = suggestion(flow.target, list(names)[:1000])
                raise refuse(flow.place, f"the target {flow.target[:60]!r} is no flowop's name{close}")


def flatten(flows: Iterable[Flow]) -> Iterator[Flow]:
    """Yield each flow that is no composite, in order, and the bodies of those that are."""
    for flow in flows:
        if flow.body:
            yield from flatten(flow.body)
        else:
            yield flow
