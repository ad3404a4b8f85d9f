"""Watch an observed host: list its machines every few minutes, read the counters of all disks every few seconds.

A job of about a minute uses one connection, stores its results in one transaction, and enqueues the next job; so does
the scheduler where none is queued. The last counters of each disk are stored, so a job that dies loses only detail, as
the next one sees the difference. Two jobs at one host count nothing twice, because a look that is not later than the
stored one is ignored.
"""

import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime, timedelta
from functools import partial

from django.db import transaction
from django.db.models import Max, Q
from django.utils.timezone import now

from experiments.campaigns import hosts
from experiments.laboratory.transport import remote, ssh
from experiments.laboratory.transport.counters import Counts
from experiments.models import DiskStatistics, Host, ObservedDisk, ObservedMachine, ObservedPool
from kdb.jobs import jobs
from kdb.models import Job

from . import notifications, statistics
from .aggregation import DiskActivity, by_minute, counts_of, merge_activities
from .driver.contract import ListedMachine, Listing
from .driver.guests import file_systems_by_superblock
from .drivers import listing_driver

logger = logging.getLogger(__name__)

JOB = "observe_host"
SECONDS = 60  # length of one job
LIST_EVERY = timedelta(minutes=10)
LIST_NEW_SECONDS = 60  # at least between two lists, where the counters show an unknown machine
RETRY_AFTER = timedelta(minutes=1)  # after a look that failed
MAX_GUESTS_ASKED = 20  # whose file systems are looked for after one list
_KEEP_JOBS = timedelta(days=1)

SECONDS_A_MACHINE = 0.6  # of the interval between looks: a look costs 2.5 ms of a core for each machine
LONGEST_SECONDS = 60.0  # most that the number of machines makes of the interval

Look = tuple[datetime, dict[str, dict[str, Counts]]]  # time; counters by runs_as and disk
Source = ObservedMachine.GuestSource


def interval(every: float, machines: int, shortest: float = 0.0) -> float:
    """Return the seconds between two looks: as configured, or more where many machines make a look expensive.

    shortest : of the driver. Sums lose nothing by longer intervals, as counters go on.
    """
    return max(every, shortest, min(machines * SECONDS_A_MACHINE, LONGEST_SECONDS))


def watch(run: jobs.JobRun, host_id: int) -> None:
    """Watch the host of a job, and enqueue the next watch."""
    host = Host.objects.filter(pk=host_id, is_observed=True).first()
    if host is not None and watch_for(host, SECONDS, partial(run.step, 0)):
        enqueue_watch(host)


def watch_for(host: Host, seconds: float, guard: Callable[[], object] = lambda: None) -> bool:
    """Watch a host and store what was seen; return False where that failed, with the reason in observation_error.

    guard : called in each transaction; raises where another job took over
    """
    try:
        with hosts.connect(host) as machine:
            _Watch(host, machine, guard).run_for(seconds)
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


class _Watch:
    """The looks over one connection."""

    def __init__(self, host: Host, machine: ssh.Connection, guard: Callable[[], object]) -> None:
        self.host, self.machine, self.guard = host, machine, guard
        self.driver = listing_driver(host)(machine)
        self.looks: list[Look] = []
        self.listed = 0.0  # time.monotonic() of the last list in this job

    def run_for(self, seconds: float) -> None:
        last_listed = ObservedPool.objects.filter(host=self.host).aggregate(at=Max("seen_at"))["at"]
        if last_listed is None or now() - last_listed > LIST_EVERY:
            self.list_all()
        machines = ObservedMachine.objects.filter(host=self.host, is_running=True).count()
        every = interval(self.host.observed_every, machines, self.driver.shortest_seconds)
        end = time.monotonic() + seconds
        if self.host.observed_at is not None:  # the job before this one looked last
            rest = every - (now() - self.host.observed_at).total_seconds()
            time.sleep(min(max(rest, 0), every))
        try:
            self.look()
            while (left := end - time.monotonic()) > 0:
                time.sleep(min(every, left))
                self.look()
        finally:
            if self.looks:
                save_looks(self.host, self.looks, self.guard)

    def look(self) -> None:
        before = now()
        counts = self.driver.read_counters()
        at = before + (now() - before) / 2
        known = ObservedMachine.objects.filter(host=self.host).values_list("runs_as", flat=True)
        is_due = not self.listed or time.monotonic() - self.listed > LIST_NEW_SECONDS
        if is_due and not counts.keys() <= set(known):
            self.list_all()
        self.looks.append((at, counts))

    def list_all(self) -> None:
        self.listed = time.monotonic()
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


def enqueue_watch(host: Host) -> None:
    """Enqueue a watch of the host, unless one waits for a worker."""
    open_jobs = Job.objects.filter(kind=JOB, arguments__host_id=host.pk, state=Job.State.QUEUED)
    if not open_jobs.exists():
        jobs.enqueue(JOB, queue=host.queue, host_id=host.pk)


def enqueue_due_watches() -> None:
    """Enqueue a job for each observed host without one, a minute after a failed one; called by the scheduler."""
    observed = list(Host.objects.filter(is_observed=True))
    if not observed:
        return
    open_states = (Job.State.QUEUED, Job.State.RUNNING)
    recent = Job.objects.filter(kind=JOB).filter(Q(state__in=open_states) | Q(finished_at__gt=now() - RETRY_AFTER))
    busy, just_finished = set[int](), set[int]()
    for state, arguments in recent.values_list("state", "arguments"):
        (busy if state in open_states else just_finished).add(arguments.get("host_id"))
    for host in observed:
        waits = bool(host.observation_error) and host.pk in just_finished
        if host.pk not in busy and not waits and not host.blocked_reason:
            jobs.enqueue(JOB, queue=host.queue, host_id=host.pk)
    Job.objects.filter(kind=JOB, finished_at__lt=now() - _KEEP_JOBS).delete()
