"""Call the shell scripts that move disks, and map their refusals to errors."""

import re
from typing import ClassVar

from experiments.laboratory.transport import remote
from experiments.laboratory.transport.remote import Refused
from experiments.laboratory.transport.ssh import Connection

from .contract import CopyEnded, Forbidden, Image, ImageInUse, MachineGone, Move, MoveError, NotSure

FORMATS = ("raw", "qcow2")
UNSAFE = "Its cache mode is unsafe: what it thinks is written may be lost, moved or not."
_METADATA_BYTES = 64 * 2**20  # of file system or storage, beside the image
# The first word of a refusal of the scripts, to the error that it means; any other forbids the step.
_REFUSALS: dict[str, type[MoveError]] = {
    **{"unknown": MachineGone, "held": ImageInUse},
    **dict.fromkeys(("busy", "libvirt", "silent", "changed"), NotSure),
    **dict.fromkeys(("ended", "stopped", "no"), CopyEnded),
}


class MovingScript:
    """Base of drivers that move disks: a connection to the host, and the driver's script, run there."""

    script: ClassVar[str]
    transient: ClassVar[re.Pattern[str] | None] = None  # refusals after which another try may succeed

    def __init__(self, host: Connection) -> None:
        self.host = host

    def running_image(self, move: Move) -> Image:
        raise NotImplementedError

    def _call(self, verb: str, *arguments: object, timeout: float = 60) -> str:
        """Run a verb of the script; return its answer. Raises MoveError by the first word of its refusal."""
        try:
            return remote.call(self.host, verb, *arguments, timeout=timeout, script=self.script)
        except Refused as error:
            why = str(error).partition(": ")[2] or str(error)
            # The answer begins with the verb where a program failed or was killed: that is no refusal.
            may_pass = why.startswith(f"{verb}: ") or (self.transient is not None and self.transient.search(why))
            kind = NotSure if may_pass else _REFUSALS.get(re.split(r"[\s:]", why, maxsplit=1)[0], Forbidden)
            raise kind(str(error)) from error

    def _require_old(self, move: Move) -> None:
        if self.running_image(move) != Image.OLD:
            raise Forbidden(f"The machine does not run from {move.old}: moving it back is a move of its own.")

    @staticmethod
    def _require_space(move: Move, size: int, free: int, where: str) -> None:
        if size + move.reserve_bytes + _METADATA_BYTES > free:
            raise Forbidden(
                f"{free:,} bytes are free {where}; {size:,} are needed, and {move.reserve_bytes:,} stay free."
            )
