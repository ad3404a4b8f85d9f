"""Register the handler of jobs that deliver notifications."""

from kdb.jobs import jobs

from . import deliveries
from .announcements import JOB


@jobs.handler(JOB)
def deliver_notifications(run: jobs.JobRun) -> None:
    """Send all due deliveries. A failed one has the reason, and the time of its next attempt, in its row."""
    deliveries.deliver_due(run.step)
