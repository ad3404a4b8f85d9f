"""Predict from other workloads and machines where nobody measured choices for the question."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import pandas as pd

from kdb.host_storage import UNNAMED, host_storage_key
from kdb.units import THROUGHPUT
from modelling.estimation.bayes import Posterior
from modelling.estimation.cells import entry_rows
from modelling.estimation.recommendation import Option
from modelling.estimation.verdict import INDEPENDENT
from modelling.evidence import names
from modelling.evidence.axes import AXES, Axis, entry_key
from modelling.evidence.durability import losing_options
from modelling.evidence.families import RUNS, may_be_offered
from modelling.evidence.question import Question
from modelling.evidence.requirements import lacking

from .knowledge import knowledge_of, where_of


@dataclass(frozen=True)
class Nearby:
    """Choices compared elsewhere. posterior : of the options, in their order, under the question's conditions"""

    options: tuple[Option, ...]
    posterior: Posterior

    def select(self, keys: Collection[str]) -> "Nearby | None":
        """Restrict it to these keys; None where fewer than two were compared."""
        places = [place for place, option in enumerate(self.options) if option.key in keys]
        if len(places) < 2:
            return None
        return Nearby(tuple(self.options[place] for place in places), self.posterior.select(np.array(places)))


def nearby(question: Question, as_of: int | None = None, *, with_draft: int | None = None) -> Nearby | None:
    """Return what the model expects of choices joined by comparisons under other workloads; None for fewer than two.

    Only choices measured under the hypervisor that the question names; those of two research groups where two exist.
    as_of, with_draft : as for modelling.evidence.dataframes.Evidence
    """
    axis = AXES[question.axis]
    known = knowledge_of(question, question.metric or THROUGHPUT, as_of, with_draft=with_draft)
    if known is None or known.cells.empty:
        return None
    compared = _compared_cells(axis, known.cells)
    if question.hypervisor:  # not of another one: KVM cannot use VMFS
        alike = {question.hypervisor, RUNS.get(question.hypervisor)}
        compared = compared[compared["key"].isin(compared["key"][compared["hypervisor"].isin(alike)])]
    compared = compared[compared["key"].isin(_keys_of_largest_network(compared))]
    lacks = lacking(question, names.names()["volume"])
    groups = {
        key: int(count)
        for key, count in compared.groupby("key")["group"].nunique().items()
        if not lacks(key) and may_be_offered(key)
    }
    known_well = [key for key, count in groups.items() if count >= INDEPENDENT]
    keys = sorted(known_well if len(known_well) > 1 else groups)
    if len(keys) < 2:
        return None
    options = tuple(Option(key, groups[key], place=number) for number, key in enumerate(keys))
    return Nearby(options, known.posterior(entry_rows(axis, keys, known, where_of(question))))


def _compared_cells(axis: Axis, cells: pd.DataFrame) -> pd.DataFrame:
    """Return the cells of levels that compare two choices of the axis, with the column key; no unsafe cache modes."""
    storage = [host_storage_key(*parts) or "" for parts in zip(cells["backend"], cells["host_fs"], strict=True)]
    rows = cells.assign(host_storage=storage)
    stated = rows[[column for column in axis.entry if column not in axis.optional]].ne("").all(axis=1)
    is_durable = rows["cache_mode"].map(lambda mode: not losing_options(mode, "", "")).astype(bool)
    rows = rows[stated & is_durable]
    keys = [entry_key(axis, values) for values in rows[list(axis.entry)].itertuples(index=False, name=None)]
    rows = rows.assign(key=keys)
    rows = rows[rows["key"] != UNNAMED]
    return rows[rows.groupby("level")["key"].transform("nunique") > 1]


def _keys_of_largest_network(compared: pd.DataFrame) -> set[str]:
    """Return the keys of that connected set of comparisons which most research groups measured."""
    joined: list[set[str]] = []
    for keys in compared.groupby("level")["key"].agg(set):
        apart = [other for other in joined if not other & keys]
        joined = [*apart, keys.union(*(other for other in joined if other & keys))]
    return max(joined, key=lambda keys: compared["group"][compared["key"].isin(keys)].nunique(), default=set())
