"""The hierarchical model of everything published."""

import pandas as pd
from django.conf import settings

from experiments.models import CaseStudy, Configuration
from modelling.answers.estimate import assumptions
from modelling.estimation.hierarchy import Hierarchy, fit
from modelling.evidence import frames, research_groups
from modelling.evidence.question import Question

from .cells import of_lists, of_numbers


def model() -> Hierarchy:
    """Fit the model to all published numbers and tier lists. Raises EvidenceError where nothing can be compared."""
    return fit(cells())


def cells() -> pd.DataFrame:
    """Return the cells of all published numbers and tier lists."""
    taken, groups = assumptions(), research_groups.of(CaseStudy.objects.published())
    every = frames.every_arm()
    arms = {str(workload): rows for workload, rows in every.groupby("workload", observed=True)}
    findings = {workload: frames.findings(Question("fs-pair", workload)) for workload in arms}
    numbers = of_numbers(arms, groups, taken.spread)
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
