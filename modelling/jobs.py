"""Background work of modelling; experiments.jobs runs it."""

from experiments import jobs

from . import services


@jobs.handler("recompute_rankings")
def recompute_rankings(run: jobs.JobRun, snapshot_ids: list[int]) -> None:
    """Answer again what a publication superseded, while the previous answers are served."""
    services.recompute(snapshot_ids, run.step)
