"""The hierarchical model of everything published."""

import pandas as pd
from django.conf import settings

from experiments.models import CaseStudy, Configuration, OrdinalFinding
from modelling.answers.estimate import assumptions
from modelling.estimation.hierarchy import Hierarchy, fit
from modelling.evidence import frames, research_groups
from modelling.evidence.question import Question

from .cells import of_lists, of_numbers


def model(as_of: int | None = None) -> Hierarchy:
    """Fit the model to all published numbers and tier lists. Raises EvidenceError where nothing can be compared."""
    return fit(cells(as_of))


def cells(as_of: int | None = None) -> pd.DataFrame:
    """Return the cells of all numbers and tier lists that are published, or that counted at a revision."""
    taken = assumptions()
    counting = CaseStudy.objects.published() if as_of is None else CaseStudy.objects.known_at(as_of)
    groups = research_groups.of(counting)
    numbers = of_numbers(frames.every_arm(as_of=as_of), groups, taken.spread)
    listed = set(OrdinalFinding.objects.values_list("variant__workload__slug", flat=True))
    findings = {workload: frames.findings(Question("fs-pair", workload), as_of=as_of) for workload in listed}
    lists = of_lists(findings, groups, taken.tier_scale, taken.tier_doubt)
    first = int(numbers["level"].max()) + 1 if len(numbers) else 0
    return pd.concat([numbers, lists.assign(level=lists["level"] + first)], ignore_index=True)


def containers() -> set[str]:
    """Return the hypervisors that published configurations use to run containers."""
    rows = Configuration.objects.filter(case_study__in=CaseStudy.objects.published(), virtualisation="container")
    return set(rows.exclude(hypervisor=None).values_list("hypervisor__slug", flat=True).distinct())


def margin() -> float:
    """Return the share beyond which a difference of two speeds matters."""
    return float(settings.KDB_MARGIN)
