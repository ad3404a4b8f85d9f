"""Hold what a machine reached against others: one load with the same stated parameters, on disks of the same kind."""

from collections import defaultdict
from dataclasses import dataclass
from math import exp
from statistics import median
from typing import Any

from experiments.models import CaseStudy
from experiments.models.case_study import laboratory
from experiments.models.testbed import storage_kind
from kdb.cost import budget
from kdb.units import METRICS
from modelling.models import Arm

from .words import STORAGE

MOST = 10  # loads to show, those with the most other laboratories first
# What must be equal, and stands in the line; then what must be equal beside it.
_SHOWN = ("variant__workload__name", "operation", "block_size_bytes", "vm_count", "configuration__hypervisor__name")
_HELD = ("variant", "reference", "metric", "unit", "kind")


@dataclass(frozen=True)
class LikeMachines:
    """The level of a machine among those of other laboratories, each by the median of its configurations.

    load : values of _SHOWN by name; slower : number of others that were slower; low, high : of the others
    """

    load: dict[str, Any]
    kind: str
    value: float
    unit: str
    others: int
    slower: int
    low: float
    high: float


def like_machines(case_study: CaseStudy) -> list[LikeMachines]:
    """Return the loads that other laboratories ran, too. A load without stated parameters is like no other."""
    whose = laboratory("configuration__case_study__")
    published = Arm.objects.filter(configuration__case_study__status="published").exclude(is_implausible=True)
    own = published.filter(configuration__case_study=case_study).exclude(variant__parameters={}).annotate(whose=whose)
    mine = own.values_list("whose", flat=True).first()
    rows = published.filter(variant__in=own.values("variant")).annotate(kind=storage_kind("configuration__"))
    levels: dict[tuple[Any, ...], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for *key, name, mean_log in rows.exclude(kind="").values_list(*_SHOWN, *_HELD, whose, "mean_log"):
        budget.check()
        levels[tuple(key)][name].append(exp(mean_log))
    lines = []
    for key, of_laboratories in levels.items():
        others = {name: median(values) for name, values in of_laboratories.items()}
        if (value := others.pop(str(mine), None)) and others:
            *_, metric, unit, kind = key
            slower = sum((value - other) * METRICS[metric].direction > 0 for other in others.values())
            ends = len(others), slower, min(others.values()), max(others.values())
            lines.append(LikeMachines(dict(zip(_SHOWN, key, strict=False)), STORAGE[kind], value, unit, *ends))
    return sorted(lines, key=lambda line: -line.others)[:MOST]
