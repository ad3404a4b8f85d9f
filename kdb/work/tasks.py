"""The tasks that messages of the broker start. The work itself is a Job row: see kdb.work.jobs."""

from datetime import timedelta

from celery import Task
from django.utils.timezone import now

from kdb.celery import app
from kdb.models import WorkerHeartbeat
from kdb.operating import upgrades
from kdb.signals import ticked

from . import jobs

_FORGET_WORKER_AFTER = timedelta(days=1)
_BETWEEN_TICKS = timedelta(seconds=10)
TICK = "tick"  # among the names of workers, for no worker is called so


@app.task(name=jobs.RUN_TASK)
def run_job(job_id: int) -> None:
    if not upgrades.end_outdated_worker():  # else the row waits for a worker of the new version
        jobs.run(job_id)


@app.task(name="experiments.tick", bind=True)
def tick(self: Task, of_beat: bool = False) -> None:
    """Look after the jobs, and leave a trace: beat, broker, this worker and the database join up.

    of_beat : one of those that come every quarter of a minute; where several beats send them, every second is left out
    """
    if upgrades.end_outdated_worker():
        return
    WorkerHeartbeat.objects.update_or_create(name=self.request.hostname or "here", defaults={"seen_at": now()})
    if of_beat and not _is_first():
        return
    jobs.reap()
    WorkerHeartbeat.objects.filter(seen_at__lt=now() - _FORGET_WORKER_AFTER).delete()
    ticked.send(sender=WorkerHeartbeat)


def _is_first() -> bool:
    """Tell whether no other beat's tick was taken up just now; one UPDATE decides."""
    _, is_new = WorkerHeartbeat.objects.get_or_create(name=TICK, defaults={"seen_at": now()})
    lately = now() - _BETWEEN_TICKS
    return is_new or WorkerHeartbeat.objects.filter(name=TICK, seen_at__lte=lately).update(seen_at=now()) == 1
