"""The answer under a mix of workloads on the machine of a laboratory: what is known there under each, by the shares.

It is had where the same machine was measured under every one of them, the choices differing in the same and on the same
disk: what one workload says of a machine is not carried over to another. Source: docs/models/here.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from modelling.answers.estimate import on_one_machine, ranking_of
from modelling.estimation import machine, verdict
from modelling.evidence import names
from modelling.evidence.axes import AXES
from modelling.evidence.question import Question
from modelling.models import Laboratory

from . import words
from .conditional import Told, decided, place_of, state
from .content import MixHere

Where = tuple[str, tuple[object, ...]]  # a machine, and what choices that may be compared on it share


def here(
    question: Question, weights: Mapping[str, float], laboratory: Laboratory, told: Mapping[str, Sequence[Told]]
) -> MixHere:
    """Return the answer on the machine that was measured last under all of the workloads, else what is missing.

    weights : workload to share, positive, in any unit; told : workload to what sittings say under it (told_of)
    """
    axis = AXES[question.axis]
    where = _measured_at(told)
    own = (
        {workload: _from(where, sittings) for workload, sittings in told.items()} if where else dict.fromkeys(told, ())
    )
    compared = [set(sittings[0].compared) if sittings else set() for sittings in own.values()]
    measured = sorted(set.intersection(*compared))
    missing = tuple(workload for workload, sittings in own.items() if not sittings)
    first = max((s[0] for s in own.values() if s), key=lambda evidence: evidence.sitting.pk, default=None)
    answer = MixHere(
        laboratory=laboratory.slug,
        name=laboratory.name,
        machine=first.sitting.machine if first else "",
        place=place_of(axis, first) if first else "",
        sittings=tuple(
            sorted({evidence.sitting.pk for sittings in own.values() for evidence in sittings}, reverse=True)
        ),
        kind=verdict.NOT_KNOWN,
        sentence="",
        entries=(),
        missing=missing,
    )
    if missing or len(measured) < 2:
        labels = [names.names()["workload"].get(workload, workload) for workload in missing or own]
        return replace(answer, sentence=words.not_measured(answer.machine, labels, are_apart=not missing))
    rankings = {workload: ranking_of(replace(question, workload=workload)) for workload in own}
    beside = {key: None for ranking in rankings.values() for key in on_one_machine(ranking, axis)}
    everyone = list(dict.fromkeys([*measured, *beside, *(key for keys in compared for key in sorted(keys))]))
    states = [
        state(replace(question, workload=workload), rankings[workload], sittings, everyone)
        for workload, sittings in own.items()
    ]
    shares = np.array([weights[workload] for workload in own]) / sum(weights[workload] for workload in own)
    now = machine.mixed([known.of(everyone) for known in states], shares.tolist())

    def elsewhere(first: str) -> np.ndarray:
        """Return (n, 3) ln ratios, their distances added with squared shares as modelling.estimation.mixes does."""
        parts = np.array([known.elsewhere(everyone, first) for known in states])
        middle = np.tensordot(shares, parts[:, :, 0], 1)
        below, above = np.sqrt(np.tensordot(shares**2, (parts[:, :, 1:] - parts[:, :, :1]) ** 2, 1)).T
        return np.column_stack([middle, middle - below, middle + above])

    runs = {key: sum(known.runs[key] for known in states) for key in measured}
    kind, sentence, rows = decided(axis, everyone, runs, now, elsewhere)
    return replace(answer, kind=kind, sentence=sentence, entries=rows)


def _measured_at(told: Mapping[str, Sequence[Told]]) -> Where | None:
    """Return where choices were compared last under every workload, else under any; None: nowhere."""
    newest: dict[Where, int] = {}
    for evidence in (evidence for sittings in told.values() for evidence in sittings if len(evidence.compared) > 1):
        newest[_where(evidence)] = max(newest.get(_where(evidence), 0), evidence.sitting.pk)
    last_first = sorted(newest, key=lambda where: -newest[where])
    whole = (where for where in last_first if all(_from(where, sittings) for sittings in told.values()))
    return next(whole, next(iter(last_first), None))


def _where(told: Told) -> Where:
    return told.sitting.machine, told.of[next(iter(told.compared.values()))].beside


def _from(where: Where | None, told: Sequence[Told]) -> Sequence[Told]:
    """Return these sittings from the newest on that compared choices there; earlier ones follow at a distance."""
    at = next(
        (n for n, evidence in enumerate(told) if len(evidence.compared) > 1 and _where(evidence) == where), len(told)
    )
    return told[at:]
