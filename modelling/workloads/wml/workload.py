"""Build the workload of a personality: replace variables, expand composite flowops and resolve names.

A workload is what the first `run` or `psrun` would start; without one, what is defined at the end of the text. As in
Filebench, variables have the values of that point: `set $nfiles=...` after a definition changes the definition.

Random values are replaced by their mean; Flow and FileSet give the units.
"""

from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from .flowops import NEED_FILESET, READS, WHOLE_FILE, WRITES
from .parser import Parser
from .tree import Attribute, Block, Budget, Definitions, Joined, Place, Value, Variable, WmlError
from .values import Values, as_text, resolve, suggestion

STEPS_OF_A_FLOW = 10  # steps of the budget for each expanded flowop
DEEPEST_COMPOSITE = 20
DEFAULT_FILE_SIZE = 1024  # bytes, where a fileset names none


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
    """A personality in the form that its profile is computed from.

    event_rate : events a second, for flowops that limit the rate; None without eventgen, 0 means no limit
    steps : of the budget, spent on the text so far
    """

    filesets: Mapping[str, FileSet]
    threads: tuple[Thread, ...]
    event_rate: float | None
    notes: tuple[str, ...]
    steps: int


def parse(text: str) -> Workload:
    """Read a personality of at most parser.LONGEST_TEXT characters.

    Raises WmlError with line, column and reason for a syntax error; an undefined variable, fileset, flowop or target; a
    number in place of a name; nothing that runs; more work than tree.Budget allows.
    """
    budget = Budget()
    return _Builder(Parser(text, budget).definitions(), budget).workload()


class _Builder:
    """Build the workload of parsed definitions."""

    def __init__(self, defined: Definitions, budget: Budget) -> None:
        self.defined = defined
        self.variables = defined.variables
        self.budget = budget
        self.filesets: dict[str, FileSet] = {}

    def workload(self) -> Workload:
        processes = self.defined.processes
        if not processes:
            raise WmlError(Place(1, 1), "no process is defined, so nothing would run")
        for files in self.defined.files:
            fileset = self.fileset(files)
            if fileset.name in self.filesets:
                raise WmlError(files.place, f"the {files.kind} {fileset.name!r} is defined twice")
            self.filesets[fileset.name] = fileset
        threads = tuple(thread for process in processes for thread in self.threads(process))
        _check_targets_exist(threads)
        if not sum(thread.instances for thread in threads):
            raise WmlError(processes[0].place, "no process has an instance with a thread, so nothing would run")
        eventgen = self.defined.eventgen
        rate = Values(eventgen, self.variables).mean("rate") if eventgen else None
        return Workload(self.filesets, threads, rate, tuple(self.defined.notes), self.budget.spent)

    def fileset(self, files: Block) -> FileSet:
        attributes = dict(files.attributes)
        path = attributes.pop("path", None)
        values = Values(attributes, self.variables)
        name = values.name(files.place, f"a {files.kind}")
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
        """Accept a path of text and variables such as $(HOME), whose value a profile does not need."""
        for part in path.value.parts if isinstance(path.value, Joined) else (path.value,):
            if not (isinstance(part, Variable) and part.is_outside):
                as_text(resolve(part, self.variables), path.place, "path")

    def threads(self, process: Block) -> Iterator[Thread]:
        values = Values(process.attributes, self.variables)
        values.name(process.place, "a process")
        copies = values.whole("instances", 1)
        for thread in process.body:
            inner = Values(thread.attributes, self.variables)
            inner.name(thread.place, "a thread")
            flows = tuple(self.flow(flowop, self.variables, 0) for flowop in thread.body)
            _check_files_are_opened(flows)
            yield Thread(copies * inner.whole("instances", 1), flows, thread.place)

    def flow(self, call: Block, variables: Mapping[str, Value], depth: int) -> Flow:
        self.budget.spend(STEPS_OF_A_FLOW, call.place)
        values = Values(call.attributes, variables)
        name = values.name(call.place, f"the flowop {call.kind!r}")
        if call.kind in self.defined.composites:
            return self.composite_flow(call, name, values, depth)
        for argument, value in call.arguments.items():
            assert value is not None  # the parser refuses a call without
            raise WmlError(value.place, f"${argument} is given, but {call.kind!r} is no composite flowop")
        return self.builtin_flow(call, name, values)

    def composite_flow(self, call: Block, name: str, values: Values, depth: int) -> Flow:
        if depth == DEEPEST_COMPOSITE:
            raise WmlError(call.place, f"composite flowops are nested more than {DEEPEST_COMPOSITE} deep")
        definition = self.defined.composites[call.kind]
        for argument, value in call.arguments.items():
            if value and argument not in definition.arguments:
                raise WmlError(value.place, f"the flowop {call.kind!r} has no parameter ${argument}")
        arguments = {name: value for name, value in (definition.arguments | call.arguments).items() if value}
        scope = ChainMap(Values(arguments, values.variables).values, self.variables)
        body = tuple(self.flow(flowop, scope, depth + 1) for flowop in definition.body)
        iterations = values.mean("iters", Values(definition.attributes, scope).mean("iters", 1.0))
        return Flow(call.kind, call.place, name, iterations, body=body)

    def builtin_flow(self, call: Block, name: str, values: Values) -> Flow:
        fileset = values.text("filename")
        if fileset is not None and fileset not in self.filesets:
            close = suggestion(fileset, self.filesets)
            raise WmlError(call.attributes["filename"].place, f"there is no file or fileset {fileset[:60]!r}{close}")
        for unused in ("highwater", "indexed"):  # not part of a profile; evaluated to report errors
            values.mean(unused)
        value = values.mean("value")
        flow = Flow(
            call.kind,
            call.place,
            name,
            iterations=values.mean("iters", 1.0),
            fileset=fileset,
            fd=values.whole("fd"),
            source_fd=values.whole("srcfd"),
            io_bytes=values.mean("iosize"),
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


def _check_files_are_opened(flows: tuple[Flow, ...]) -> None:
    """Refuse a flowop that works on a file descriptor which no flowop of its thread opens."""
    flat = list(flatten(flows))
    if any(flow.next_file for flow in flat):
        return  # opennext assigns descriptors at run time
    opened = {flow.fd for flow in flat if flow.fileset is not None}
    for flow in flat:
        needs_file = flow.kind in (*READS, *WRITES, "fsync", "closefile", "deletefile")
        if needs_file and flow.fileset is None and flow.fd not in opened:
            raise WmlError(flow.place, f"nothing in this thread opens a file for fd {flow.fd}")
        if flow.source_fd and flow.source_fd not in opened:
            raise WmlError(flow.place, f"nothing in this thread opens a file for srcfd {flow.source_fd}")


def _check_targets_exist(threads: tuple[Thread, ...]) -> None:
    flows = [flow for thread in threads for flow in flatten(thread.flows)]
    names = {flow.name for flow in flows}
    for flow in flows:
        if flow.target is not None and flow.target not in names:
            close = suggestion(flow.target, names)
            raise WmlError(flow.place, f"the target {flow.target[:60]!r} is no flowop's name{close}")


def flatten(flows: Iterable[Flow]) -> Iterator[Flow]:
    """Yield each flow that is no composite, in order, and the bodies of those that are."""
    for flow in flows:
        if flow.body:
            yield from flatten(flow.body)
        else:
            yield flow
