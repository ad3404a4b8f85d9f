"""The page of one number: what it is of, where it stands, and every run beside it."""

from dataclasses import dataclass

from experiments.models import CaseStudy, DerivedValue, Measurement, RawFile
from experiments.templatetags.kdb_format import block_size, derivation, number, vm_count

from .tables import FACTS, provenance

MOST_RUNS = 200
_CELL = ("configuration", "variant", "operation", "block_size_bytes", "vm_count", "metric", "unit", "reference")


@dataclass(frozen=True)
class NumberPage:
    """One number, whose value is "10.5 MiB/s"; provenance : a sentence; facts : name to text, those that are stated

    runs : of a measurement every number of its cell, itself too; derivation of a derived value is among its facts
    """

    number: Measurement | DerivedValue
    case_study: CaseStudy
    value: str
    provenance: str
    facts: list[tuple[str, str]]
    configuration: list[tuple[str, str]]
    runs: list[Measurement]
    file: RawFile | None  # that it was read from


def of_measurement(row: Measurement) -> NumberPage:
    """Return the page of a measurement."""
    alike = {name: getattr(row, name) for name in _CELL}
    runs = Measurement.objects.filter(**alike).order_by("repetition", "machine")[:MOST_RUNS]
    facts = [
        ("Run", str(row.repetition)),
        ("Machine", f"{row.machine} of {row.vm_count}" if row.machine else ""),
        ("Other reading", _with_unit(row.alternative_value, row.unit)),
    ]
    return _page(row, _with_unit(row.value, row.unit), provenance([row]), facts, list(runs))


def of_derived(row: DerivedValue) -> NumberPage:
    """Return the page of a value that follows from a text."""
    facts = [
        ("Low", _with_unit(row.low, row.unit)),
        ("High", _with_unit(row.high, row.unit)),
        ("Follows from", row.route),
        ("By", row.formula),
    ]
    return _page(row, _with_unit(row.value, row.unit) or row.get_quantity_display(), derivation(row), facts, [])


def _page(
    row: Measurement | DerivedValue, value: str, where: str, facts: list[tuple[str, str]], runs: list[Measurement]
) -> NumberPage:
    variant, configuration = row.variant, row.configuration
    parameters = ", ".join(f"{name} {text}" for name, text in sorted(variant.parameters.items()))
    common = [
        ("Workload", variant.workload.name),
        ("Benchmark", f"{variant.benchmark.name} {variant.benchmark_version}".strip()),
        ("Parameters", parameters),
        ("Operation", row.operation),
        ("Block size", block_size(row.block_size_bytes) if row.block_size_bytes else ""),
        ("Ran on", vm_count(row.vm_count)),
        ("Metric", row.get_metric_display()),
        ("Ratio to", row.reference),
        *facts,
        ("Note", row.note),
    ]
    return NumberPage(
        number=row,
        case_study=configuration.case_study,
        value=value,
        provenance=where,
        facts=[(name, text) for name, text in common if text],
        configuration=[(name, text) for name, fact in FACTS if (text := fact(configuration))],
        runs=runs,
        file=getattr(row, "raw_file", None),
    )


def _with_unit(value: float | None, unit: str) -> str:
    return "" if value is None else f"{number(value)} {unit}"
