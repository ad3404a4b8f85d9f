"""Tells the operator of an observed host that a pool of it fills up, or that disks became slow."""

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

FULL, RELIEVED = 0.10, 0.15  # share of a pool that is free: below the first it is told of, above the second again


def tell_of_pools(host: Host) -> None:
    """Tell the host's operator once of each pool that began to fill up; call it in the transaction that saw it.

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
                "host": host.slug,
                "pool": pool.path,
                "free_bytes": pool.free_bytes,
                "size_bytes": pool.size_bytes,
                "reserve_bytes": pool.reserve_bytes,
            },
            users=[host.registered_by_id],
        )


def tell_of_slow_disks(last: datetime) -> None:
    """Tell each operator once of the disks that became slower than they were at these hours; see fleet.latency.

    last : the beginning of the last full hour. One message a host: what is wrong with a pool is wrong with all on it.
    """
    seconds = _seconds_a_request(last)
    known = ObservedDisk.objects.filter(pk__in=seconds).select_related("machine__host", "pool")
    became: dict[Host, list[tuple[ObservedDisk, latency.Judged]]] = defaultdict(list)
    relieved = []
    for disk in known.order_by("machine__name", "target"):
        told = latency.judged(seconds[disk.pk], last)
        if told is None:
            continue
        if disk.slow_since is None and told.is_slow:
            became[disk.machine.host].append((disk, told))
        elif disk.slow_since is not None and told.is_relieved:
            relieved.append(disk.pk)
    with transaction.atomic():
        ObservedDisk.objects.filter(pk__in=relieved).update(slow_since=None)
        for host, disks in became.items():
            ObservedDisk.objects.filter(pk__in=[disk.pk for disk, _ in disks]).update(slow_since=now())
            _tell_of_slow(host, disks)


def _seconds_a_request(last: datetime) -> dict[int, dict[datetime, float]]:
    """Return by disk and hour what a request took on average, of hours with enough of them."""
    requests = F("reads") + F("writes") + F("flushes")
    rows = (
        DiskStatistics.objects.filter(span="hour", starts_at__in=latency.needed(last))
        .annotate(requests=requests, took=F("read_seconds") + F("write_seconds") + F("flush_seconds"))
        .filter(requests__gte=latency.LEAST_REQUESTS, took__gt=0)
        .values_list("disk_id", "starts_at", "requests", "took")
    )
    seconds: dict[int, dict[datetime, float]] = defaultdict(dict)
    for disk_id, at, count, took in rows.iterator(chunk_size=5000):
        seconds[disk_id][at] = took / count
    return seconds


def _tell_of_slow(host: Host, disks: list[tuple[ObservedDisk, latency.Judged]]) -> None:
    if host.registered_by_id is None:
        return
    lines = [
        f"{disk.machine} {disk} on {disk.pool or 'no pool'}: {1000 * told.seconds:.3g} ms a request in the last hour, "
        f"{told.seconds / told.usual:.1f} times the {1000 * told.usual:.3g} ms that were usual at this time of day"
        for disk, told in disks
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
                {"machine": str(disk.machine), "disk": str(disk), "seconds": told.seconds, "usual_seconds": told.usual}
                for disk, told in disks
            ],
        },
        users=[host.registered_by_id],
    )
