"""Tell which laboratories belong to one research group, so that their findings are not independent."""

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd
from django.db.models import QuerySet

from experiments.models import CaseStudy
from experiments.models.case_study import laboratory


def groups_of(case_studies: QuerySet[CaseStudy]) -> dict[str, str]:
    """Return laboratory to research group, among these case studies; one query.

    A laboratory is in the group that its case studies state. Others are in one group where their case studies share an
    author. A group is named as stated, else after its first laboratory; stating a laboratory's name states its group.
    """
    rows = case_studies.order_by().annotate(lab=laboratory())
    return group_laboratories(rows.values_list("lab", "research_group", "publication__authors").distinct())


def group_laboratories(rows: Iterable[tuple[str, str, list[str] | None]]) -> dict[str, str]:
    """Return laboratory to research group, by union-find. rows : laboratory, stated group or "", authors"""
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
        neighbours = [("name", group) for group in groups] or [("author", author) for author in authors[name]]
        for node in neighbours:
            joined[root(node)] = root(("name", name))
    names_of: dict[tuple[str, str], str] = {}
    for name in (*sorted(set().union(*stated.values())), *sorted(stated)):
        names_of.setdefault(root(("name", name)), name)
    return {name: names_of[root(("name", name))] for name in stated}


def add_groups(arms: pd.DataFrame, groups: dict[str, str]) -> pd.DataFrame:
    """Return the arms with the column research_group, categories; a laboratory not in `groups` is its own group.

    arms : with the column laboratory, categories
    """
    return arms.assign(research_group=renamed(arms["laboratory"], groups))


def renamed(column: pd.Series, names: Mapping[str, str]) -> pd.Categorical:
    """Return a column of categories with other names; what has none in `names` keeps its own."""
    values: Any = column.array
    others = pd.Categorical([names.get(name, name) for name in values.categories])
    codes = others.codes[values.codes] if len(others) else values.codes
    return pd.Categorical.from_codes(codes, others.categories)
