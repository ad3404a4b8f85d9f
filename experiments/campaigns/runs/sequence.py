"""The steps of one run, one after another, from a clean machine to figures and back to a clean machine.

The job holds the lease; its number makes the token by which machines refuse an older attempt. Every
attempt begins by taking away what an earlier one left, so it may die at any moment. Figures are stored in
one transaction that the lease guards: nothing counts twice.
"""

from contextlib import ExitStack

from django.db.models import F

from experiments.campaigns import control
from experiments.laboratory.transport import remote, ssh
from experiments.models import CampaignRun
from kdb.jobs import jobs

from . import figures, measurement, outcomes, preparation
from .attempt import Attempt
from .causes import cause_of
from .content import Figure, Record

State = CampaignRun.State


def execute(job: jobs.JobRun, run_id: int) -> None:
    """Do the run of a job. It ends done, failed, cancelled, or waits again; then the host's next run begins.

    Where the worker or the database fails it raises, and control.reconcile goes on.
    """
    run = CampaignRun.objects.select_related("campaign", "host", "campaign__pool").get(pk=run_id)
    if run.job_id != job.job_id or run.state != State.ACTIVE:
        return
    if control.put_back(run):
        return
    mine = CampaignRun.objects.filter(pk=run_id, job=job.job_id, state=State.ACTIVE)
    mine.update(attempt=F("attempt") + 1)
    run.refresh_from_db(fields=["attempt"])
    attempt, record = Attempt(job, run), Record()
    if run.attempt > 1:
        attempt.say(f"attempt {run.attempt}")
    try:
        with ExitStack() as stack:
            try:
                figures = measure(attempt, record, stack)
            except Exception as error:
                cause = cause_of(attempt, record.areas, error)
                if cause is error:
                    raise
                raise cause from error
            finally:
                clean_up(attempt, record)
        outcomes.end(attempt, record, State.DONE, figures=figures)
    except Exception as error:
        outcomes.decide(attempt, record, error)
    control.next_run(run.host_id)


def measure(attempt: Attempt, record: Record, stack: ExitStack) -> list[Figure]:
    """Make the machines, have them measure, and return their figures; what is made and known by then is in `record`."""
    if seconds := attempt.campaign.cool_down_seconds:
        attempt.step(f"cooling down for {seconds} s")
        attempt.wait(seconds)
    attempt.step("connecting")
    host, machines = preparation.machines(attempt, record, stack)
    preparation.note_health(attempt, record, host)
    loads = [preparation.load(attempt, record, machine) for machine in machines]
    results = measurement.benchmark(attempt, record, host, machines, loads)
    return [figure for result in results for figure in figures.figures(attempt, record, result)]


def clean_up(attempt: Attempt, record: Record) -> None:
    """Take everything away again. What cannot be now is taken away by the next attempt."""
    for area in record.areas:
        try:
            area.call("clean", timeout=180)
        except remote.Superseded:
            raise
        except (ssh.SshError, remote.NotNow) as error:
            attempt.say(f"clean-up is left to the next run: {error}")
        except remote.Refused as error:
            attempt.say(f"clean-up: {error}")
            record.warnings.append(f"Clean-up: {error}")
