"""Watch observed hosts: list their machines every few minutes, read the counters of all disks every few seconds.

One job a minute for each laboratory visits all hosts that are due; so does the next one, which it enqueues, or the
scheduler where none is queued. A visit reads all counters of a host by one command and stores them in one transaction.
The last counters of each disk are stored, so a job that dies loses only detail, as the next one sees the difference.
Two jobs at one host count nothing twice, because a look that is not later than the stored one is ignored.
"""

import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime, timedelta
from functools import partial

from django.db import DatabaseError, connection, transaction
from django.db.models import Count, Q, QuerySet
from django.utils.timezone import now

from experiments.campaigns import hosts
from experiments.laboratory.transport import remote, ssh
from experiments.laboratory.transport.counters import Counts
from experiments.models import DiskStatistics, Host, ObservedDisk, ObservedMachine, ObservedPool
from kdb.jobs import jobs
from kdb.models import Job

from . import notifications, statistics
from .aggregation import DiskActivity, by_minute, counts_of, merge_activities
from .driver.contract import ListedMachine, Listing, ListingDriver
from .driver.guests import file_systems_by_superblock
from .drivers import listing_driver

logger = logging.getLogger(__name__)

JOB = "observe_hosts"
SECONDS = 60  # length of one job
AT_ONCE = 16  # hosts that one job visits
LIST_EVERY = timedelta(minutes=10)
LOOKS_A_LIST = 30  # at least, as a list costs as much as ten looks
LIST_NEW = timedelta(minutes=1)  # at least between two lists, where the counters show an unknown machine
RETRY_AFTER = timedelta(minutes=1)  # after a visit that failed
MAX_GUESTS_ASKED = 20  # whose file systems are looked for after one list
_PAUSE_SECONDS = 1.0  # between two questions which hosts are due
_KEEP_JOBS = timedelta(days=1)

SECONDS_A_MACHINE = 0.6  # of the interval between looks: a look costs its host 2.5 ms of a core for each machine
SECONDS_A_HOST = 0.6  # of the interval: a look costs the worker 34 ms of a core
LONGEST_SECONDS = 120.0  # most that these numbers make of the interval

Look = tuple[datetime, dict[str, dict[str, Counts]]]  # time; counters by runs_as and disk
Source = ObservedMachine.GuestSource


def interval(every: float, machines: int, hosts: int = 1) -> float:
    """Return the seconds between two looks: as configured, or more where many machines or hosts make them expensive.

    Sums lose nothing by longer intervals, as counters go on.
    """
    return max(every, min(max(machines * SECONDS_A_MACHINE, hosts * SECONDS_A_HOST), LONGEST_SECONDS))


def watch(run: jobs.JobRun, laboratory: str) -> None:
    """Visit the observed hosts of a laboratory for a minute, each when it is due, and enqueue the next job."""
    end = time.monotonic() + SECONDS
    visits = dict[int, Future[bool]]()
    visited = dict[int, datetime]()  # host to its last visit by this job
    threads = ThreadPoolExecutor(AT_ONCE)
    try:
        while time.monotonic() < end:
            for host, every in _hosts_due(laboratory, visited).items():
                if host.pk not in visits:
                    visited[host.pk] = now()
                    visits[host.pk] = threads.submit(_visit_in_thread, host, partial(run.step, 0), every)
            time.sleep(min(_PAUSE_SECONDS, max(end - time.monotonic(), 0)))
            for pk in [pk for pk, visit in visits.items() if visit.done()]:
                visits.pop(pk).result()
        for visit in visits.values():
            if not visit.cancel():
                visit.result()
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
    enqueue_watch(laboratory, instead_of=run.job_id)


def _hosts_due(laboratory: str, visited: Mapping[int, datetime]) -> dict[Host, timedelta]:
    """Return the hosts to visit now, each with the time between two looks. One query, another where a host is due.

    visited : host to its last visit, of which it waits after a failure
    """
    observed = Host.objects.filter(is_observed=True, laboratory=laboratory, blocked_reason="")
    counted = observed.annotate(running=Count("observed_machines", filter=Q(observed_machines__is_running=True)))
    rows = list(counted.values_list("pk", "observed_every", "observed_at", "observation_error", "running"))
    at, due = now(), dict[int, tuple[timedelta, timedelta | None]]()
    for pk, seconds, observed_at, error, running in rows:
        every = timedelta(seconds=interval(seconds, running, hosts=len(rows)))
        latest = [moment for moment in (observed_at, visited.get(pk)) if moment]
        since = at - max(latest) if latest else None
        if since is None or since >= (RETRY_AFTER if error else every):
            due[pk] = every, since
    hosts_due = {}
    for pk, host in Host.objects.in_bulk(due).items() if due else ():
        every, since = due[pk]
        shortest = timedelta(seconds=listing_driver(host).shortest_seconds if host.manager else 0)
        if since is None or since >= shortest:
            hosts_due[host] = max(every, shortest)
    return hosts_due


def _visit_in_thread(host: Host, guard: Callable[[], object], every: timedelta) -> bool:
    """Visit a host. A fault of KDB's own is stored like one of the host, and logged; the others are still watched."""
    try:
        return visit(host, guard, every)
    except (jobs.LeaseLost, DatabaseError):
        raise
    except Exception as error:
        logger.exception("a visit failed host=%s", host.slug)
        return _record_failure(host, error)
    finally:
        connection.close()  # this thread's own


def visit(host: Host, guard: Callable[[], object] = lambda: None, every: timedelta = timedelta(0)) -> bool:
    """Look at a host and store what was seen; return False where that failed, with the reason in observation_error.

    guard : called in each transaction; raises where another job took over
    every : between two looks, LOOKS_A_LIST of which are at least between two lists
    """
    try:
        with hosts.connect(host, persistent=True) as machine:
            _Visit(host, machine, guard).look(max(LIST_EVERY, LOOKS_A_LIST * every))
    except ssh.KeyChanged as error:
        hosts.block(host, str(error))
        return _record_failure(host, error)
    except (ssh.SshError, hosts.HostError, remote.Refused) as error:
        return _record_failure(host, error)
    return True


def _record_failure(host: Host, error: Exception) -> bool:
    Host.objects.filter(pk=host.pk).update(observation_error=str(error)[:2000])
    logger.warning("could not observe host=%s reason=%r", host.slug, str(error))
    return False


class _Visit:
    """A look over one connection, and a list where one is due or the look shows an unknown machine."""

    def __init__(self, host: Host, machine: ssh.Connection, guard: Callable[[], object]) -> None:
        self.host, self.machine, self.guard = host, machine, guard
        self.driver: ListingDriver = listing_driver(host)(machine)

    def look(self, list_every: timedelta = LIST_EVERY) -> None:
        before = now()
        if is_due := self._was_listed_before(before - list_every):
            self.list_all()
            before = now()
        counts = self.driver.read_counters()
        at = before + (now() - before) / 2
        known = ObservedMachine.objects.filter(host=self.host).values_list("runs_as", flat=True)
        if not is_due and self._was_listed_before(at - LIST_NEW) and not counts.keys() <= set(known):
            self.list_all()
        save_looks(self.host, [(at, counts)], self.guard)

    def _was_listed_before(self, moment: datetime) -> bool:
        return self.host.listed_at is None or self.host.listed_at < moment

    def list_all(self) -> None:
        listing = self.driver.list_all()
        save_listing(self.host, listing, self.guard)
        self.find_guest_file_systems(listing)

    def find_guest_file_systems(self, listing: Listing) -> None:
        """Find unknown guest file systems, by agent or superblock; otherwise the machine's page asks its operator."""
        unknown = ObservedMachine.objects.filter(host=self.host, guest_fs="", is_running=True)
        uuids = set(map(str, unknown.values_list("uuid", flat=True)))
        for machine in [machine for machine in listing.machines if machine.uuid in uuids][:MAX_GUESTS_ASKED]:
            kinds, source = self.guest_file_systems(machine)
            if len(kinds) == 1:
                unknown.filter(uuid=machine.uuid).update(guest_fs=kinds.pop()[:40], guest_fs_source=source)

    def guest_file_systems(self, machine: ListedMachine) -> tuple[set[str], Source]:
        """Return the kinds of file systems in a machine by its agent, else by the superblocks of its raw images."""
        if machine.has_agent:
            with suppress(remote.Refused):
                return set(self.driver.guest_file_systems(machine)), Source.AGENT
        kinds: set[str] = set()
        for disk in machine.disks:
            if disk.image_format == "raw" and disk.path.startswith("/"):
                with suppress(remote.Refused):
                    kinds |= set(file_systems_by_superblock(self.machine, disk.path))
        return kinds, Source.SUPERBLOCK


# Storing looks


@transaction.atomic
def save_listing(host: Host, listing: Listing, guard: Callable[[], object] = lambda: None) -> None:
    """Store a list, in a constant number of statements. Safe to call again.

    What is not listed any more stays, with the time when it was last seen, until retention.prune.
    """
    at = now()
    guard()
    hosts.locked(host.pk)
    ObservedPool.objects.bulk_create(
        [ObservedPool(host=host, seen_at=at, **asdict(pool)) for pool in listing.pools],
        update_conflicts=True,
        unique_fields=["host", "path"],
        update_fields=["name", "backend", "host_fs", "storage_kind", "size_bytes", "free_bytes", "seen_at"],
    )
    ObservedMachine.objects.bulk_create(
        [
            ObservedMachine(
                **{name: getattr(machine, name) for name in ("uuid", "name", "runs_as", "is_running")},
                host=host,
                seen_at=at,
            )
            for machine in listing.machines
        ],
        update_conflicts=True,
        unique_fields=["host", "uuid"],
        update_fields=["name", "runs_as", "is_running", "seen_at"],
    )
    Host.objects.filter(pk=host.pk).update(listed_at=at)
    notifications.notify_of_full_pools(host)
    uuids = [machine.uuid for machine in listing.machines]
    ObservedMachine.objects.filter(host=host).exclude(uuid__in=uuids).update(is_running=False, runs_as="")
    pools = dict(ObservedPool.objects.filter(host=host).values_list("path", "pk"))
    machines = {str(uuid): pk for uuid, pk in ObservedMachine.objects.filter(host=host).values_list("uuid", "pk")}
    ObservedDisk.objects.bulk_create(
        [
            ObservedDisk(
                machine_id=machines[machine.uuid],
                pool_id=pools.get(disk.pool),
                seen_at=at,
                **{name: value for name, value in asdict(disk).items() if name != "pool"},
            )
            for machine in listing.machines
            for disk in machine.disks
        ],
        update_conflicts=True,
        unique_fields=["machine", "target"],
        update_fields=[
            *("pool", "path", "image_format", "allocation", "cache_mode", "has_backing_chain", "size_bytes"),
            *("allocated_bytes", "seen_at"),
        ],
    )


@transaction.atomic
def save_looks(host: Host, looks: list[Look], guard: Callable[[], object] = lambda: None) -> None:
    """Add looks to the sums by minute, in a constant number of statements.

    looks : in order; those not later than the stored look are ignored
    """
    guard()
    hosts.locked(host.pk)
    disks = list(ObservedDisk.objects.filter(machine__host=host).select_related("machine"))
    sums: dict[tuple[int, datetime], DiskActivity] = {}
    for disk in disks:
        seen = _looks_of(disk, looks)
        for minute, watched in by_minute(seen).items():
            sums[disk.pk, minute] = watched
        disk.counted_at, last = seen[-1]
        disk.counts = None if last is None else asdict(last)
    _add_to_minutes(sums)
    ObservedDisk.objects.bulk_update(disks, ["counts", "counted_at"], batch_size=500)
    at, running = looks[-1]
    machines = ObservedMachine.objects.filter(host=host)
    machines.filter(runs_as__in=running).update(is_running=True, seen_at=at)
    machines.exclude(runs_as__in=running).update(is_running=False)
    Host.objects.filter(pk=host.pk).update(observed_at=at, observation_error="")


def _looks_of(disk: ObservedDisk, looks: list[Look]) -> list[tuple[datetime, Counts | None]]:
    """Return the stored look first, then the later ones."""
    seen = [(at, by_machine.get(disk.machine.runs_as, {}).get(disk.target)) for at, by_machine in looks]
    if disk.counted_at is None:
        return seen
    return [(disk.counted_at, counts_of(disk.counts)), *(look for look in seen if look[0] > disk.counted_at)]


def _add_to_minutes(sums: Mapping[tuple[int, datetime], DiskActivity]) -> None:
    """Add sums to those that the minutes have already."""
    if not sums:
        return
    minutes = sorted(minute for _, minute in sums)
    held = DiskStatistics.objects.filter(
        disk__in={pk for pk, _ in sums}, span="minute", starts_at__gte=minutes[0], starts_at__lte=minutes[-1]
    )
    stored = {(row.disk_id, row.starts_at): statistics.activity_of(row) for row in held}
    whole = {key: merge_activities([stored[key], part]) if key in stored else part for key, part in sums.items()}
    statistics.save([statistics.row(pk, "minute", minute, activity) for (pk, minute), activity in whole.items()])


# Scheduling


def enqueue_watch(laboratory: str, *, instead_of: int = 0) -> None:
    """Enqueue a watch of a laboratory's hosts, unless there is one or none of them is observed.

    instead_of : the id of a job that ends now, and does not count
    """
    observed = Host.objects.filter(is_observed=True, laboratory=laboratory, blocked_reason="")
    open_jobs = _open_jobs().filter(arguments__laboratory=laboratory).exclude(pk=instead_of)
    if not open_jobs.exists() and (host := observed.first()):
        jobs.enqueue(JOB, queue=host.queue, laboratory=laboratory)


def enqueue_due_watches() -> None:
    """Enqueue a job for each laboratory with observed hosts and without one; called by the scheduler."""
    observed = Host.objects.filter(is_observed=True, blocked_reason="")
    laboratories = set(observed.values_list("laboratory", flat=True))
    if not laboratories:
        return
    for laboratory in laboratories - set(_open_jobs().values_list("arguments__laboratory", flat=True)):
        enqueue_watch(laboratory)
    Job.objects.filter(kind=JOB, finished_at__lt=now() - _KEEP_JOBS).delete()


def _open_jobs() -> QuerySet[Job]:
    return Job.objects.filter(kind=JOB, state__in=(Job.State.QUEUED, Job.State.RUNNING))
