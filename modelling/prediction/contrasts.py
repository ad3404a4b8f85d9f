"""Read pairs of configurations from a CSV file, and write their forecasts."""

import csv
import io
from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields
from math import isfinite

from kdb.host_storage import FILE, host_storage_key, host_storage_parts
from modelling.estimation.bayes import Mixture
from modelling.estimation.cells import CONTAINER, choices, load_class
from modelling.estimation.hierarchy import Knowledge
from modelling.evidence import names

from .content import PairForecast

SIDE = ("hypervisor", "guest_fs", "host_storage", "cache_mode", "image_format", "disk_bus", "io_mode", "allocation")
LOAD = ("id", "workload", "operation", "block_size", "storage", "vm_count")
COLUMNS = (*LOAD, *(f"{name}_{side}" for side in "ab" for name in SIDE))
QUANTILES = (0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975)
ACTUAL = "actual_ln_ratio"  # optional; the forecast then has its log density there
_NUMBERS = (
    *(field.name for field in fields(PairForecast)),
    *(f"q{100 * share:g}" for share in QUANTILES),
    "log_density",
)
ANSWER = ("id", "answered", *_NUMBERS)
_KIND = {"hypervisor": "hypervisor_or_native", "guest_fs": "file_system", "host_storage": "host_storage"}


class ContrastsError(Exception):
    """The file is malformed; the text says where and why, and is fit to show."""


class UnknownNameError(ContrastsError):
    """A row has a name that the catalogue lacks."""


@dataclass(frozen=True)
class Contrast:
    """One row. a, b, where : as for content.forecast_pair"""

    a: dict[str, str]
    b: dict[str, str]
    where: dict[str, str]


def rows(text: str) -> Iterator[dict[str, str]]:
    """Yield the rows of a file, "" for empty cells. Raises ContrastsError on wrong columns or cells."""
    reader = csv.DictReader(io.StringIO(text))
    present = reader.fieldnames or []
    if missing := [name for name in COLUMNS if name not in present]:
        raise ContrastsError(f"line 1: the columns {', '.join(missing)} are missing; allowed are {', '.join(COLUMNS)}")
    if other := [name for name in present if name not in (*COLUMNS, ACTUAL)]:
        raise ContrastsError(f"line 1: {', '.join(map(repr, other))} is no column; allowed are {', '.join(COLUMNS)}")
    for row in reader:
        if None in row or None in row.values():
            raise ContrastsError(f"line {reader.line_num}: {len(present)} cells are expected, as in line 1")
        cells = {name: value.strip() for name, value in row.items()}
        if cells.get(ACTUAL) and not _is_number(cells[ACTUAL]):
            raise ContrastsError(f"line {reader.line_num}: {ACTUAL}: {cells[ACTUAL]!r} is no number")
        yield cells


def contrast_of(row: dict[str, str], known: Knowledge) -> Contrast:
    """Return the contrast of a row. known : what is asked for its forecast. Raises UnknownNameError."""
    workload = _slug("workload", "workload", row["workload"])
    where = {"workload": workload, "load": load_class(workload, row["operation"])}
    where["storage"] = _slug("storage", "storage", row["storage"])
    return Contrast(_side(row, "a", known), _side(row, "b", known), where)


def answer(row: dict[str, str], forecast: tuple[PairForecast, Mixture] | str) -> list[str]:
    """Return the cells of ANSWER. forecast : with its distribution, or the reason why there is none"""
    if isinstance(forecast, str):
        return [row["id"], forecast, *[""] * len(_NUMBERS)]
    pair, prediction = forecast
    actual = row.get(ACTUAL, "")
    numbers = [*astuple(pair), *(prediction.quantile(share) for share in QUANTILES)]
    numbers.append(prediction.log_density(float(actual)) if actual else "")
    return [row["id"], "yes", *(f"{cell:.6g}" if isinstance(cell, float) else str(cell) for cell in numbers)]


def _is_number(text: str) -> bool:
    try:
        return isfinite(float(text))
    except ValueError:
        return False


def _side(row: dict[str, str], side: str, known: Knowledge) -> dict[str, str]:
    stated = {}
    for name in SIDE:
        column = f"{name}_{side}"
        stated[name] = _slug(_KIND[name], column, row[column]) if name in _KIND else row[column].casefold()
    storage = stated.pop("host_storage")
    stated["backend"], stated["host_fs"] = host_storage_parts(storage) if storage else ("", "")
    shares = stated["hypervisor"] in known.containers
    return choices(stated | {"virtualisation": CONTAINER if shares else ""}, known.networked)


def _slug(kind: str, column: str, name: str) -> str:
    if not name:
        return ""
    slug = names.slug_for(kind, name)
    if slug is None and kind == "host_storage" and (host_fs := names.slug_for("file_system", name)):
        slug = host_storage_key(FILE, host_fs)
    if slug is None:
        raise UnknownNameError(f"{column}: {name!r} is no {kind.split('_or_')[0].replace('_', ' ')} of the catalogue")
    return slug
