"""Call the fixed shell scripts by which drivers move disks, and tell their refusals apart."""

import re
from typing import ClassVar

from experiments.laboratory.transport import remote
from experiments.laboratory.transport.remote import Refused
from experiments.laboratory.transport.ssh import Connection

from .contract import CopyEnded, Forbidden, Image, ImageInUse, MachineGone, Move, MoveError, NotSure

FORMATS = ("raw", "qcow2")
UNSAFE = "Its cache mode is unsafe: what it thinks is written may be lost, moved or not."
_SPARE_BYTES = 64 * 2**20  # beside the image, for what its file system or storage notes of it
# The first word of a refusal of the scripts, to the error that it means; any other forbids the step.
_REFUSALS: dict[str, type[MoveError]] = {
    **{"unknown": MachineGone, "held": ImageInUse},
    **dict.fromkeys(("busy", "libvirt", "silent", "changed"), NotSure),
    **dict.fromkeys(("ended", "stopped", "no"), CopyEnded),
}


class MovingScript:
    """What drivers that move disks share: one connection to the host, and one script of theirs there."""

    script: ClassVar[str]
    passing: ClassVar[re.Pattern[str] | None] = None  # words of a refusal that another try may not meet

    def __init__(self, host: Connection) -> None:
        self.host = host

    def running_image(self, move: Move) -> Image:
        """Return what the contract says."""
        raise NotImplementedError

    def _call(self, verb: str, *arguments: object, timeout: float = 60) -> str:
        """Run a verb of the script; return its answer. Raises MoveError by the first word of its refusal."""
        try:
            return remote.call(self.host, verb, *arguments, timeout=timeout, script=self.script)
        except Refused as error:
            why = str(error).partition(": ")[2] or str(error)
            # Where a program failed or was killed the answer begins with the verb: nothing was refused.
            may_pass = why.startswith(f"{verb}: ") or (self.passing is not None and self.passing.search(why))
            kind = NotSure if may_pass else _REFUSALS.get(re.split(r"[\s:]", why, maxsplit=1)[0], Forbidden)
            raise kind(str(error)) from error

    def _need_old(self, move: Move) -> None:
        if self.running_image(move) != Image.OLD:
            raise Forbidden(f"The machine does not run from {move.old}: moving it back is a move of its own.")

    @staticmethod
    def _need_room(move: Move, size: int, free: int, where: str) -> None:
        if size + move.reserve_bytes + _SPARE_BYTES > free:
            raise Forbidden(
                f"{free:,} bytes are free {where}; {size:,} are needed, and {move.reserve_bytes:,} stay free."
            )
