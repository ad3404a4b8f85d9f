"""The hierarchical model of everything published."""

from collections.abc import Mapping
from functools import lru_cache

import pandas as pd
from django.conf import settings

from experiments.models import CaseStudy, Configuration
from modelling.answers.estimate import assumptions
from modelling.estimation.hierarchy import Hierarchy, fit, published_proposal
from modelling.estimation.network import EvidenceError
from modelling.evidence import counts, frames, research_groups
from modelling.evidence.question import Question

from .cells import CONTAINER, choices, kind_of_load, of_lists, of_numbers
from .content import Foretold, compares, foretell

FEW = 300  # cells that are fitted from nothing, in a second
MOST_ARMS = 2_000  # with more, a forecast takes longer than a page may


def model(as_of: int | None = None) -> Hierarchy:
    """Fit the model to all published numbers and tier lists. Raises EvidenceError where nothing can be compared."""
    known = cells(as_of)
    return fit(known, published_proposal() if len(known) > FEW else None)


def forecast(
    a: Mapping[str, str], b: Mapping[str, str], workload: str, storage: str | None, as_of: int | None = None
) -> Foretold | None:
    """Foretell two entries, by the model that is kept in memory for as long as the knowledge revision stands.

    a, b : columns of arms to what each states
    None where they differ in a hypervisor, file system or backend that nobody compared, and with too many arms.
    """
    if counts.has_more_arms_than(MOST_ARMS):
        return None
    kept = kept_model(as_of or counts.revision(), as_of)
    shared = containers()
    first, second = (
        choices({**side, "virtualisation": CONTAINER if side.get("hypervisor") in shared else ""}) for side in (a, b)
    )
    if kept is None or not compares(kept, first, second):
        return None
    direction, access = kind_of_load(workload, "")
    where = {"workload": workload, "direction": direction, "access": access, "storage": storage or ""}
    return foretell(kept, first, second, where, margin())


@lru_cache(maxsize=1)  # some 50 MB; another is fitted in a second
def kept_model(revision: int, as_of: int | None) -> Hierarchy | None:
    """Return the model of a revision, None where nothing can be compared; kept as it is: pickled it would take twice
    that, and a copy at each look. as_of : as for `forecast`"""
    try:
        return model(as_of)
    except EvidenceError:
        return None


def cells(as_of: int | None = None) -> pd.DataFrame:
    """Return the cells of all numbers and tier lists that are published, or that counted at a revision."""
    taken = assumptions()
    counting = CaseStudy.objects.published() if as_of is None else CaseStudy.objects.known_at(as_of)
    groups = research_groups.of(counting)
    numbers = of_numbers(frames.every_arm(as_of=as_of), groups, taken.spread)
    asked = {workload: Question("fs-pair", workload) for workload in frames.workloads_of_findings()}
    findings = {workload: frames.findings(question, as_of=as_of) for workload, question in asked.items()}
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
