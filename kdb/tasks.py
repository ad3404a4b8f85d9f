"""What a message of the broker starts. The work itself is a Job row: see kdb.jobs."""

from datetime import timedelta

from celery import Task
from django.utils.timezone import now

from kdb.celery import app
from kdb.models import WorkerHeartbeat

from . import jobs
from .signals import ticked

_FORGET_WORKER_AFTER = timedelta(days=1)


@app.task(name=jobs.RUN_TASK)
def run_job(job_id: int) -> None:
    jobs.run(job_id)


@app.task(name="experiments.tick", bind=True)
def tick(self: Task) -> None:
    """Look after the jobs, and leave a trace: beat, broker, this worker and the database join up."""
    jobs.reap()
    WorkerHeartbeat.objects.update_or_create(name=self.request.hostname or "here", defaults={"seen_at": now()})
    WorkerHeartbeat.objects.filter(seen_at__lt=now() - _FORGET_WORKER_AFTER).delete()
    ticked.send(sender=WorkerHeartbeat)
