"""The hierarchical model of everything published."""

import pandas as pd
from django.conf import settings

from experiments.models import CaseStudy, Configuration
from experiments.models.case_study import laboratory
from modelling.answers.estimate import assumptions
from modelling.estimation.hierarchy import Hierarchy, fit
from modelling.evidence import frames
from modelling.evidence.question import Question

from .cells import of_lists, of_numbers


def model() -> Hierarchy:
    """Fit the model to all published numbers and tier lists. Raises EvidenceError where nothing can be compared."""
    taken, groups = assumptions(), research_groups()
    every = frames.every_arm()
    arms = {str(workload): rows for workload, rows in every.groupby("workload", observed=True)}
    findings = {workload: frames.findings(Question("fs-pair", workload)) for workload in arms}
    numbers = of_numbers(arms, groups, taken.spread)
    lists = of_lists(findings, groups, taken.tier_scale, taken.tier_doubt)
    first = int(numbers["level"].max()) + 1 if len(numbers) else 0
    return fit(pd.concat([numbers, lists.assign(level=lists["level"] + first)], ignore_index=True))


def research_groups() -> dict[str, str]:
    """Return laboratory to its research group: laboratories whose case studies share an author are one group, which is
    called as its first laboratory is."""
    published = CaseStudy.objects.published().annotate(lab=laboratory())
    group: dict[str, str] = {}
    authored: dict[str, str] = {}
    for name, authors in published.order_by("lab", "pk").values_list("lab", "publication__authors"):
        group.setdefault(name, name)
        for author in authors or []:
            one, other = sorted((group[name], group[authored.setdefault(author, name)]))
            group = {key: one if value == other else value for key, value in group.items()}
    return group


def containers() -> set[str]:
    """Return the hypervisors that published configurations use to run containers."""
    rows = Configuration.objects.filter(case_study__in=CaseStudy.objects.published(), virtualisation="container")
    return set(rows.exclude(hypervisor=None).values_list("hypervisor__slug", flat=True).distinct())


def margin() -> float:
    """Return the share beyond which a difference of two speeds matters."""
    return float(settings.KDB_MARGIN)
