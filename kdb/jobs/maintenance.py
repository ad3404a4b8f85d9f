"""The tick: every 15 seconds a worker takes back lost jobs, and the applications do their own maintenance."""

from datetime import timedelta

from django.utils.timezone import now

from kdb.jobs import jobs
from kdb.models import WorkerHeartbeat
from kdb.operations import upgrades
from kdb.signals import ticked

_FORGET_WORKER_AFTER = timedelta(days=1)
_BETWEEN_TICKS = timedelta(seconds=10)
CLOCK = "tick"  # among the names of workers, for no worker is called so


def maintain(worker: str, *, of_beat: bool) -> None:
    """Record that the worker lives, take back lost jobs, and send the signal `ticked`.

    of_beat : sent by a clock; of several clocks' ticks within ten seconds, only the first counts
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
    """Tell whether no other clock ticked just now; one UPDATE decides between two."""
    _, is_new = WorkerHeartbeat.objects.get_or_create(name=CLOCK, defaults={"seen_at": now()})
    lately = now() - _BETWEEN_TICKS
    return is_new or WorkerHeartbeat.objects.filter(name=CLOCK, seen_at__lte=lately).update(seen_at=now()) == 1
