"""Detected mixes of machines, for pages and placement."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import timedelta

from django.utils.timezone import now

from experiments.models import ObservedMachine
from modelling.models import DetectedHour

from .content import Mix
from .persistence import current_model

__all__ = ["HOURS", "NOTHING", "NO_MODEL", "Mix", "hours_of", "mix_of", "mixes_of"]

HOURS = 24  # of a mix
NO_MODEL = "No model was made yet."
_NOTHING = "Nothing was watched in the last 24 hours, or it is not told yet."
NOTHING = Mix({}, 0.0, 0, 0.0, 0.0, {}, why_not=_NOTHING)
LEAST_MINUTES = 5  # with one workload alone, for a mix to be shown


def mix_of(machine: ObservedMachine) -> Mix | None:
    """Return the mix of a machine in the last HOURS; None where nothing was watched or detected."""
    return mixes_of([machine.pk]).get(machine.pk)


def mixes_of(machines: Iterable[int]) -> dict[int, Mix]:
    """Return the detected mixes of several machines, by their keys; in two queries."""
    model = current_model()
    chosen = DetectedHour.objects.filter(machine__in=list(machines), starts_at__gt=now() - timedelta(hours=HOURS))
    by_machine: dict[int, list[DetectedHour]] = defaultdict(list)
    for hour in chosen:
        by_machine[hour.machine_id].append(hour)
    why_not = model.why_not if model is not None else NO_MODEL
    return {machine: _mix(rows, why_not, LEAST_MINUTES) for machine, rows in by_machine.items()}


def hours_of(machine: ObservedMachine, hours: int) -> list[tuple[DetectedHour, Mix]]:
    """Return each of the last hours with its mix, by time."""
    rows = DetectedHour.objects.filter(machine=machine, starts_at__gt=now() - timedelta(hours=hours))
    return [(row, _mix([row], "", 1)) for row in rows.order_by("starts_at")]


def _mix(rows: list[DetectedHour], why_not: str, least: int) -> Mix:
    minutes, idle, unlike = (sum(getattr(row, name) for row in rows) for name in ("minutes", "idle", "unlike"))
    shares, others = _sum(row.shares for row in rows), _sum(row.others for row in rows)
    detected = sum(shares.values())
    if not why_not and detected < least:
        why_not = (
            f"Of {minutes} minutes that were watched {detected:g} are like one workload alone; {idle} were idle, "
            f"{unlike} unlike anything known. {least} are needed."
        )
    sureness = 0.0 if why_not else sum(row.certainty for row in rows) / detected
    return Mix(
        shares={} if why_not else {workload: amount / detected for workload, amount in shares.items()},
        probability=sureness,
        minutes=minutes,
        idle=idle / minutes,
        unlike=unlike / minutes,
        others={name: amount / minutes for name, amount in others.items()},
        why_not=why_not or None,
    )


def _sum(amounts: Iterable[Mapping[str, float]]) -> dict[str, float]:
    sums: dict[str, float] = defaultdict(float)
    for amount in amounts:
        for name, minutes in amount.items():
            sums[name] += minutes
    return dict(sorted(sums.items()))
