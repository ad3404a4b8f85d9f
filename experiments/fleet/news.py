"""The news that the operator of an observed host may want to be told: a pool of it fills up."""

from django.db.models import F, Q
from django.urls import reverse
from django.utils.timezone import now

from experiments.models import Host, ObservedPool
from experiments.templatetags.kdb_format import data_size
from kdb.notifications import announcing
from kdb.notifications.models import Topic

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
        announcing.announce(
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
