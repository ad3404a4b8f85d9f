"""Background work of modelling; experiments.jobs runs it."""

from experiments import jobs

from . import claim_verdicts, previews, quality_reports, snapshots


@jobs.handler(snapshots.JOB)
def recompute_rankings(run: jobs.JobRun) -> None:
    """Answer again what publications superseded, while the previous answers are served."""
    snapshots.answer_waiting(run.step)


@jobs.handler(quality_reports.JOB)
def recompute_quality(run: jobs.JobRun) -> None:
    """Hold the models against every case study again, while the previous report is served."""
    quality_reports.bring_up_to_date()


@jobs.handler(claim_verdicts.JOB)
def recompute_claims(run: jobs.JobRun) -> None:
    """Judge the claims and hypotheses by what is published now, while the previous verdicts are shown."""
    claim_verdicts.recompute()
    run.step(1, 1)


@jobs.handler(previews.JOB)
def preview_publication(run: jobs.JobRun, case_study_id: int) -> None:
    """Work out what publishing the draft would change; the previous preview stays until then."""
    previews.compute(case_study_id, run.step)
