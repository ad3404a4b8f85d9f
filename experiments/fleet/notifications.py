"""Notify the operator of an observed host of pools that fill up and of disks that became slow."""

from collections import defaultdict
from datetime import datetime

from django.db import transaction
from django.db.models import F, Q
from django.urls import reverse
from django.utils.timezone import now

from experiments.models import DiskStatistics, Host, ObservedDisk, ObservedPool
from experiments.templatetags.kdb_format import data_size
from kdb.notifications import announcements
from kdb.notifications.models import Topic

from . import latency

FULL, RELIEVED = 0.10, 0.15  # free share of a pool: notify below the first, re-arm above the second


def notify_of_full_pools(host: Host) -> None:
    """Notify the host's operator once of each pool that began to fill up; call it in the transaction that saw it.

    A pool fills up where less than FULL of it is free, or less than its reserve. Two statements where nothing changed.
    """
    pools = ObservedPool.objects.filter(host=host, size_bytes__gt=0)
    is_full = Q(free_bytes__lt=F("size_bytes") * FULL) | Q(free_bytes__lt=F("reserve_bytes"))
    pools.filter(filling_since__isnull=False, free_bytes__gte=F("size_bytes") * RELIEVED).exclude(is_full).update(
        filling_since=None
    )
    for pool in pools.filter(is_full, filling_since__isnull=True):
        ObservedPool.objects.filter(pk=pool.pk).update(filling_since=now())
        if host.registered_by_id is None:
            continue
        left = f"{data_size(pool.free_bytes)} of {data_size(pool.size_bytes)}"
        reserve = f"; {data_size(pool.reserve_bytes)} are to stay free" if pool.reserve_bytes else ""
        announcements.announce(
            Topic.MACHINES,
            subject=f"{host}: {pool} has {left} left",
            text=f"{left} are free in {pool.path} on {host}{reserve}. The page of its machines can empty it.",
            path=f"{reverse('observed-host', args=[host.slug])}#pools",
            facts={
                **{"host": host.slug, "pool": pool.path},
                **{name: getattr(pool, name) for name in ("free_bytes", "size_bytes", "reserve_bytes")},
            },
            users=[host.registered_by_id],
        )


def notify_of_slow_disks(last: datetime) -> None:
    """Notify each operator once of the disks that became slow (fleet.latency), in one message a host.

    last : the beginning of the last full hour
    """
    seconds = _seconds_a_request(last)
    known = ObservedDisk.objects.filter(pk__in=seconds).select_related("machine__host", "pool")
    became_slow: dict[Host, list[tuple[ObservedDisk, latency.Judgement]]] = defaultdict(list)
    relieved = []
    for disk in known.order_by("machine__name", "target"):
        judgement = latency.judge(seconds[disk.pk], last)
        if judgement is None:
            continue
        if disk.slow_since is None and judgement.is_slow:
            became_slow[disk.machine.host].append((disk, judgement))
        elif disk.slow_since is not None and judgement.is_relieved:
            relieved.append(disk.pk)
    with transaction.atomic():
        ObservedDisk.objects.filter(pk__in=relieved).update(slow_since=None)
        for host, disks in became_slow.items():
            ObservedDisk.objects.filter(pk__in=[disk.pk for disk, _ in disks]).update(slow_since=now())
            _notify_of_slow(host, disks)


def _seconds_a_request(last: datetime) -> dict[int, dict[datetime, float]]:
    """Return mean seconds of a request by disk and hour, for hours with enough requests."""
    requests = F("reads") + F("writes") + F("flushes")
    rows = (
        DiskStatistics.objects.filter(span="hour", starts_at__in=latency.hours_needed(last))
        .annotate(requests=requests, took=F("read_seconds") + F("write_seconds") + F("flush_seconds"))
        .filter(requests__gte=latency.LEAST_REQUESTS, took__gt=0)
        .values_list("disk_id", "starts_at", "requests", "took")
    )
    seconds: dict[int, dict[datetime, float]] = defaultdict(dict)
    for disk_id, at, count, took in rows.iterator(chunk_size=5000):
        seconds[disk_id][at] = took / count
    return seconds


def _notify_of_slow(host: Host, disks: list[tuple[ObservedDisk, latency.Judgement]]) -> None:
    if host.registered_by_id is None:
        return
    lines = [
        f"{disk.machine} {disk} on {disk.pool or 'no pool'}: {1000 * slow.seconds:.3g} ms a request in the last hour, "
        f"{slow.seconds / slow.usual:.1f} times the {1000 * slow.usual:.3g} ms that were usual at this time of day"
        for disk, slow in disks
    ]
    which = f"{disks[0][0].machine} {disks[0][0]}" if len(disks) == 1 else f"{len(disks)} disks"
    announcements.announce(
        Topic.MACHINES,
        subject=f"{host}: {which} became slow",
        text="For three hours, slower than at these hours of the two weeks before.\n" + "\n".join(lines),
        path=reverse("observed-host", args=[host.slug]),
        facts={
            "host": host.slug,
            "disks": [
                {"machine": str(disk.machine), "disk": str(disk), "seconds": slow.seconds, "usual_seconds": slow.usual}
                for disk, slow in disks
            ],
        },
        users=[host.registered_by_id],
    )
