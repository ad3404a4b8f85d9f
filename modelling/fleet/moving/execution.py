"""Run the jobs of moves: check, copy, switch and keep the old image, each stored in the move's row.

Any process may die at any point. So an execution first asks the host from which image the machine runs. That, not the
row, decides which steps are left. The row is updated after the host has done a step, and only by the job that owns it.
"""

import logging
import time
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils.timezone import now

from experiments.campaigns import hosts
from experiments.fleet.driver.contract import (
    CopyEnded,
    Forbidden,
    Image,
    ImageInUse,
    MachineGone,
    Move,
    MoveError,
    MovingDriver,
    NotSure,
)
from experiments.fleet.drivers import moving_driver
from experiments.laboratory.transport import ssh
from experiments.models import ObservedDisk
from kdb.jobs import jobs
from modelling.models import PlacementDecision, PlacementMove

from . import moves, notifications
from .plans import write_decision

logger = logging.getLogger(__name__)

POLL_SECONDS = 1.0
EXPECTED = (ssh.SshError, hosts.HostError, MoveError)  # a later execution continues the move

State, Action = PlacementMove.State, PlacementDecision.Action


class MoveCancelled(Exception):  # noqa: N818
    """A person cancelled the move while it ran."""


def run_move(job: jobs.JobRun, move_id: int) -> None:
    """Execute a move: it ends kept, failed or cancelled, or the job fails and a later one continues."""
    move = PlacementMove.objects.select_related("host", "to_pool", "plan", "back_of").get(pk=move_id)
    if move.job_id != job.job_id or move.state not in moves.ACTIVE:
        return
    if moves.put_back(move):
        return
    PlacementMove.objects.filter(pk=move_id, job=job.job_id).update(attempt=F("attempt") + 1)
    execution = Execution(job, move)
    try:
        with hosts.connect(move.host) as machine:
            execution.run(moving_driver(move.host)(machine))
    except MachineGone as error:
        execution.fail(f"{error} Its images stay as they are.", Image.NOT_KNOWN)
    except EXPECTED as error:
        if isinstance(error, ssh.KeyChanged):
            hosts.block(move.host, str(error))
        execution.note(f"waits: {error}")
        raise
    moves.start_next(move.host_id)


def run_removal(job: jobs.JobRun, move_id: int) -> None:
    """Remove the image that a move left: the old one, or an unfinished copy. Log the reason if the host refuses."""
    move = PlacementMove.objects.select_related("host", "to_pool").get(pk=move_id)
    if move.job_id != job.job_id or not moves.may_remove(move):
        return
    try:
        with hosts.connect(move.host) as machine:
            driver = moving_driver(move.host)(machine)
            if move.state in (State.FAILED, State.CANCELLED):
                driver.undo(driver_move(move))
            else:
                if move.left_over:  # the machine had the image open when it was to be kept
                    driver.keep(driver_move(move))
                driver.remove(driver_move(move))
    except MoveError as error:
        moves.log(move, f"the image stays: {error}")
        raise
    with transaction.atomic():
        job.step(1, 1)
        state = State.DONE if move.state == State.KEPT else move.state
        PlacementMove.objects.filter(pk=move_id).update(state=state, left_over="", finished_at=now())
        moves.log(move, "the image is removed")


def driver_move(move: PlacementMove) -> Move:
    """Return the move as drivers take it."""
    return Move(
        token=move.token,
        machine=str(move.machine_uuid),
        disk=move.disk,
        old=move.old_path,
        new=move.new_path,
        reserve_bytes=move.to_pool.reserve_bytes if move.to_pool else 0,
        copy_rate=(moves.policy_of(move.host).copy_rate_mib or 0) * 2**20,
    )


class Execution:
    """One job's execution of a move. Every method but `note` raises LeaseLost where another job took over."""

    def __init__(self, job: jobs.JobRun, row: PlacementMove) -> None:
        self.job, self.row, self.move, self.steps = job, row, driver_move(row), 0

    # What is done on the host

    def run(self, driver: MovingDriver) -> None:
        """Do the steps that are left, until the move is kept, failed or cancelled. Raises EXPECTED."""
        self.renew()
        if driver.running_image(self.move) != Image.NEW and not self._copy_and_switch(driver):
            return
        self.move = driver.locate_new(self.move)
        if self.row.state == State.COPYING:
            self._store_switched()
        kept_as, is_in_use = driver.kept_name(self.move), False
        try:
            driver.keep(self.move)
        except ImageInUse as error:
            moves.log(self.row, str(error))
            kept_as, is_in_use = self.move.old, True
        self._store_kept(driver.running_image(self.move), kept_as, is_in_use)

    def _copy_and_switch(self, driver: MovingDriver) -> bool:
        """Return whether the machine runs from the new image; otherwise the move was undone and has ended."""
        try:
            self._copy(driver)
            self.begin_step("switching")
            driver.switch(self.move)
        except MoveCancelled:
            if driver.running_image(self.move) == Image.NEW:  # where the host switches by itself
                return True
            self._cancel(self._undo(driver))
            return False
        except (CopyEnded, Forbidden) as error:
            image = driver.running_image(self.move)
            if image == Image.NEW:
                return True
            self.renew()
            if image != Image.OLD:  # nothing is removed where the host does not say that the machine runs from it
                PlacementMove.objects.filter(pk=self.row.pk).update(runs_from=PlacementMove.Image.NOT_KNOWN)
                raise NotSure(f"{error} The host does not say from which image it runs.") from error
            self.fail(str(error), Image.OLD, self._undo(driver))
            return False
        return True

    def _copy(self, driver: MovingDriver) -> None:
        """Copy the image, at first after a check. Raises CopyEnded, Forbidden, MoveCancelled."""
        if not self.row.attempt:  # read before run_move counted; a later execution may find a copy, which copy() checks
            self.begin_step("checking")
            checked = driver.check(self.move)
            self._update(warnings=list(checked.warnings), size_bytes=checked.size_bytes)
        self.begin_step("copying")
        progress = driver.copy(self.move)
        while not progress.is_ready:
            self.renew_or_stop()
            PlacementMove.objects.filter(pk=self.row.pk).update(done_bytes=progress.done)
            time.sleep(POLL_SECONDS)
            progress = driver.progress(self.move)
        self.renew_or_stop()
        seconds = (now() - (self.row.started_at or now())).total_seconds()
        self._update(done_bytes=progress.total, copy_seconds=seconds)

    def _undo(self, driver: MovingDriver) -> str:
        """Undo the move, and return the copy that stays because the machine still has it open, "" where none does."""
        try:
            driver.undo(self.move)
        except ImageInUse as error:
            moves.log(self.row, str(error))
            return self.move.new
        return ""

    # What is stored of it

    def renew(self) -> None:
        """Renew the job's lease of the move."""
        if not self.job.renew():
            raise jobs.LeaseLost(f"{self.job} was given to another worker")

    def renew_or_stop(self) -> None:
        """Renew the lease. Raises MoveCancelled."""
        self.renew()
        if PlacementMove.objects.filter(pk=self.row.pk, is_called_off=True, state=State.COPYING).exists():
            raise MoveCancelled

    def begin_step(self, text: str) -> None:
        """Renew the lease, and store the next step."""
        self.renew_or_stop()
        with transaction.atomic():
            self._update(step=text)
            moves.log(self.row, text)

    def note(self, text: str) -> None:
        """Show a line as the present step, and log it."""
        PlacementMove.objects.filter(pk=self.row.pk, job=self.job.job_id).update(step=text[:200])
        moves.log(self.row, text)

    def _store_switched(self) -> None:
        """Store that the machine runs from the new image."""
        row, new, at = self.row, self.move.new, now()
        with transaction.atomic():
            self._update(
                state=State.SWITCHED,
                new_path=new,
                runs_from=PlacementMove.Image.NEW,
                switched_at=at,
                keep_until=at + timedelta(days=moves.policy_of(row.host).keeps_days),
                step="keeping the old image",
            )
            ObservedDisk.objects.filter(machine=row.machine, target=row.disk).update(path=new, pool=row.to_pool)
            moves.log(row, f"runs from {new}")
            rests_on = {"revision": row.revision, "model": row.model}
            write_decision(row.host, Action.SWITCHED, user=None, plan=row.plan, move=row, **rests_on)

    def _store_kept(self, image: Image, name: str, is_in_use: bool) -> None:
        """Store that the move is over, and the name of its old image."""
        with transaction.atomic():
            self._end(State.KEPT, image, name if is_in_use else "", f"the old image is kept as {name}")
            if self.row.back_of is not None:
                PlacementMove.objects.filter(pk=self.row.back_of.pk).update(state=State.UNDONE)
                moves.log(self.row.back_of, "moved back")

    def _cancel(self, left_over: str) -> None:
        with transaction.atomic():
            self._end(State.CANCELLED, Image.OLD, left_over, str(State.CANCELLED.label))

    def fail(self, reason: str, image: Image, left_over: str = "") -> None:
        """Store that the move has failed. left_over : a copy that stays, "" for none"""
        with transaction.atomic():
            self._end(State.FAILED, image, left_over, f"{State.FAILED.label}: {reason}", reason)
            write_decision(self.row.host, Action.FAILED, user=None, move=self.row, plan=self.row.plan, detail=reason)
            notifications.notify_of_failure(self.row, reason)

    def _end(self, state: PlacementMove.State, image: Image, left_over: str, text: str, reason: str = "") -> None:
        self._update(state=state, reason=reason, runs_from=image.value, left_over=left_over, step="", finished_at=now())
        moves.log(self.row, text)
        logger.info("move=%s state=%s reason=%r", self.row.pk, state, reason)

    def _update(self, **values: Any) -> None:
        """Update the move if this job still owns it. Raises LeaseLost."""
        with transaction.atomic():
            self.steps += 1
            self.job.step(self.steps)
            PlacementMove.objects.filter(pk=self.row.pk, job=self.job.job_id).update(**values)
