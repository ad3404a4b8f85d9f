"""What published evidence says of a machine's choices before anything is measured on it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from kdb.host_storage import UNNAMED, host_storage_key
from modelling.answers.estimate import ranking_of
from modelling.answers.knowledge import assumptions, knowledge_of, where_of
from modelling.estimation.bayes import Posterior
from modelling.estimation.cells import entry_rows
from modelling.estimation.hierarchy import Knowledge
from modelling.estimation.machine import add_place_variance
from modelling.estimation.ranking import Ranking, knowledge_from
from modelling.estimation.value import Components, merge_components
from modelling.evidence.axes import AXES, Axis, entry_key
from modelling.evidence.question import Question
from modelling.models import Laboratory

from .content import Choice


class Prior(NamedTuple):
    """The prior of n choices on an unmeasured machine, and the key of the question that it comes from."""

    components: Components
    question: str  # its key; "" where nothing published bears on it

    def as_json(self) -> dict[str, Any]:
        """Return it as a session keeps it, whatever is published meanwhile."""
        few = merge_components(self.components)
        parts = (few.weights, few.means, few.covariances, few.extras)
        return {"question": self.question, "parts": [np.round(part, 9).tolist() for part in parts]}

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> "Prior":
        """Return what a session keeps."""
        return cls(Components(*map(np.array, kept["parts"])), kept["question"])


def prior_of_choices(workload: str, choices: Sequence[Choice]) -> Prior:
    """Return the prior of these choices from everything published under this workload."""
    axis = compared_axis(choices)
    if axis is None:
        return nothing_known(choices)
    question = Question(axis.name, workload)
    ranking = ranking_of(question)
    keys = [_key(axis, choice) for choice in choices]
    are_alike = len(set(keys)) == len(keys) and len({_rest(axis, choice) for choice in choices}) == 1
    known = add_place_variance(
        select_entries(forecast_entries(question, ranking, keys), keys),
        [choice.place for choice in choices],
        are_alike=are_alike,
    )
    return Prior(known, "" if ranking.posterior is None else question.key)


def nothing_known(choices: Sequence[Choice]) -> Prior:
    """Return the prior of choices of which nothing published is known."""
    nothing = np.zeros((1, len(choices), len(choices)))
    flat = Components(np.ones(1), nothing[:, 0], nothing, nothing)
    return Prior(add_place_variance(flat, [choice.place for choice in choices], are_alike=False), "")


def knowledge_for(question: Question, rankings: Mapping[str, Ranking]) -> Knowledge:
    """Return what bears on the question under these workloads.

    Where the load is no workload, or the metric no speed, that is the evidence of their rankings alone.
    """
    known = knowledge_of(question, next(iter(rankings.values())).metric)
    if known is None or "" in rankings:
        evidence = {workload: (ranking.arms, ranking.findings) for workload, ranking in rankings.items()}
        known = knowledge_from(evidence, AXES[question.axis], assumptions())
    return known


def prior_in_laboratory(
    question: Question, known: Knowledge, elements: Sequence[tuple[str, str]], laboratory: Laboratory
) -> Components:
    """Return what is known of n entries under workloads in a laboratory, without its sessions.

    elements : (n,) workload and entry, which may repeat
    What it published counts as its own; its group is left out if sessions are part of that, as they say it themselves.
    """
    axis = AXES[question.axis]
    keys_of: dict[str, dict[str, None]] = defaultdict(dict)
    for workload, key in elements:
        keys_of[workload][key] = None
    rows = [
        entry_rows(axis, [*keys], known, where_of(replace(question, workload=workload)))
        for workload, keys in keys_of.items()
    ]
    own = known.cells[known.cells["laboratory"] == laboratory.slug]
    is_shared = len(own) and laboratory.sittings.filter(case_study__slug__in=set(own["case_study"])).exists()
    whose = {"without": str(own["group"].iloc[0])} if is_shared else {"laboratory": laboratory.slug}
    everything = Components.from_posterior(known.posterior(pd.concat(rows), **whose))
    place = {one: number for number, one in enumerate((w, key) for w, keys in keys_of.items() for key in keys)}
    return everything.select([place[one] for one in elements])


def forecast_entries(question: Question, ranking: Ranking, keys: Iterable[str]) -> Posterior:
    """Return the forecast of the ranking's entries and of these, whether anything is published of them or not."""
    axis, known = AXES[question.axis], knowledge_for(question, {question.workload: ranking})
    entries = sorted({*(ranking.posterior.treatments if ranking.posterior else ()), *keys})
    return known.posterior(entry_rows(axis, entries, known, where_of(question)))


def select_entries(everything: Posterior, keys: Sequence[str]) -> Components:
    """Return the components of these entries, which may repeat."""
    return Components.from_posterior(everything).select([everything.treatments.index(key) for key in keys])


def compared_axis(choices: Sequence[Choice]) -> Axis | None:
    """Return the axis on which the choices differ; None where nothing published compares what they differ in.

    Where no axis has all that differs: guest file system before host storage before the other settings.
    """
    columns = {column for choice in choices for column in choice.settings}
    differ = {column for column in columns if len({choice.settings.get(column, "") for choice in choices}) > 1}
    exact = next((axis for axis in AXES.values() if differ == set(axis.required)), None)
    if exact or not differ:
        return exact
    if "guest_fs" in differ:
        return AXES["guest-fs"]
    if differ & {"backend", "host_fs"}:
        return AXES["host-storage"]
    return next((axis for axis in AXES.values() if set(axis.required) <= differ), None)


def _key(axis: Axis, choice: Choice) -> str:
    settings = dict(choice.settings)
    settings["host_storage"] = host_storage_key(settings.get("backend", ""), settings.get("host_fs")) or UNNAMED
    return entry_key(axis, tuple(settings.get(column) or "not stated" for column in axis.entry))


def _rest(axis: Axis, choice: Choice) -> tuple[tuple[str, str], ...]:
    """Return the settings of a choice that are no part of its entry."""
    own = {*axis.entry, *(("backend", "host_fs") if "host_storage" in axis.entry else ())}
    return tuple(sorted(setting for setting in choice.settings.items() if setting[0] not in own))
