"""Celery's tasks. A message only wakes a worker; the job is a row (kdb.jobs.jobs)."""

from typing import Any

from celery import Task, signals

from kdb.celery import app
from kdb.jobs import jobs, maintenance, memory
from kdb.operations import upgrades


@signals.worker_init.connect
def preload_before_fork(**kwargs: Any) -> None:
    jobs.preload()


@app.task(name=jobs.RUN_TASK)
def run_job(job_id: int) -> None:
    if not upgrades.end_outdated_worker():  # else the row stays queued for a worker of the new version
        jobs.run(job_id)
        memory.release()


@app.task(name="experiments.tick", bind=True)
def tick(self: Task, of_beat: bool = False) -> None:
    maintenance.maintain(self.request.hostname or "here", of_beat=of_beat)
