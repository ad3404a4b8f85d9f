"""Run the jobs of moves, and store the progress of their execution (experiments.fleet.moving)."""

import logging
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils.timezone import now

from experiments.fleet import moving
from experiments.fleet.driver.contract import Checked, Image, Move, MoveError
from experiments.models import ObservedDisk
from kdb.jobs import jobs
from modelling.models import PlacementDecision, PlacementMove

from . import moves, notifications
from .plans import write_decision

logger = logging.getLogger(__name__)

State, Action = PlacementMove.State, PlacementDecision.Action


def driver_move(move: PlacementMove) -> Move:
    """Return the move as drivers take it."""
    policy = moves.policy_of(move.host)
    return Move(
        token=move.token,
        machine=str(move.machine_uuid),
        disk=move.disk,
        old=move.old_path,
        new=move.new_path,
        reserve_bytes=move.to_pool.reserve_bytes if move.to_pool else 0,
        copy_rate=(policy.copy_rate_mib or 0) * 2**20,
    )


def run_move(job: jobs.JobRun, move_id: int) -> None:
    """Execute a move: it ends kept, failed or cancelled, or the job fails and a later one continues."""
    move = PlacementMove.objects.select_related("host", "to_pool", "plan", "back_of").get(pk=move_id)
    if move.job_id != job.job_id or move.state not in moves.ACTIVE:
        return
    PlacementMove.objects.filter(pk=move_id, job=job.job_id).update(attempt=F("attempt") + 1)
    moving.execute_move(move.host, driver_move(move), Record(job, move))
    moves.start_next(move.host_id)


def run_removal(job: jobs.JobRun, move_id: int) -> None:
    """Remove the image that a move left: the old one, or an unfinished copy. Log the reason if the host refuses."""
    move = PlacementMove.objects.select_related("host", "to_pool").get(pk=move_id)
    if move.job_id != job.job_id or not moves.may_remove(move):
        return
    has_switched = move.state not in (State.FAILED, State.CANCELLED)
    try:
        moving.remove_image(move.host, driver_move(move), has_switched=has_switched, is_left_over=bool(move.left_over))
    except MoveError as error:
        moves.log(move, f"the image stays: {error}")
        raise
    with transaction.atomic():
        job.step(1, 1)
        state = State.DONE if move.state == State.KEPT else move.state
        PlacementMove.objects.filter(pk=move_id).update(state=state, left_over="", finished_at=now())
        moves.log(move, "the image is removed")


class Record(moving.MoveRecord):
    """The record of one job's execution of a move, which the job owns as long as it holds its lease."""

    def __init__(self, job: jobs.JobRun, move: PlacementMove) -> None:
        self.job, self.move, self.steps = job, move, 0
        self.is_first, self.has_switched = not move.attempt, move.state != State.COPYING

    def renew(self) -> None:
        if not self.job.renew():
            raise jobs.LeaseLost(f"{self.job} was given to another worker")

    def renew_or_stop(self) -> None:
        self.renew()
        if PlacementMove.objects.filter(pk=self.move.pk, is_called_off=True, state=State.COPYING).exists():
            raise moving.CalledOff

    def begin_step(self, text: str) -> None:
        self.renew_or_stop()
        with transaction.atomic():
            self._update(step=text)
            moves.log(self.move, text)

    def note(self, text: str, *, is_step: bool = True) -> None:
        if is_step:
            PlacementMove.objects.filter(pk=self.move.pk, job=self.job.job_id).update(step=text[:200])
        moves.log(self.move, text)

    def checked(self, checked: Checked) -> None:
        self._update(warnings=list(checked.warnings), size_bytes=checked.size_bytes)

    def copying(self, done_bytes: int) -> None:
        PlacementMove.objects.filter(pk=self.move.pk).update(done_bytes=done_bytes)

    def copied(self, total_bytes: int) -> None:
        seconds = (now() - (self.move.started_at or now())).total_seconds()
        self._update(done_bytes=total_bytes, copy_seconds=seconds)

    def image_not_known(self) -> None:
        PlacementMove.objects.filter(pk=self.move.pk).update(runs_from=PlacementMove.Image.NOT_KNOWN)

    def switched(self, move: Move) -> None:
        row, policy, at = self.move, moves.policy_of(self.move.host), now()
        with transaction.atomic():
            self._update(
                state=State.SWITCHED,
                new_path=move.new,
                runs_from=PlacementMove.Image.NEW,
                switched_at=at,
                keep_until=at + timedelta(days=policy.keeps_days),
                step="keeping the old image",
            )
            ObservedDisk.objects.filter(machine=row.machine, target=row.disk).update(path=move.new, pool=row.to_pool)
            moves.log(row, f"runs from {move.new}")
            rests_on = {"revision": row.revision, "model": row.model}
            write_decision(row.host, Action.SWITCHED, user=None, plan=row.plan, move=row, **rests_on)

    def kept(self, image: Image, name: str, *, is_in_use: bool) -> None:
        with transaction.atomic():
            left_over = name if is_in_use else ""
            self._update(state=State.KEPT, runs_from=image.value, step="", finished_at=now(), left_over=left_over)
            moves.log(self.move, f"the old image is kept as {name}")
            if self.move.back_of is not None:
                PlacementMove.objects.filter(pk=self.move.back_of.pk).update(state=State.UNDONE)
                moves.log(self.move.back_of, "moved back")

    def cancelled(self, left_over: str) -> None:
        with transaction.atomic():
            self._end(State.CANCELLED, Image.OLD, left_over)
            moves.log(self.move, str(State.CANCELLED.label))

    def failed(self, reason: str, image: Image, left_over: str = "") -> None:
        with transaction.atomic():
            self._end(State.FAILED, image, left_over, reason)
            moves.log(self.move, f"{State.FAILED.label}: {reason}")
            write_decision(self.move.host, Action.FAILED, user=None, move=self.move, plan=self.move.plan, detail=reason)
            notifications.notify_of_failure(self.move, reason)

    def _end(self, state: PlacementMove.State, image: Image, left_over: str, reason: str = "") -> None:
        self._update(state=state, reason=reason, runs_from=image.value, left_over=left_over, step="", finished_at=now())
        logger.info("move=%s state=%s reason=%r", self.move.pk, state, reason)

    def _update(self, **values: Any) -> None:
        """Update the move if this job still owns it. Raises LeaseLost."""
        with transaction.atomic():
            self.steps += 1
            self.job.step(self.steps)
            PlacementMove.objects.filter(pk=self.move.pk, job=self.job.job_id).update(**values)
