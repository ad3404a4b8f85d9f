"""Register the background jobs of modelling, which kdb.jobs.jobs runs."""

from kdb.jobs import jobs

from .answer_store import snapshots, standing
from .answer_store.previews import effects, preview
from .answer_store.subscriptions import followers
from .claims import verdicts
from .fleet.detection import persistence as detection
from .fleet.moving import execution, moves, outcomes, policies
from .own_lab.changes import detection as changes
from .prediction.validation import reports


@jobs.handler(snapshots.JOB)
def recompute_rankings(run: jobs.JobRun) -> None:
    """Compute superseded answers again, while the previous ones are served."""
    snapshots.answer_waiting_questions(run.step)


@jobs.handler(standing.JOB)
def ask_standing_questions(run: jobs.JobRun) -> None:
    """Enqueue questions that published evidence compares for the first time, before anybody asks them."""
    standing.enqueue_missing()
    run.step(1, 1)


@jobs.handler(followers.JOB)
def tell_followers(run: jobs.JobRun) -> None:
    """Notify followers of questions whose answers changed."""
    followers.tell_followers(run.step)


@jobs.handler(changes.JOB)
def find_changes(run: jobs.JobRun) -> None:
    """Test the series of ended sittings for changes, and notify of those found."""
    changes.find_changes(run.step)


@jobs.handler(reports.JOB)
def recompute_quality(run: jobs.JobRun) -> None:
    """Validate the models on every case study again, while the previous report is served."""
    reports.KEPT.bring_up_to_date()


@jobs.handler(verdicts.JOB)
def recompute_claims(run: jobs.JobRun) -> None:
    """Judge claims and hypotheses by the published evidence, while the previous verdicts are shown."""
    verdicts.recompute()
    run.step(1, 1)


@jobs.handler(preview.JOB)
def preview_publication(run: jobs.JobRun, case_study_id: int) -> None:
    """Compute what publishing the draft would change, while the previous preview is shown."""
    preview.compute_preview(case_study_id, run.step)


@jobs.handler(effects.JOB)
def recompute_effects(run: jobs.JobRun) -> None:
    """Compute which headlines changed when evidence was published or ended."""
    effects.compute_effects(run.step)


@jobs.handler(detection.TRAIN_JOB)
def train_detection(run: jobs.JobRun) -> None:
    """Train detection on the current signatures, while the previous model is used."""
    detection.train()
    run.step(1, 1)


@jobs.handler(detection.DETECT_JOB)
def detect_workloads(run: jobs.JobRun) -> None:
    """Detect the workloads of observed machines, hour by hour."""
    detection.detect()
    run.step(1, 1)


jobs.handler(moves.MOVE_JOB, expects=execution.EXPECTED)(execution.run_move)
jobs.handler(moves.REMOVE_JOB, expects=execution.EXPECTED)(execution.run_removal)
jobs.handler(policies.PLAN_JOB)(policies.run_policy)
jobs.handler(outcomes.JOB)(outcomes.judge_due_moves)
