"""Register the handlers of the project's own jobs."""

from kdb.cost import deferral
from kdb.jobs import jobs


@jobs.handler(deferral.JOB)
def work_out_left_requests(run: jobs.JobRun) -> None:
    deferral.answer_waiting()
