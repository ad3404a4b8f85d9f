"""One move on its host, from the check to the kept old image. Any process may die at any point of it.

An attempt begins by asking the host from which image the machine runs; what that says, not what the row says, decides
what is left to do. The row is told after the host has done it, and only by the attempt that holds the job's lease.
"""

import logging
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils.timezone import now

from experiments.campaigns import hosts
from experiments.fleet.driver import contract
from experiments.fleet.driver.contract import CopyEnded, Forbidden, Held, Image, MovingDriver
from experiments.fleet.driver.libvirt_moving import LibvirtMoving
from experiments.fleet.driver.proxmox.moving import ProxmoxMoving
from experiments.laboratory.reach import ssh
from experiments.models import Host, ObservedDisk
from kdb.jobs import jobs
from modelling.models import PlacementDecision, PlacementMove

from . import moves, news
from .plans import decide

logger = logging.getLogger(__name__)

POLL_SECONDS = 1.0
State, Action = PlacementMove.State, PlacementDecision.Action

# By these a host says why not; the move waits.
EXPECTED = (ssh.SshError, hosts.HostError, contract.MoveError)

DRIVERS: dict[str, Callable[[ssh.Connection], MovingDriver]] = {
    Host.Driver.LIBVIRT: LibvirtMoving,
    Host.Driver.PROXMOX: ProxmoxMoving,
}


class _CalledOff(Exception):  # noqa: N818
    """The move was called off while it was under way."""


def driver_of(host: Host, machine: ssh.Connection) -> MovingDriver:
    """Return what moves disks on a host. Raises HostError where nothing here knows how."""
    if not host.manager:
        raise hosts.HostError(f"{host} is not registered for {' or '.join(DRIVERS)}, which moves disks.")
    if host.is_by_api:
        raise hosts.HostError(f"{host} is reached by Proxmox VE's API, for observation alone; disks are moved by ssh.")
    return DRIVERS[host.manager](machine)


def wanted(move: PlacementMove) -> contract.Move:
    """Return the move in the words of a driver."""
    policy = moves.policy_of(move.host)
    return contract.Move(
        token=move.token,
        machine=str(move.machine_uuid),
        disk=move.disk,
        old=move.old_path,
        new=move.new_path,
        reserve_bytes=move.to_pool.reserve_bytes if move.to_pool else 0,
        copy_rate=(policy.copy_rate_mib or 0) * 2**20,
    )


def do_move(job: jobs.JobRun, move_id: int) -> None:
    """Do the job of a move. The move ends kept, failed or cancelled; or the job fails, and a later one goes on."""
    move = PlacementMove.objects.select_related("host", "to_pool", "plan", "back_of").get(pk=move_id)
    if move.job_id != job.job_id or move.state not in moves.ACTIVE:
        return
    PlacementMove.objects.filter(pk=move_id, job=job.job_id).update(attempt=F("attempt") + 1)
    attempt = _Attempt(job, move)
    try:
        with hosts.connect(move.host) as machine:
            attempt.do(driver_of(move.host, machine))
    except ssh.KeyChanged as error:
        hosts.block(move.host, str(error))
        attempt.note(f"waits: {error}")
        raise
    except contract.Gone as error:
        attempt.end(State.FAILED, f"{error} Its images stay as they are.", PlacementMove.Image.NOT_KNOWN)
    except EXPECTED as error:
        attempt.note(f"waits: {error}")
        raise
    moves.next_move(move.host_id)


def do_remove(job: jobs.JobRun, move_id: int) -> None:
    """Remove what a move left: its kept old image, or a copy. What the host refuses stays, with the reason."""
    move = PlacementMove.objects.select_related("host", "to_pool").get(pk=move_id)
    if move.job_id != job.job_id or not moves.may_remove(move):
        return
    wish = wanted(move)
    try:
        with hosts.connect(move.host) as machine:
            driver = driver_of(move.host, machine)
            if move.state in (State.FAILED, State.CANCELLED):
                driver.undo(wish)
            else:
                if move.left_over:
                    driver.keep(wish)
                driver.remove(wish)
    except contract.MoveError as error:
        moves.say(move, f"the image stays: {error}")
        raise
    with transaction.atomic():
        job.step(1, 1)
        state = State.DONE if move.state == State.KEPT else move.state
        PlacementMove.objects.filter(pk=move_id).update(state=state, left_over="", finished_at=now())
        moves.say(move, "the image is removed")


class _Attempt:
    """One attempt at one move."""

    def __init__(self, job: jobs.JobRun, move: PlacementMove) -> None:
        self.job, self.move, self.steps = job, move, 0

    def do(self, driver: MovingDriver) -> None:
        wish = wanted(self.move)
        self.keep_lease()
        if driver.runs_from(wish) != Image.NEW:
            try:
                self.copy(driver, wish)
                self.step("switching")
                driver.switch(wish)
            except _CalledOff:
                if driver.runs_from(wish) != Image.NEW:  # a host that switches by itself may have done so by now
                    self.end(State.CANCELLED, left_over=self.take_back(driver, wish))
                    return
            except (CopyEnded, Forbidden) as error:
                if (image := driver.runs_from(wish)) != Image.NEW:
                    self.give_up(driver, wish, image, str(error))
                    return
        wish = driver.landed(wish)
        if self.move.state == State.COPYING:
            self.switched(wish)
        left_over = ""
        try:
            driver.keep(wish)
        except Held as error:
            moves.say(self.move, str(error))
            left_over = wish.old
        self.kept(driver.runs_from(wish), left_over or driver.kept(wish), is_left_over=bool(left_over))

    def copy(self, driver: MovingDriver, wish: contract.Move) -> None:
        """Copy the image, at first after a check. Raises CopyEnded, Forbidden, _CalledOff."""
        if not self.move.attempt:  # a later attempt finds what an earlier one left, and the copy checks by itself
            self.step("checking")
            checked = driver.check(wish)
            self.update(warnings=list(checked.warnings), size_bytes=checked.size_bytes)
        self.step("copying")
        progress = driver.copy(wish)
        while not progress.is_ready:
            self.keep()
            PlacementMove.objects.filter(pk=self.move.pk).update(done_bytes=progress.done)
            time.sleep(POLL_SECONDS)
            progress = driver.progress(wish)
        self.keep()
        began = self.move.started_at or now()
        seconds = (now() - began).total_seconds()
        self.update(done_bytes=progress.total, copy_seconds=seconds)

    def give_up(self, driver: MovingDriver, wish: contract.Move, image: Image, why: str) -> None:
        """Fail the move; remove nothing where the host does not say that the machine runs from its old image."""
        self.keep_lease()
        if image != Image.OLD:
            PlacementMove.objects.filter(pk=self.move.pk).update(runs_from=image.value)
            raise contract.NotSure(f"{why} The host does not say from which image it runs.", image)
        self.end(State.FAILED, reason=why, left_over=self.take_back(driver, wish))

    def take_back(self, driver: MovingDriver, wish: contract.Move) -> str:
        """Undo the move, and return the image that stays because the machine still has it open, "" where none does."""
        try:
            driver.undo(wish)
        except Held as error:
            moves.say(self.move, str(error))
            return wish.new
        return ""

    # What it leaves in the database

    def switched(self, landed: contract.Move) -> None:
        policy, at = moves.policy_of(self.move.host), now()
        with transaction.atomic():
            self.update(
                state=State.SWITCHED,
                new_path=landed.new,
                runs_from=PlacementMove.Image.NEW,
                switched_at=at,
                keep_until=at + timedelta(days=policy.keeps_days),
                step="keeping the old image",
            )
            ObservedDisk.objects.filter(machine=self.move.machine, target=self.move.disk).update(
                path=landed.new, pool=self.move.to_pool
            )
            moves.say(self.move, f"runs from {landed.new}")
            decide(
                self.move.host,
                Action.SWITCHED,
                user=None,
                plan=self.move.plan,
                move=self.move,
                revision=self.move.revision,
                model=self.move.model,
            )
        self.move.state = State.SWITCHED

    def kept(self, image: Image, name: str, *, is_left_over: bool) -> None:
        left_over = name if is_left_over else ""
        with transaction.atomic():
            self.update(state=State.KEPT, runs_from=image.value, step="", finished_at=now(), left_over=left_over)
            moves.say(self.move, f"the old image is kept as {name}")
            if self.move.back_of_id:
                PlacementMove.objects.filter(pk=self.move.back_of_id).update(state=State.UNDONE)
                moves.say(self.move.back_of, "moved back")  # type: ignore[arg-type]

    def end(
        self,
        state: PlacementMove.State,
        reason: str = "",
        image: str = PlacementMove.Image.OLD,
        left_over: str = "",
    ) -> None:
        with transaction.atomic():
            values = {"state": state, "reason": reason, "runs_from": image, "left_over": left_over}
            self.update(**values, step="", finished_at=now())
            moves.say(self.move, f"{state.label}: {reason}" if reason else str(state.label))
            if state == State.FAILED:
                decide(self.move.host, Action.FAILED, user=None, move=self.move, plan=self.move.plan, detail=reason)
                news.tell_of_failure(self.move, reason)
        logger.info("move=%s state=%s reason=%r", self.move.pk, state, reason)

    def update(self, **values: Any) -> None:
        """Update the move where it is still this attempt's. Raises LeaseLost."""
        with transaction.atomic():
            self.steps += 1
            self.job.step(self.steps)
            PlacementMove.objects.filter(pk=self.move.pk, job=self.job.job_id).update(**values)

    def step(self, text: str) -> None:
        self.keep()
        with transaction.atomic():
            self.update(step=text)
            moves.say(self.move, text)

    def note(self, text: str) -> None:
        PlacementMove.objects.filter(pk=self.move.pk, job=self.job.job_id).update(step=text[:200])
        moves.say(self.move, text)

    def keep_lease(self) -> None:
        if not self.job.renew():
            raise jobs.LeaseLost(f"{self.job} was given to another worker")

    def keep(self) -> None:
        """Renew the lease. Raises LeaseLost, _CalledOff."""
        self.keep_lease()
        if PlacementMove.objects.filter(pk=self.move.pk, is_called_off=True, state=State.COPYING).exists():
            raise _CalledOff
