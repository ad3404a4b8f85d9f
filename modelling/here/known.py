"""What published evidence says of a machine's choices before anything is measured on it."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from kdb.host_storage import UNNAMED, host_storage_key
from modelling.answers.estimate import assumptions, ranking_of
from modelling.estimation.arms import trials
from modelling.estimation.entry_cells import COLUMNS, cells_of, choices_of
from modelling.estimation.partial_pooling import posterior
from modelling.estimation.value import Components, reduced
from modelling.evidence.axes import AXES, Axis, entry_key
from modelling.evidence.question import Question

from .content import Choice

# Standard deviations of ln speed: between two disks or folders, whatever is on them, and between two choices of one
# entry, which differ in settings that its axis does not have. Wide on purpose: published evidence says nothing of one's
# own disks.
PLACES, ALIKE = 0.7, 0.2


class Known(NamedTuple):
    """What is known of n choices on a machine that nobody measured, and the question that it was asked of."""

    components: Components
    question: str  # its key; "" where nothing published bears on it

    def as_json(self) -> dict[str, Any]:
        """Return it for a row: a sitting keeps what it began with, whatever is published meanwhile."""
        few = reduced(self.components)
        parts = (few.weights, few.means, few.covariances, few.extras)
        return {"question": self.question, "parts": [np.round(part, 9).tolist() for part in parts]}

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> "Known":
        """Return what a row keeps."""
        return cls(Components(*map(np.array, kept["parts"])), kept["question"])


def known_of(workload: str, choices: Sequence[Choice]) -> Known:
    """Return what is known of these choices from everything published under this workload."""
    axis = axis_of(choices)
    if axis is None:
        return Known(_apart(_nothing(len(choices)), choices), "")
    question = Question(axis.name, workload)
    ranking = ranking_of(question)
    assumed = assumptions()
    keys = [_key(axis, choice) for choice in choices]
    published = () if ranking.posterior is None else ranking.posterior.treatments
    cells = pd.DataFrame(columns=COLUMNS)
    if published:
        cells = cells_of(ranking.arms, trials(ranking.arms), ranking.findings, assumed.tier_scale, assumed.tier_doubt)
    entries = sorted({*published, *keys})
    everything = posterior(choices_of(axis, entries, ranking.arms), cells, assumed.scales)
    mine = Components.of(everything).among([entries.index(key) for key in keys])
    return Known(_apart(mine, choices), question.key if published else "")


def axis_of(choices: Sequence[Choice]) -> Axis | None:
    """Return the axis on which the choices differ; None where nothing published compares what they differ in.

    Where no axis has all that differs it is that of one column: guest file system before host storage before the rest.
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


def _nothing(size: int) -> Components:
    nothing = np.zeros((1, size, size))
    return Components(np.ones(1), np.zeros((1, size)), nothing, nothing)


def _apart(known: Components, choices: Sequence[Choice]) -> Components:
    """Add what two places, and two choices of one entry, may differ by."""
    places = np.array([choice.place for choice in choices])
    more = PLACES**2 * (places[:, None] == places) + ALIKE**2 * np.eye(len(choices))
    return known._replace(extras=known.extras + more)
