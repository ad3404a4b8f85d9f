"""Put an import's report into sentences, for pages and terminals."""

from collections.abc import Iterator
from typing import Any

from experiments.models import ImportBatch

from .manifest import file_count

MAX_KNOWN = 20  # files named that came in before


def fault_sentence(fault: dict[str, Any]) -> str:
    """Return "run.csv, line 3, unit: found KB/s, expected is one of MiB/s, MB/s, ops/s, ms (and 4 more lines)"."""
    place = ", ".join(
        part for part in (fault["file"], fault["line"] and f"line {fault['line']}", fault["field"]) if part
    )
    more = f" (and {fault['count'] - 1:,} more)" if fault["count"] > 1 else ""
    return f"{place}: found {fault['found']}, expected is {fault['expected']}{more}"


def unknown_sentence(unknown: dict[str, Any]) -> str:
    place = f"{unknown['file']}, line {unknown['line']}" if unknown["line"] else unknown["file"]
    if unknown["kind"] == "column":
        return f"{place}: {unknown['name']!r} is no column of the template: say what it holds, or that it is ignored"
    return f"{place}: {unknown['name']!r} is no {unknown['kind'].replace('_', ' ')} of the catalogue"


def summary(batch: ImportBatch) -> str:
    """Return the state of the import as one sentence."""
    if batch.state == ImportBatch.State.FILED and "rows" not in batch.report:
        return f"{file_count(batch.files.count())} of a bundle: in the case study {batch.case_study.slug}."
    rows, files = batch.report.get("rows", 0), batch.report.get("files", [])
    amount = f"{rows:,} {'measurement' if rows == 1 else 'measurements'} from {file_count(len(files))}"
    match batch.state:
        case ImportBatch.State.FILED:
            return f"{amount}: in the case study {batch.case_study.slug}."
        case ImportBatch.State.READY:
            return f"{amount} would come in; nothing is filed before it is confirmed."
        case ImportBatch.State.FAULTY:
            return f"Nothing was filed: {_error_count(batch.report)}."
        case ImportBatch.State.DISCARDED:
            return "Discarded: nothing of it is in the case study."
        case _:
            return f"Reading failed: {batch.why_not_read}" if batch.why_not_read else "Being read."


def report_lines(batch: ImportBatch) -> Iterator[str]:
    """Yield the whole report as plain lines."""
    report = batch.report
    yield f"{str(batch).capitalize()}: {summary(batch)}"
    yield from (f"  {line}" for line in report.get("patterns", []))
    files = report.get("files", [])
    shown = [file for file in files if file["refused"] or file["warnings"] or not report.get("patterns")]
    if len(shown) < len(files):
        yield f"  {len(files) - len(shown):,} files without a remark"
    for file in shown:
        tool = " ".join(filter(None, (file["format"] or "unknown format", file["tool_version"])))
        outcome = "left out" if file["left_out"] else f"{tool}, {file['rows']:,} rows"
        yield f"  {file['name']}: {outcome}"
        for part in file.get("parts", []):
            yield f"    part {part['name']}, line {part['line']}: runs {part['runs']:,}"
        for refusal in file["refused"]:
            yield f"    refused{_on_line(refusal['line'])}: {refusal['reason']}"
        for warning in file["warnings"]:
            yield f"    warning{_on_line(warning['line'])}: {warning['warning']}"
    known = report.get("known", [])
    for file in known[:MAX_KNOWN]:
        yield f"  {file['name']}: the same bytes came in with import {file['import']}"
    if len(known) > MAX_KNOWN:
        yield f"  {len(known) - MAX_KNOWN:,} further files came in before"
    for fault in report.get("faults", []):
        yield f"  error: {fault_sentence(fault)}"
    for unknown in report.get("unknown", []):
        yield f"  unknown: {unknown_sentence(unknown)}"
    for finding in report.get("lint", []):
        yield f"  {finding['severity']} ({finding['rule']}): {finding['message']}"
    if report.get("new_configurations"):
        yield f"  new configurations: {', '.join(report['new_configurations'])}"


def _on_line(line: int | None) -> str:
    return f", line {line}" if line else ""


def _error_count(report: dict[str, Any]) -> str:
    errors = report.get("fault_count", 0) + sum(finding["severity"] == "error" for finding in report.get("lint", []))
    parts = []
    if errors:
        parts.append("1 error" if errors == 1 else f"{errors:,} errors")
    if unknown := len(report.get("unknown", [])):
        parts.append("1 unknown name" if unknown == 1 else f"{unknown:,} unknown names")
    return " and ".join(parts) or "the files hold no measurement"
