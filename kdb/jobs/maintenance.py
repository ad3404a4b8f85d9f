"""The tick: every quarter of a minute a worker looks after jobs, and has the applications look after theirs."""

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
    """Look after the jobs, and leave a trace: clock, worker and database join up.

    of_beat : one of those that come every quarter of a minute; where several clocks send them, every second is left out
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
    """Tell whether no other clock's tick was taken up just now; one UPDATE decides."""
    _, is_new = WorkerHeartbeat.objects.get_or_create(name=CLOCK, defaults={"seen_at": now()})
    lately = now() - _BETWEEN_TICKS
    return is_new or WorkerHeartbeat.objects.filter(name=CLOCK, seen_at__lte=lately).update(seen_at=now()) == 1
