"""Execute a move of a disk on its host: check, copy, switch, keep the old image. Any process may die at any point.

An execution first asks the host from which image the machine runs. That, not the record, decides which steps are left.
The record is updated after the host has done a step.
"""

import time
from typing import Protocol

from experiments.campaigns import hosts
from experiments.laboratory.transport import ssh
from experiments.models import Host

from .driver.contract import (
    Checked,
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
from .drivers import moving_driver

POLL_SECONDS = 1.0

# Errors after which a later execution continues the move.
EXPECTED = (ssh.SshError, hosts.HostError, MoveError)


class CalledOff(Exception):  # noqa: N818
    """The move was called off while it was under way."""


class MoveRecord(Protocol):
    """The record that an execution keeps. Every method but `note` raises where another execution took over.

    is_first : no execution of the move was begun before; has_switched : an earlier one recorded the switch
    """

    is_first: bool
    has_switched: bool

    def renew(self) -> None:
        """Renew this execution's lease of the move."""

    def renew_or_stop(self) -> None:
        """Renew the lease. Raises CalledOff where the move was called off."""

    def begin_step(self, text: str) -> None:
        """Renew the lease, and record the next step."""

    def note(self, text: str, *, is_step: bool = True) -> None:
        """Write a line of the log. is_step : also show it as the present step"""

    def checked(self, checked: Checked) -> None: ...
    def copying(self, done_bytes: int) -> None: ...
    def copied(self, total_bytes: int) -> None: ...
    def image_not_known(self) -> None: ...
    def switched(self, move: Move) -> None:
        """The machine runs from move.new now."""

    def kept(self, image: Image, name: str, *, is_in_use: bool) -> None:
        """The move is over, and the old image is kept under that name."""

    def cancelled(self, left_over: str) -> None:
        """The move is over before its switch. left_over : a copy that stays, "" for none; so of `failed`"""

    def failed(self, reason: str, image: Image, left_over: str = "") -> None: ...


def execute_move(host: Host, move: Move, record: MoveRecord) -> None:
    """Execute a move until it is kept, failed or cancelled. Raises EXPECTED where it has to wait, after a note."""
    try:
        with hosts.connect(host) as machine:
            _execute(moving_driver(host)(machine), move, record)
    except ssh.KeyChanged as error:
        hosts.block(host, str(error))
        record.note(f"waits: {error}")
        raise
    except MachineGone as error:
        record.failed(f"{error} Its images stay as they are.", Image.NOT_KNOWN)
    except EXPECTED as error:
        record.note(f"waits: {error}")
        raise


def remove_image(host: Host, move: Move, *, has_switched: bool, is_left_over: bool) -> None:
    """Remove what a move left: its kept old image, or the copy of one that has not switched. Raises EXPECTED.

    is_left_over : the machine had the image open when it was to be kept
    """
    with hosts.connect(host) as machine:
        driver = moving_driver(host)(machine)
        if not has_switched:
            driver.undo(move)
            return
        if is_left_over:
            driver.keep(move)
        driver.remove(move)


def _execute(driver: MovingDriver, move: Move, record: MoveRecord) -> None:
    record.renew()
    if driver.running_image(move) != Image.NEW and not _copy_and_switch(driver, move, record):
        return
    move = driver.locate_new(move)
    if not record.has_switched:
        record.switched(move)
    is_in_use = False
    try:
        driver.keep(move)
    except ImageInUse as error:
        record.note(str(error), is_step=False)
        is_in_use = True
    record.kept(driver.running_image(move), move.old if is_in_use else driver.kept_name(move), is_in_use=is_in_use)


def _copy_and_switch(driver: MovingDriver, move: Move, record: MoveRecord) -> bool:
    """Return whether the machine runs from the new image; otherwise the move was undone and recorded."""
    try:
        _copy(driver, move, record)
        record.begin_step("switching")
        driver.switch(move)
    except CalledOff:
        if driver.running_image(move) == Image.NEW:  # where the host switches by itself
            return True
        record.cancelled(_undo(driver, move, record))
        return False
    except (CopyEnded, Forbidden) as error:
        image = driver.running_image(move)
        if image == Image.NEW:
            return True
        record.renew()
        if image != Image.OLD:  # nothing is removed where the host does not say that the machine runs from the old one
            record.image_not_known()
            raise NotSure(f"{error} The host does not say from which image it runs.") from error
        record.failed(str(error), Image.OLD, _undo(driver, move, record))
        return False
    return True


def _copy(driver: MovingDriver, move: Move, record: MoveRecord) -> None:
    """Copy the image, at first after a check. Raises CopyEnded, Forbidden, CalledOff."""
    if record.is_first:  # a later execution may find a copy, which driver.copy checks itself
        record.begin_step("checking")
        record.checked(driver.check(move))
    record.begin_step("copying")
    progress = driver.copy(move)
    while not progress.is_ready:
        record.renew_or_stop()
        record.copying(progress.done)
        time.sleep(POLL_SECONDS)
        progress = driver.progress(move)
    record.renew_or_stop()
    record.copied(progress.total)


def _undo(driver: MovingDriver, move: Move, record: MoveRecord) -> str:
    """Undo the move, and return the copy that stays because the machine still has it open, "" where none does."""
    try:
        driver.undo(move)
    except ImageInUse as error:
        record.note(str(error), is_step=False)
        return move.new
    return ""
