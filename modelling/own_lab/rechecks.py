"""Measure the leading choices of a decision again, and say what changed on the machine since."""

from collections.abc import Mapping, Sequence
from math import exp, log, sqrt

import numpy as np
from django.db.models import Q

from modelling.answers.knowledge import assumptions
from modelling.estimation.bayes import Mixture
from modelling.estimation.machine import SURE
from modelling.estimation.sequential import DRAWS, draws
from modelling.models import Laboratory, Sitting

from . import words
from .content import CHANGED, NO_CHANGE, NOT_SURE, Change, Choice

COMPARED = 2  # the leading choice and the next best
LEAST_RUNS, MOST_RUNS = 4, 8


def last_decision(laboratory: Laboratory, machine: str, workload: str, like: str = "") -> Sitting | None:
    """Return the machine's last decided session under this workload, or where that is "", under the load of `like`."""
    decided = laboratory.sittings.filter(machine=machine, workload=workload, state=Sitting.State.DECIDED)
    if not workload:
        decided = decided.filter(Q(like__machine=like) | Q(like__machine__endswith=f"/{like}"))
    return decided.first()


def find_unchanged(before: Sitting, choices: Sequence[Choice], facts: Mapping[str, object]) -> Sitting | None:
    """Return the machine's last session under the load of `before` that measured anything; None where a known fact of
    the machine, or a setting of these choices, changed since.
    """
    alike = Sitting.objects.filter(laboratory=before.laboratory, machine=before.machine, workload=before.workload)
    if before.like:
        alike = alike.filter(like__machine=before.like["machine"])
    last = alike.filter(ended_at__isnull=False, runs__value__isnull=False, is_night=False).first()
    if last is None:
        return None
    settings = {choice["name"]: choice["settings"] for choice in last.choices}
    is_same = all(settings.get(choice.name) == choice.settings for choice in choices)
    then, today = ({**known, "measured_at": ""} for known in (last.facts, facts))
    return last if is_same and then == today else None


def compare_with_before(session: Sitting) -> tuple[Change, ...]:
    """Return each choice's speed as a multiple of before; empty where the session measures nothing again.

    How much runs vary is learnt from both sessions. What all runs of a day share is part of the change.
    """
    if session.before is None:
        return ()
    before, now = _outcomes(session.before), _outcomes(session)
    shared = [name for name in now if name in before]
    groups = [runs[name] for name in shared for runs in (before, now)]
    freedom = sum(len(group) - 1 for group in groups)
    squares = sum(float(np.var(group)) * len(group) for group in groups)
    variation = np.array(draws(DRAWS, 1)[0])[:, 0]
    logs = -freedom * np.log(variation) - squares / (2 * variation**2)
    weights = np.exp(logs - logs.max())
    margin = log(1 + assumptions().margin)
    compared = []
    for name in shared:
        middle = float(np.mean(now[name]) - np.mean(before[name]))
        errors = variation * sqrt(1 / len(before[name]) + 1 / len(now[name]))
        change = Mixture(weights / weights.sum(), np.full(DRAWS, middle), errors)
        within = change.below(margin) - change.below(-margin)
        kind = NO_CHANGE if within >= SURE else CHANGED if within <= 1 - SURE else NOT_SURE
        low, high = exp(change.quantile(0.025)), exp(change.quantile(0.975))
        sentence = words.change_sentence(kind, name, exp(middle), low, high, assumptions().margin)
        compared.append(Change(name, kind, exp(middle), low, high, sentence))
    return tuple(compared)


def is_sure(session: Sitting) -> bool:
    """Tell whether enough was measured again to be sure of each choice."""
    count, compared = session.runs.exclude(block=0).count(), compare_with_before(session)
    return count >= LEAST_RUNS and len(compared) == COMPARED and all(change.kind != NOT_SURE for change in compared)


def _outcomes(session: Sitting) -> dict[str, list[float]]:
    """Return ln speed of each choice's runs that count."""
    outcomes: dict[str, list[float]] = {}
    for run in session.runs.filter(disturbed=""):
        if run.value is not None:
            outcomes.setdefault(session.choices[run.choice]["name"], []).append(log(run.value))
    return outcomes
