"""Background work of the project itself."""

from kdb.cost import deferral
from kdb.jobs import jobs


@jobs.handler(deferral.JOB)
def work_out_left_requests(run: jobs.JobRun) -> None:
    deferral.answer_waiting()
