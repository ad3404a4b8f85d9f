"""The tick: every 15 s, a worker requeues lost jobs, and the apps do their own maintenance."""

from datetime import timedelta

from django.utils.timezone import now

from kdb.jobs import jobs
from kdb.models import WorkerHeartbeat
from kdb.operations import upgrades
from kdb.signals import ticked

_FORGET_WORKER_AFTER = timedelta(days=1)
_BETWEEN_TICKS = timedelta(seconds=10)
CLOCK = "tick"  # the name of the row for clocks, which no worker has


def maintain(worker: str, *, of_beat: bool) -> None:
    """Record that the worker is alive, requeue lost jobs, and send the signal `ticked`.

    of_beat : whether a clock sent it; of several clocks, only the first tick within ten seconds counts
    """
    if upgrades.end_outdated_worker():
        return
    WorkerHeartbeat.objects.update_or_create(name=worker, defaults={"seen_at": now()})
    if of_beat and not _is_first():
        return
    jobs.reap()
    WorkerHeartbeat.objects.filter(seen_at__lt=now() - _FORGET_WORKER_AFTER).delete()
    ticked.send(sender=WorkerHeartbeat)


def _is_first() -> bool:
    """Tell whether no other clock ticked within _BETWEEN_TICKS; one UPDATE decides between two."""
    _, is_new = WorkerHeartbeat.objects.get_or_create(name=CLOCK, defaults={"seen_at": now()})
    lately = now() - _BETWEEN_TICKS
    return is_new or WorkerHeartbeat.objects.filter(name=CLOCK, seen_at__lte=lately).update(seen_at=now()) == 1
