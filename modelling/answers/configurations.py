"""Find the configurations with which the entries of a ranking were measured."""

from collections.abc import Sequence

import pandas as pd
from django.db.models import Q

from experiments.models import Configuration
from modelling.estimation.ranking import Ranking

MOST_STUDIES = 20  # newest case studies of an entry from which its set-up is described


def from_newest_studies(arms: pd.DataFrame) -> pd.DataFrame:
    """Return each entry's arms from its MOST_STUDIES newest case studies by year, then by import.

    arms : frame of modelling.evidence.dataframes.arms with the column entry
    """
    if arms["case_study"].nunique() <= MOST_STUDIES:
        return arms
    studies = arms.groupby(["entry", "case_study"], observed=True)[["year", "configuration_id"]].max()
    newest = studies.sort_values(["year", "configuration_id"], ascending=False, na_position="last")
    kept = newest.groupby("entry", observed=True).head(MOST_STUDIES).index
    return arms[pd.MultiIndex.from_frame(arms[["entry", "case_study"]]).isin(kept)]


def describe_selection(case_studies: int) -> str:
    """State that from_newest_studies left out some of this many case studies; "" where it keeps all."""
    if case_studies <= MOST_STUDIES:
        return ""
    return f"All of this is of its {MOST_STUDIES} newest case studies; {case_studies} have it."


def configurations_behind(keys: Sequence[str], ranking: Ranking, arms: pd.DataFrame) -> list[list[Configuration]]:
    """Return each entry's configurations that were measured or that a tier list names; one query.

    arms : frame of modelling.evidence.dataframes.arms with the column entry
    """
    measured = {key: set(arms[arms["entry"] == key]["configuration_id"]) for key in keys}
    listed: dict[tuple[str | None, ...], set[str]] = {}
    for row in ranking.findings[ranking.findings["entry"].isin(keys)].itertuples(index=False):
        for slug in row.case_studies:
            listed.setdefault((slug, row.hypervisor, row.guest_fs, row.host_fs), set()).add(row.entry)
    related = ("case_study__server", "case_study__storage", "hypervisor", "guest_fs", "host_fs", "guest_os", "host_os")
    of_lists = Q(case_study__slug__in={slug for slug, *_ in listed}, hypervisor__isnull=False)
    rows = Configuration.objects.filter(Q(pk__in=set().union(*measured.values())) | of_lists)
    by_key: dict[str, list[Configuration]] = {key: [] for key in keys}
    for row in rows.select_related(*related).order_by("case_study__slug", "slug"):
        place = (row.case_study, row.hypervisor, row.guest_fs, row.host_fs)
        stated = listed.get(tuple(part.slug if part else None for part in place), set())
        for key in keys:
            if row.pk in measured[key] or key in stated:
                by_key[key].append(row)
    return list(by_key.values())
