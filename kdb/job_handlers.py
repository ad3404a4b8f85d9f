"""Background work of the project itself."""

from kdb import jobs
from kdb.cost import leaving


@jobs.handler(leaving.JOB)
def work_out_left_requests(run: jobs.JobRun) -> None:
    leaving.work_out_all()
