"""Plausibility of results before they are published: named rules over plain facts. No database, no Django.

A rule never drops data. An error blocks the import; a warning is kept with it and shown. The thresholds
are explained, rule by rule, in docs/models/lint.md.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any, Literal

from experiments.rules import plausibility
from experiments.rules.concurrency import DEPTHS, JOBS
from experiments.rules.protocol import (
    BELOW_MINIMUM,
    LEAST_RUNS,
    WHOLE_SECONDS,
    Number,
    files_bytes,
    is_anecdote,
    is_direct,
    memories,
    memory_of,
    positive,
    seconds_of,
)
from kdb.units import convert

Severity = Literal["error", "warning"]

MAX_PLACES = 5  # cells named by a finding

# MiB/s that no storage and no cache of one server has: twice the memory bandwidth of the largest machines of 2025.
IMPOSSIBLE_THROUGHPUT = 1_000_000.0
# Repeated numbers say nothing of spread; two may be equal by chance where few digits are printed.
IDENTICAL_RUNS = 3
# Greatest over least value of one cell from which its runs may be of several systems.
WIDE_SPREAD = 2.0
# Concurrency implied by rate and latency, over the one stated. A thread has one operation in flight at a time, so more
# than stated means a wrong unit or another count of threads; the factor leaves room for rounding.
CONCURRENCY_EXCESS = 2.0
# How near a ratio must lie to 1.048576, 1024 or 1000 to look like a unit and not like a result.
UNIT_TOLERANCE = 0.001


@dataclass(slots=True)
class Cell:
    """All values of one metric in one cell of a case study: those of the import and those there already.

    configuration : its key in DraftFacts.configurations
    machine : which of the vm_count machines the values are of; None: not of one alone
    workload, benchmark, benchmark_version, parameters : of the workload variant
    place : "run1.json, line 3" of the first value
    count, least, greatest, total : of the values that count, in `unit`, all > 0
    zero_deviations : how many of them state a standard deviation of zero
    runs : behind the values, 0: not stated; deviations : how many of them state a standard deviation
    working_set_bytes : size of all files the load works on, where a file tells
    """

    configuration: str
    workload: str
    benchmark: str
    benchmark_version: str
    parameters: Mapping[str, Any]
    operation: str
    block_size_bytes: int | None
    vm_count: int
    machine: int | None
    metric: str
    unit: str
    place: str
    count: int = 0
    least: float = inf
    greatest: float = 0.0
    total: float = 0.0
    zero_deviations: int = 0
    working_set_bytes: int | None = None
    runs: int = 0
    deviations: int = 0

    @property
    def mean(self) -> float:
        return self.total / self.count


@dataclass(frozen=True)
class DraftFacts:
    """The facts of a draft that the rules look at.

    configurations : key to fields of Configuration (hypervisor, host_fs, guest_fs, vm_ram_gib, ...), catalogue
        entries as slugs, missing as None or ""
    disks : of the case study; value_scope of CaseStudy.Scope
    run_seconds, repetitions : length of one run, runs averaged, None: not stated
    is_described : whether the case study says how it was measured
    whole_seconds : length from which a run is long enough
    """

    cells: tuple[Cell, ...]
    configurations: Mapping[str, Mapping[str, Any]]
    server_ram_gib: float | None = None
    disks: plausibility.Disks = field(default_factory=plausibility.Disks)
    value_scope: str = ""
    run_seconds: float | None = None
    repetitions: int | None = None
    is_described: bool = False
    whole_seconds: float = WHOLE_SECONDS


@dataclass(frozen=True)
class LintFinding:
    """One thing that looks wrong. places : the first cells it was seen in, at most MAX_PLACES."""

    rule: str
    severity: Severity
    message: str
    places: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rule:
    """One rule: `look` yields (message, cells) for each thing that looks wrong."""

    name: str
    severity: Severity
    look: Callable[[DraftFacts], Iterator[tuple[str, list[Cell]]]]


def check(facts: DraftFacts) -> list[LintFinding]:
    """Return everything that looks wrong: errors first, then warnings, each in the order of RULES."""
    findings = []
    for rule in RULES:
        for message, cells in rule.look(facts):
            places = tuple(dict.fromkeys(cell.place for cell in cells))
            more = f" ({len(cells)} cells)" if len(cells) > 1 else ""
            findings.append(LintFinding(rule.name, rule.severity, f"{message}{more}", places[:MAX_PLACES]))
    return sorted(findings, key=lambda finding: finding.severity != "error")


# The rules


def impossible_throughput(facts: DraftFacts) -> Iterator[tuple[str, list[Cell]]]:
    """A throughput beyond what the memory of any server moves cannot have been measured: the unit is wrong."""
    cells = [
        cell
        for cell in facts.cells
        if cell.metric == "throughput"
        and convert(cell.greatest, cell.unit, "MiB/s") * _machines(cell, facts) > IMPOSSIBLE_THROUGHPUT
    ]
    if cells:
        most = max(cells, key=lambda cell: cell.greatest)
        yield (
            f"{most.greatest:g} {most.unit} is more than the memory of any server moves "
            f"({IMPOSSIBLE_THROUGHPUT:g} MiB/s); is the unit right?",
            cells,
        )


def implausible_for_disks(facts: DraftFacts) -> Iterator[tuple[str, list[Cell]]]:
    """A value at which different systems stop, or above what the disks can do, shows a clock, a limit or a cache."""
    by_kind: dict[str, list[tuple[plausibility.MeasuredValue, plausibility.Flag]]] = defaultdict(list)
    for value, flag in plausibility.implausible(_measured_value(cell, facts) for cell in facts.cells):
        by_kind[flag.kind].append((value, flag))
    for kind, flagged in sorted(by_kind.items()):
        most, flag = max(flagged, key=lambda pair: (pair[0].moved or 0.0, pair[1].reason, pair[0].configuration))
        cells = [value.key for value, _ in flagged]
        yield f"{kind}: {most.configuration}, {most.key.workload}: {flag.reason}", cells


def _measured_value(cell: Cell, facts: DraftFacts) -> plausibility.MeasuredValue:
    described, number = facts.configurations.get(cell.configuration, {}), _number(cell, facts)
    return plausibility.MeasuredValue(
        key=cell,
        configuration=cell.configuration,
        load=_run_key(cell)[1:7],
        group=(cell.vm_count, cell.machine, cell.metric, cell.unit),
        value=cell.mean,
        unit=cell.unit,
        metric=cell.metric,
        block_size_bytes=cell.block_size_bytes,
        machines=_machines(cell, facts),
        is_direct=number.passes_caches,
        fits=number.fits_memory,
        disks=facts.disks.under(described.get("storage_kind") or "", described.get("below") or ""),
    )


def _number(cell: Cell, facts: DraftFacts) -> Number:
    """Return what is known of a cell's files and memory."""
    described = facts.configurations.get(cell.configuration, {})
    is_native, guest_gib = not described.get("hypervisor"), described.get("vm_ram_gib")
    guest, host = memory_of(cell.parameters, is_native=is_native, guest_gib=guest_gib, host_gib=facts.server_ram_gib)
    return Number(
        files_bytes=working_set_bytes(cell),
        machines=cell.vm_count,
        guest_bytes=guest,
        host_bytes=host,
        is_direct=is_direct(cell.parameters),
        cache_mode=None if is_native else described.get("cache_mode") or "",
    )


def fits_into_memory(facts: DraftFacts) -> Iterator[tuple[str, list[Cell]]]:
    """A working set smaller than the memory of the guest or of the host can be read from it: the disk was
    hardly measured."""
    for (configuration, workload), cells in _group_by(facts, "configuration", "workload").items():
        sized = [(size, cell) for cell in cells if (size := working_set_bytes(cell))]
        size, cell = min(sized, key=lambda pair: pair[0], default=(0, cells[0]))
        number = _number(cell, facts)
        if number.fits_memory:
            whose, memory = next((whose, memory) for whose, of_all, memory in memories(number) if of_all < memory)
            told = f"{size / 2**20:.4g} MiB" + (
                f" on each of {number.machines} machines" if number.machines > 1 else ""
            )
            where = f"the {memory / 2**30:g} GiB of {whose}"
            yield f"{configuration}, {workload}: the files take {told}, less than {where}", [cell for _, cell in sized]


def identical_repetitions(facts: DraftFacts) -> Iterator[tuple[str, list[Cell]]]:
    """Repetitions that are all equal, or a standard deviation of zero, look copied: they say nothing of spread."""
    same = [cell for cell in facts.cells if cell.count >= IDENTICAL_RUNS and cell.least == cell.greatest]
    if same:
        yield f"{same[0].count} repetitions are all {same[0].least:g} {same[0].unit}", same
    zero = [cell for cell in facts.cells if cell.zero_deviations]
    if zero:
        yield "a standard deviation of 0 is stated; leave it empty where it is not known", zero


def wide_spread(facts: DraftFacts) -> Iterator[tuple[str, list[Cell]]]:
    """Repetitions of which one is twice another, or more, may not have measured the same thing."""
    wide = [cell for cell in facts.cells if cell.greatest >= WIDE_SPREAD * cell.least]
    if wide:
        worst = max(wide, key=lambda cell: cell.greatest / cell.least)
        yield f"repetitions of one cell go from {worst.least:g} to {worst.greatest:g} {worst.unit}", wide


def littles_law(facts: DraftFacts) -> Iterator[tuple[str, list[Cell]]]:
    """Rate times latency is the number of operations in flight, which cannot exceed threads times queue depth."""
    broken = []
    for rate, latency in _pairs_of_metrics(facts, "operation_rate", "latency"):
        stated = concurrency(rate.parameters)
        if stated is None or rate.parameters.get("latency_of") == "reads and writes":
            continue  # that latency leaves operations out (Filebench up to 1.5)
        most = stated * (1 if _is_single_machine(rate, facts) else max(rate.vm_count, 1))
        implied = rate.mean * latency.mean / 1000
        if implied > CONCURRENCY_EXCESS * most:
            broken.append((implied / most, implied, most, rate))
    if broken:
        _, implied, most, rate = max(broken, key=lambda excess: excess[0])
        yield (
            f"{rate.configuration}, {rate.workload}: {rate.mean:g} ops/s times the latency make {implied:.3g} "
            f"operations under way, where {most:g} can be; is a unit wrong?",
            [rate for *_, rate in broken],
        )


def unit_suspicion(facts: DraftFacts) -> Iterator[tuple[str, list[Cell]]]:
    """Throughput that differs from rate times block size by a power of 1000 or 1024 is in another unit than it says;
    so may be throughput of one workload that is given in MB/s and in MiB/s."""
    factors = {1000.0: "KB for MB", 1024.0: "KiB for MiB", 2**20 / 1e6: "MB for MiB", 8.0: "bits for bytes"}
    wrong: dict[str, list[Cell]] = defaultdict(list)
    for rate, throughput in _pairs_of_metrics(facts, "operation_rate", "throughput"):
        if not throughput.block_size_bytes:
            continue
        moved = rate.mean * throughput.block_size_bytes / 2**20
        ratio = convert(throughput.mean, throughput.unit, "MiB/s") / moved
        for factor, words in factors.items():
            if any(abs(ratio / f - 1) < UNIT_TOLERANCE for f in (factor, 1 / factor)):
                wrong[words].append(throughput)
    for words, cells in wrong.items():
        yield f"throughput and rate times block size disagree as {words} do", cells
    for (workload,), cells in _group_by(facts, "workload").items():
        units = {cell.unit for cell in cells if cell.metric == "throughput"}
        if len(units) > 1:
            yield (
                f"{workload}: throughput is given in {' and in '.join(sorted(units))}; they are not compared",
                [cell for cell in cells if cell.metric == "throughput"],
            )


def different_machines(facts: DraftFacts) -> Iterator[tuple[str, list[Cell]]]:
    """Virtual machines of different sizes or with different guest systems do not compare their storage fairly."""
    used = {cell.configuration for cell in facts.cells}
    for name, words in (
        ("vm_vcpus", "virtual processors"),
        ("vm_ram_gib", "memory of a machine, GiB"),
        ("guest_os", "guest system"),
        ("guest_kernel", "guest kernel"),
        ("virtualisation", "virtualisation"),
    ):
        values: dict[Any, list[str]] = defaultdict(list)
        for slug, fields in facts.configurations.items():
            if slug in used and fields.get("hypervisor") and fields.get(name) not in (None, ""):
                values[fields[name]].append(slug)
        if len(values) > 1:
            sizes = "; ".join(f"{value} in {', '.join(slugs[:3])}" for value, slugs in values.items())
            slugs = {slug for group in values.values() for slug in group}
            yield f"{words}: {sizes}", [cell for cell in facts.cells if cell.configuration in slugs]


def mixed_versions(facts: DraftFacts) -> Iterator[tuple[str, list[Cell]]]:
    """Two versions of a benchmark are two benchmarks: Filebench 1.4.9.1 and 1.5 differ by a factor of four on
    the same disk."""
    for (workload, benchmark), cells in _group_by(facts, "workload", "benchmark").items():
        versions = sorted({cell.benchmark_version or "not stated" for cell in cells})
        if len(versions) > 1:
            yield f"{workload}: {benchmark} {' and '.join(versions)} are not compared with each other", cells


def changed_parameters(facts: DraftFacts) -> Iterator[tuple[str, list[Cell]]]:
    """The same load with other parameters is another load: its values are not compared."""
    for (workload, benchmark, version), cells in _group_by(facts, "workload", "benchmark", "benchmark_version").items():
        variants = {tuple(sorted(cell.parameters.items(), key=str)): cell.parameters for cell in cells}
        if len(variants) > 1:
            names = {name for parameters in variants.values() for name in parameters}
            differences = []
            for name in sorted(names):
                values = {str(parameters.get(name, "not stated")) for parameters in variants.values()}
                if len(values) > 1:
                    differences.append(f"{name} {', '.join(sorted(values)[:4])}")
            yield f"{workload} by {benchmark} {version}: {'; '.join(differences[:4])}".replace(" :", ":"), cells


def below_minimum(facts: DraftFacts) -> Iterator[tuple[str, list[Cell]]]:
    """A number that was neither repeated, nor measured for long, nor described is an anecdote: it is kept and shown,
    and no answer counts it."""
    below = [cell for cell in facts.cells if _is_below_minimum(cell, facts)]
    if below:
        yield (
            "below the minimum: neither repeated, nor of runs known to be long enough "
            f"({facts.whole_seconds:g} s), nor described. As it stands it is kept and shown as an anecdote and counts "
            "in no answer. Bring in more runs, or state their length or how it was measured",
            below,
        )


def _is_below_minimum(cell: Cell, facts: DraftFacts) -> bool:
    seconds = facts.run_seconds if facts.run_seconds is not None else seconds_of(cell.parameters)
    runs = cell.count if cell.count >= LEAST_RUNS else cell.runs or facts.repetitions
    return is_anecdote(runs, cell.deviations > 0 and bool(runs), seconds, facts.is_described, facts.whole_seconds)


RULES = (
    Rule("impossible throughput", "error", impossible_throughput),
    Rule("no disk's number", "warning", implausible_for_disks),
    Rule(BELOW_MINIMUM, "warning", below_minimum),
    Rule("fits into memory", "warning", fits_into_memory),
    Rule("identical repetitions", "warning", identical_repetitions),
    Rule("wide spread", "warning", wide_spread),
    Rule("Little's law", "warning", littles_law),
    Rule("unit", "warning", unit_suspicion),
    Rule("different machines", "warning", different_machines),
    Rule("mixed versions", "warning", mixed_versions),
    Rule("changed parameters", "warning", changed_parameters),
)


# What the parameters of a load say


def working_set_bytes(cell: Cell) -> int | None:
    """Return the size of the files a load works on: as the file tells, or its parameters; None where neither does."""
    return cell.working_set_bytes or files_bytes(cell.parameters)


def concurrency(parameters: Mapping[str, Any]) -> float | None:
    """Return how many operations can be in flight: threads or jobs, times queue depth; None where neither is stated."""
    workers, depth = (
        next((positive(parameters[name]) for name in names if name in parameters), None) for names in (JOBS, DEPTHS)
    )
    return None if workers is None else workers * (depth or 1)


# Cells in groups


def _machines(cell: Cell, facts: DraftFacts) -> int:
    """Return by how many machines a value is multiplied to get the storage's total: 1 where it may be the total."""
    return max(cell.vm_count, 1) if _is_single_machine(cell, facts) else 1


def _is_single_machine(cell: Cell, facts: DraftFacts) -> bool:
    return cell.machine is not None or facts.value_scope == "per-vm"


def _group_by(facts: DraftFacts, *names: str) -> dict[tuple[Any, ...], list[Cell]]:
    groups: dict[tuple[Any, ...], list[Cell]] = defaultdict(list)
    for cell in facts.cells:
        groups[tuple(getattr(cell, name) for name in names)].append(cell)
    return dict(sorted(groups.items()))


def _pairs_of_metrics(facts: DraftFacts, one: str, other: str) -> Iterator[tuple[Cell, Cell]]:
    """Yield the cells of both metrics of each group of runs that has both."""
    groups: dict[tuple[Any, ...], dict[str, Cell]] = defaultdict(dict)
    for cell in facts.cells:
        groups[_run_key(cell)][cell.metric] = cell
    yield from ((cells[one], cells[other]) for cells in groups.values() if one in cells and other in cells)


def _run_key(cell: Cell) -> tuple[Any, ...]:
    """Return the key that all metrics of the same runs share: configuration, load, machines."""
    variant = (cell.workload, cell.benchmark, cell.benchmark_version, str(sorted(cell.parameters.items(), key=str)))
    return (cell.configuration, *variant, cell.operation, cell.block_size_bytes, cell.vm_count, cell.machine)
