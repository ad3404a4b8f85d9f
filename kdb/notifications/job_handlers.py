"""Handlers of jobs; kdb.jobs.jobs imports this module."""

from kdb.jobs import jobs

from . import deliveries
from .announcements import JOB


@jobs.handler(JOB)
def deliver_notifications(run: jobs.JobRun) -> None:
    """Send what is due. What fails keeps its reason and the time of its next attempt in its own row."""
    deliveries.deliver_due(run.step)
