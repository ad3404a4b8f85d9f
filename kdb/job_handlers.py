"""Background work of the project itself."""

from kdb.cost import leaving
from kdb.work import jobs


@jobs.handler(leaving.JOB)
def work_out_left_requests(run: jobs.JobRun) -> None:
    leaving.work_out_all()
