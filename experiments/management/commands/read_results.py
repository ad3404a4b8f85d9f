"""Print what result files hold, without a database."""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management import BaseCommand

from experiments import readers
from experiments.imports.normalise import FIGURES, convert_to_canonical
from experiments.readers import archives, table
from experiments.readers.base import MAX_BYTES, Reading, Refusal, Run
from experiments.readers.reading_process import NotRead, ReadingProcess
from experiments.readers.table_columns import PARAMETER
from kdb.units import LATENCY, METRICS, measures


class Command(BaseCommand):
    help = (
        "Read result files and print what they hold. A file is ok where a run or a fact was read and none was "
        "refused; the exit status is 0 where all are. ZIPs are opened; nothing is stored."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("files", nargs="+", metavar="FILE")
        parser.add_argument("--json", action="store_true", help="One JSON line a file.")

    def handle(self, *args: Any, **options: Any) -> None:
        write = self._json if options["json"] else self._plain
        is_all_ok = True
        with ReadingProcess() as process:
            for name in options["files"]:
                for label, reading in _readings(name, process):
                    is_ok = bool(reading.runs or reading.facts) and not reading.refused
                    is_all_ok &= is_ok
                    write(label, reading, is_ok)
        if not is_all_ok:
            sys.exit(1)

    def _json(self, label: str, reading: Reading, is_ok: bool) -> None:
        runs = [
            {
                "workload": run.workload,
                "benchmark": run.benchmark or reading.benchmark,
                "operation": run.operation or None,
                "could_be": list(run.could_be),
                "block_size_bytes": run.block_size_bytes,
                "parameters": dict(run.parameters),
                "metrics": [metric for metric, attribute in FIGURES if getattr(run, attribute) is not None],
                "throughput_mib_s": run.throughput_mib_s,
                "ops_per_s": run.ops_per_s,
                "latency_ms": run.latency_ms,
                "percentiles_ms": dict(run.percentiles_ms),
                "duration_s": run.duration_s,
                "line": run.line,
                "warnings": list(run.warnings),
            }
            for run in reading.runs
        ]
        line = {
            "file": label,
            "ok": is_ok,
            "format": reading.format,
            "tool_version": reading.tool_version,
            "runs": runs,
            "facts": [asdict(fact) for fact in reading.facts],
            "refused": [{"line": refusal.line, "reason": refusal.reason} for refusal in reading.refused],
        }
        self.stdout.write(json.dumps(line, allow_nan=False))

    def _plain(self, label: str, reading: Reading, is_ok: bool) -> None:
        tool = " ".join(filter(None, (reading.format or "unknown format", reading.tool_version)))
        self.stdout.write(f"{label}: {tool}")
        for run in reading.runs:
            load = " ".join(filter(None, (run.workload or "unnamed load", run.operation or " or ".join(run.could_be))))
            self.stdout.write(f"  {_place(run.line)}{load}: {_figures(run)}")
            for warning in run.warnings:
                self.stdout.write(f"    {warning}")
        for fact in reading.facts:
            self.stdout.write(f"  {_place(fact.line)}{fact.about}: {fact.name} {fact.value}")
        for refusal in reading.refused:
            self.stdout.write(f"  {_place(refusal.line)}refused: {refusal.reason}")


def _place(line: int | None) -> str:
    return f"line {line}, " if line else ""


def _figures(run: Run) -> str:
    figures = (
        (run.throughput_mib_s, "MiB/s"),
        (run.ops_per_s, "ops/s"),
        (run.latency_ms, "ms"),
        (run.duration_s, "s long"),
    )
    return ", ".join(f"{value:g} {unit}" for value, unit in figures if value is not None) or "no figures"


def _readings(name: str, process: ReadingProcess) -> Iterator[tuple[str, Reading]]:
    """Yield the label and the reading of a file, or of each member of a ZIP."""
    try:
        with Path(name).open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        yield name, _refused(f"the file cannot be opened: {getattr(error, 'strerror', None) or error}")
        return
    if not archives.is_archive(data) or len(data) > MAX_BYTES:
        yield name, _reading(data, process)
        return
    try:
        for member in archives.members(Path(name).name, data):
            yield f"{name}/{member.name}", _reading(member.data, process)
    except archives.ArchiveError as error:
        yield name, _refused(str(error))


def _reading(data: bytes, process: ReadingProcess) -> Reading:
    if len(data) > MAX_BYTES:
        return readers.read(data)  # refuses it for its size, without starting a process
    process.forget()
    try:
        content = process.content(process.read([data], lambda: None))
    except NotRead as problem:
        return _refused("reading it takes {}; expected is {}".format(*problem.args))
    return _reading_of_table(content) if isinstance(content, table.Table) else content


def _reading_of_table(content: table.Table) -> Reading:
    """Return a table's rows as runs of one figure each; whether their names are known needs the database."""
    runs, refused = [], [_refusal(fault) for fault in (*content.faults, *content.unknown)]
    for item in content.rows():
        if isinstance(item, table.Fault):
            refused.append(_refusal(item))
            continue
        line, cells = item
        row = dict(zip(content.fields, cells, strict=True))
        unit, named = str(row.get("unit", "")), str(row.get("metric", ""))
        try:
            metric, value = convert_to_canonical(row.get("value", ""), unit)
        except ValueError as error:
            refused.append(Refusal(line, str(error)))
            continue
        if named in METRICS and measures(unit, named):
            metric = named  # a percentile has the unit of a latency
        figures = {metric: value}
        percentiles = {f"p{nth}": figures[name] for nth in (50, 95, 99) if (name := f"{LATENCY}_p{nth}") in figures}
        has_field = percentiles or metric in ("throughput", "operation_rate", LATENCY, "duration")
        runs.append(
            Run(
                str(row.get("workload", "")),
                line,
                operation=str(row.get("operation") or "mixed"),
                block_size_bytes=_whole_number(row.get("block_size_bytes", "")),
                benchmark=str(row.get("benchmark", "")),
                parameters=_parameters(row),
                throughput_mib_s=figures.get("throughput"),
                ops_per_s=figures.get("operation_rate"),
                latency_ms=figures.get(LATENCY),
                duration_s=figures.get("duration"),
                percentiles_ms=percentiles,
                warnings=() if has_field else (f"{metric}: {value:g} {METRICS[metric].unit}",),
            )
        )
    return Reading(content.format, runs=tuple(runs), refused=tuple(refused))


def _whole_number(cell: table.Cell) -> int | None:
    text = str(cell).removesuffix(".0")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else None


def _parameters(row: dict[str, table.Cell]) -> dict[str, table.Cell]:
    cells = {name: cell for name, cell in row.items() if name.startswith(PARAMETER) and cell != ""}
    try:
        parameters = json.loads(str(row.get("parameters") or "{}"))
    except (ValueError, RecursionError):
        parameters = None
    return {
        **(parameters if isinstance(parameters, dict) else {}),
        **{name.removeprefix(PARAMETER): cell for name, cell in cells.items()},
    }


def _refusal(fault: table.Fault) -> Refusal:
    return Refusal(fault.line, f"{fault.field}: found {fault.found}, expected is {fault.expected}")


def _refused(reason: str) -> Reading:
    return Reading("", refused=(Refusal(None, reason),))
