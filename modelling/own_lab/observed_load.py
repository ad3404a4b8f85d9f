"""The load of an observed machine for a session: who may ask for it, and what it is made of."""

from dataclasses import asdict
from datetime import timedelta
from typing import Any

from django.utils.timezone import now

from experiments import permissions
from experiments.fleet.selectors import machines_named
from experiments.fleet.statistics import sum_by
from experiments.models import DiskStatistics, ObservedMachine
from modelling.workloads.observed_load import LEFT_OPEN, NotPlayedError, observed_numbers, observed_profile

from . import words
from .content import Like, Refused

WATCHED = timedelta(hours=24)  # whose sums the load is made of
LEAST_REQUESTS = 1000  # reads and writes: a share of so many is known within 3 points


def make_load(user: Any, name: str, *, version: str) -> dict[str, Any]:
    """Return the load of an observed machine as the row of a session keeps it. Raises Refused.

    name : "vm-117", or "lab-1/vm-117" with its host; version : of the machine's fio
    """
    machine = _machine(user, name)
    called = f"{machine.host.slug}/{machine.name}"
    at = now()
    minutes = DiskStatistics.objects.filter(disk__machine=machine, span="minute", starts_at__gt=at - WATCHED)
    disks = [watched for _, watched in sum_by(minutes, "disk")]
    requests = sum(disk.counts.reads + disk.counts.writes for disk in disks)
    if requests < LEAST_REQUESTS:
        raise Refused(
            f"{called}: {requests:,} reads and writes were watched in the last 24 hours; {LEAST_REQUESTS:,} are needed."
        )
    try:
        profile = observed_profile([(disk.counts, disk.busy_seconds) for disk in disks])
    except NotPlayedError as error:
        raise Refused(f"{called}: {error}") from error
    hours = max(disk.seconds for disk in disks) / 3600
    made = Like(called, words.describe_load(called, profile, at, hours, [*profile.notes, LEFT_OPEN]))
    return {**asdict(made), "load": observed_numbers(profile, version)}


def _machine(user: Any, name: str) -> ObservedMachine:
    """Return the machine; one that the user may not see looks as if it did not exist. Raises Refused."""
    host, slash, inside = name.rpartition("/")
    rows = machines_named(inside).filter(host__in=permissions.hosts_visible_to(user)).select_related("host")
    by_host = {machine.host.slug: machine for machine in reversed(rows) if not slash or machine.host.slug == host}
    if not by_host:
        raise Refused(f"{name}: you may see no observed machine of that name.")
    if len(by_host) > 1:
        raise Refused(f"{name}: say which one: {', '.join(f'{host}/{inside}' for host in sorted(by_host))}.")
    return next(iter(by_host.values()))
