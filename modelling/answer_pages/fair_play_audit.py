"""Audit a case study for fair play: which of its numbers may be compared, and why others may not.

Source: docs/models/ranking.md, sections 1 to 3.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from experiments.models import CaseStudy, Configuration
from experiments.records import visible
from kdb.web.htmx import varies_for_htmx, wants_fragment
from modelling.answers.knowledge import assumptions
from modelling.estimation.arms import comparable_arms
from modelling.evidence import dataframes
from modelling.evidence.axes import AXES, COLUMN_LABELS
from modelling.evidence.fairplay import group_numbers
from modelling.evidence.names import arm_label
from modelling.evidence.words import counted, listed

SHOWN = 20  # numbers without comparison that are listed


@dataclass(frozen=True)
class AxisLine:
    """The comparisons of a case study on one axis."""

    label: str
    groups: int  # fair-play groups with two entries or more
    entries: int
    comparisons: int  # pairs of entries inside them


@dataclass(frozen=True)
class Audit:
    """The audit of a case study: what of it may be compared.

    numbers : of arms, of which `derived` follow from a text by arithmetic
    alone : the first SHOWN of the `alone_count` arms that no axis can use, with the reason
    """

    numbers: int
    derived: int
    groups: int
    axes: list[AxisLine]
    alone: list[str]
    alone_count: int
    doubts: list[str]


@require_safe
@varies_for_htmx
def fair_play(request: HttpRequest, slug: str) -> HttpResponse:
    """Show which numbers of the case study may be compared with which."""
    case_study = get_object_or_404(visible.case_studies(), slug=slug)
    template = "_audit" if wants_fragment(request) else "audit"
    return render(request, f"modelling/{template}.html", {"case_study": case_study, "audit": audit(case_study)})


def audit(case_study: CaseStudy) -> Audit | None:
    """Audit a published or retracted case study; None where it has no numbers that count."""
    arms = dataframes.arms_of(case_study)
    if arms.empty:
        return None
    used: set[int] = set()
    lines = []
    for axis in AXES.values():
        comparable = comparable_arms(arms, axis, assumptions().spread)
        used |= set(comparable.index)
        entries = comparable.groupby("fair_play_group")["entry"].nunique()
        pairs = int((entries * (entries - 1) // 2).sum())
        lines.append(AxisLine(axis.label, len(entries), comparable["entry"].nunique(), pairs))
    numbers = group_numbers(arms)
    alone = arms[~arms.index.isin(used)]
    return Audit(
        numbers=len(arms),
        derived=int((arms["origin"] == "derived").sum()),
        groups=len(np.unique(numbers)),
        axes=lines,
        alone=[
            _why_alone(row, arms[numbers == numbers[arms.index.get_loc(row.Index)]])
            for row in alone.head(SHOWN).itertuples()
        ],
        alone_count=len(alone),
        doubts=_doubts(case_study, arms),
    )


def _why_alone(row: Any, group: pd.DataFrame) -> str:
    """Explain why no axis can use a number: its group has no other number, or all others differ in held columns."""
    machines = f", {counted(row.vm_count, 'machine')}" if row.vm_count else ""
    what = f"{arm_label(row)}{machines} ({row.source or 'imported'})"
    others = group[group.index != row.Index]
    if others.empty:
        return f"{what}: nothing else ran with the same workload parameters, operation, block size and machine count."
    columns = [column for column in COLUMN_LABELS if not (others[column].map(str) == str(getattr(row, column))).any()]
    if not columns:
        return f"{what}: what it could be compared with differs in several settings at once."
    return f"{what}: everything beside it has another {listed((COLUMN_LABELS[c] for c in columns), 'or')}."


def _doubts(case_study: CaseStudy, arms: pd.DataFrame) -> list[str]:
    """Return sentences on what the source does not state but comparisons depend on."""
    doubts = []
    if below := int(arms[dataframes.ANECDOTE].sum()):
        doubts.append(
            f"Below the minimum of what a result needs to count, so that no answer uses them: {below} of "
            f"{counted(len(arms), 'number')}."
        )
    if arms["variance"].isna().all():
        doubts.append("No number comes with the spread of its runs: a default spread is assumed for every one.")
    if not case_study.repetitions:
        doubts.append("How many runs a number averages is not stated: each counts as one.")
    if arms["vm_count"].max() > 1 and case_study.value_scope == CaseStudy.Scope.NOT_STATED:
        doubts.append(
            "Whether a value at several machines is for each or for all is not stated: ratios at one machine count "
            "do not depend on it, scaling from one count to another does."
        )
    if not case_study.run_seconds:
        doubts.append("How long a run took is not stated.")
    configurations = Configuration.objects.filter(pk__in=set(arms["configuration_id"]), hypervisor__isnull=False)
    if not configurations.exists():
        return doubts
    for column, label in (("cache_mode", "cache mode"), ("image_format", "image format"), ("disk_bus", "disk bus")):
        if not configurations.exclude(**{column: ""}).exists():
            doubts.append(f"The {label} is not stated: it is taken to be the same for all its configurations.")
    if configurations.filter(guest_os__isnull=True).exists():
        doubts.append("The guest operating system is not stated of every configuration.")
    return doubts
