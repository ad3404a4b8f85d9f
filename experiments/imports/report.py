"""The report of an import: the findings of a reading, stored as JSON, shown by pages and returned by the API."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Annotated, Any

from experiments.models import ImportBatch
from experiments.readers.base import Part, Reading, Refusal

from .lint import LintFinding

MAX_FAULTS = 200  # listed in the report; all are counted
MAX_RUNS_LISTED = 50  # of one file

State = ImportBatch.State


@dataclass
class RefusedRun:
    """A run that does not count."""

    line: int | None
    reason: str


@dataclass
class RunWarning:
    """A doubt that a reader has about a run."""

    line: int | None
    warning: str


@dataclass
class ListedPart:
    """One part of a file of several systems, to be described in `answers.files`."""

    name: str
    line: int
    runs: Annotated[int, "How many it has."]


@dataclass
class ListedRun:
    """The runs on one line: context is given by line."""

    line: int
    workload: str
    operation: str
    could_be: Annotated[list[str], "Operations that the file does not tell apart."]
    part: str


@dataclass
class ReadFile:
    """One file, as it was read."""

    name: str
    sha256: str
    size_bytes: int
    format: Annotated[str, "Of the reader; empty: not known."] = ""
    tool_version: str = ""
    rows: Annotated[int, "Measurements that come in."] = 0
    refused: Annotated[list[RefusedRun], "Runs that do not count."] = field(default_factory=list[RefusedRun])
    warnings: list[RunWarning] = field(default_factory=list[RunWarning])
    facts: Annotated[
        list[dict[str, Any]],
        "What the file says of a machine: line, about, name, value, and the field that it fills once the context says "
        "the same.",
    ] = field(default_factory=list[dict[str, Any]])
    parts: list[ListedPart] = field(default_factory=list[ListedPart])
    runs: Annotated[list[ListedRun], "The first of its runs."] = field(default_factory=list[ListedRun])
    run_count: Annotated[int, "Of a benchmark's output."] = 0
    left_out: bool = False

    def describe(self, reading: Reading, parts: Sequence[Part]) -> None:
        """Fill in what a benchmark's output says besides its measurements. parts : of the reading, or itself"""
        self.format, self.tool_version = reading.format, reading.tool_version
        self.facts = _facts(reading, self.name)
        self.refused = _refused_runs(reading.refused[1:] if reading.parts else reading.refused)
        warnings = Counter((run.line, text) for part in parts for run in part.reading.runs for text in run.warnings)
        self.warnings = [RunWarning(*warning) for warning in islice(warnings, MAX_FAULTS)]
        self.runs, self.run_count = _listed_runs(parts), sum(len(part.reading.runs) for part in parts)


@dataclass
class FoundFault:
    """One kind of error; `line` is the first it was met in, `count` how often."""

    component = "Fault"

    file: str
    line: int | None
    field: str
    found: str
    expected: str
    count: int = 1


@dataclass
class UnknownName:
    """A name that the catalogue does not have; map it in `answers.names`, or describe it in `answers.create`.

    Of kind `column`: a header that is none of ours; say in `answers.columns` what it holds, or `ignore`.
    """

    file: str
    line: int | None
    kind: str
    name: str
    count: int = 1


@dataclass
class NewName:
    """An entry of the catalogue that the import adds."""

    kind: str
    slug: str
    name: str


@dataclass
class Report:
    """The findings of a reading; empty until the files were read."""

    rows: int = 0
    files: list[ReadFile] = field(default_factory=list[ReadFile])
    faults: list[FoundFault] = field(default_factory=list[FoundFault])
    fault_count: int = 0
    unknown: list[UnknownName] = field(default_factory=list[UnknownName])
    lint: list[LintFinding] = field(default_factory=list[LintFinding])
    sample: Annotated[list[dict[str, Any]], "The first rows."] = field(default_factory=list[dict[str, Any]])
    new_configurations: list[str] = field(default_factory=list)
    new_names: list[NewName] = field(default_factory=list[NewName])
    suggested: Annotated[
        dict[str, str], "Context by the facts of the files; it counts once it is in `answers.context`."
    ] = field(default_factory=dict)
    patterns: Annotated[list[str], "What a manifest's patterns say of the files, in lines of text."] = field(
        default_factory=list[str]
    )
    known: Annotated[list[dict[str, Any]], "Files whose bytes an earlier import brought: name, import."] = field(
        default_factory=list[dict[str, Any]]
    )

    @property
    def state(self) -> State:
        has_errors = any(finding.severity == "error" for finding in self.lint)
        return State.FAULTY if self.fault_count or self.unknown or has_errors or not self.rows else State.READY


def _listed_runs(parts: Iterable[Part]) -> list[ListedRun]:
    runs: dict[int, ListedRun] = {}
    for part in parts:
        for run in part.reading.runs:
            if run.line is not None and run.line not in runs and len(runs) < MAX_RUNS_LISTED:
                could_be = list(run.could_be)
                runs[run.line] = ListedRun(run.line, run.workload, run.operation, could_be, part.name)
    return list(runs.values())


def _refused_runs(refused: Sequence[Refusal]) -> list[RefusedRun]:
    listed = [RefusedRun(refusal.line, refusal.reason) for refusal in refused[:MAX_FAULTS]]
    if (more := len(refused) - len(listed)) > 0:
        listed.append(RefusedRun(None, f"and {more:,} more"))
    return listed


def _facts(reading: Reading, file_name: str) -> list[dict[str, Any]]:
    """Return a file's facts; a folder in its name tells whether they are the host's or the guest's."""
    side = next((part for part in file_name.split("/")[:-1] if part in ("host", "guest")), "")
    facts = [asdict(fact) for fact in reading.facts]
    for fact in facts:
        if fact["fills"] in ("fs", "mount_options"):
            fact["fills"] = f"{side}_{fact['fills']}" if side else ""
    return facts
