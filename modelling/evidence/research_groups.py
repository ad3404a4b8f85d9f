"""Tell which laboratories are one research group, so that their findings are not independent; only here."""

from collections.abc import Iterable
from typing import Any

import pandas as pd
from django.db.models import QuerySet

from experiments.models import CaseStudy
from experiments.models.case_study import laboratory


def groups_of(case_studies: QuerySet[CaseStudy]) -> dict[str, str]:
    """Return laboratory to research group, among these case studies; one query.

    Laboratories of which a case study states one are in that group. The others are one group where their case studies
    share an author. A group is called as it is stated, else as its first laboratory; to state the name of a laboratory
    is to state its group.
    """
    rows = case_studies.order_by().annotate(lab=laboratory())
    return group_laboratories(rows.values_list("lab", "research_group", "publication__authors").distinct())


def group_laboratories(rows: Iterable[tuple[str, str, list[str] | None]]) -> dict[str, str]:
    """Return laboratory to research group. rows : laboratory, group it states or "", authors, a row a case study"""
    stated: dict[str, set[str]] = {}
    authors: dict[str, set[str]] = {}
    for name, group, names in rows:
        stated.setdefault(name, set()).update([group] if group else [])
        authors.setdefault(name, set()).update(" ".join(author.casefold().split()) for author in names or ())
    joined: dict[tuple[str, str], tuple[str, str]] = {}

    def root(node: tuple[str, str]) -> tuple[str, str]:
        while (above := joined.get(node, node)) != node:
            joined[node] = joined.get(above, above)
            node = above
        return node

    for name, groups in stated.items():
        kin = [("name", group) for group in groups] or [("author", author) for author in authors[name]]
        for node in kin:
            joined[root(node)] = root(("name", name))
    called: dict[tuple[str, str], str] = {}
    for name in (*sorted(set().union(*stated.values())), *sorted(stated)):
        called.setdefault(root(("name", name)), name)
    return {name: called[root(("name", name))] for name in stated}


def add_groups(arms: pd.DataFrame, groups: dict[str, str]) -> pd.DataFrame:
    """Return the arms with the column research_group, categories; a laboratory that `groups` lacks is one by itself.

    arms : with the column laboratory, categories
    """
    laboratories: Any = arms["laboratory"].array
    names = pd.Categorical([groups.get(name, name) for name in laboratories.categories])
    codes = names.codes[laboratories.codes] if len(names) else laboratories.codes
    return arms.assign(research_group=pd.Categorical.from_codes(codes, names.categories))
