"""The verbs of remote.sh as functions. Names and texts go there as arguments, never into the script."""

from dataclasses import dataclass
from pathlib import Path

from .ssh import Connection

SCRIPT = Path(__file__).with_name("remote.sh").read_text()
_REFUSED = 90
_LINE = 500  # longest text of an error that is told
LONGEST_LINE = 20_000  # of an answer
OUTPUT_BYTES = 16 * 2**20  # of a benchmark that remote.sh sends


class Refused(Exception):  # noqa: N818 - the machine's decision
    """The machine would not do it, or could not; the text says why."""


class Superseded(Refused):
    """A later attempt works there: this one must stop and touch nothing."""


MachineFacts = list[tuple[str, str]]  # in printed order; a key may come twice


@dataclass(frozen=True)
class Poll:
    """How a benchmark stands. `wall`, `up` are the machine's clocks, s; `status` None while it runs.

    ready : it has made its files, and waits or waited at the barrier; `began`: when it went on, on the clock `up`
    """

    state: str  # running, exited, gone
    status: int | None
    wall: float
    up: float
    storage_errors: int
    ready: bool = False
    began: float | None = None


def call(
    machine: Connection, verb: str, *arguments: object, timeout: float = 60, script: str = "", given: bytes = b""
) -> str:
    """What a verb prints: of `script`, else of remote.sh. Raises Refused, Superseded, and what ssh raises."""
    words = ["sh", "-c", script or SCRIPT, "kdb-remote", verb, *map(str, arguments)]
    answer = machine.run(words, timeout=timeout, given=given)
    if answer.status:
        # A login shell that runs nothing says so where an answer would stand, if at all.
        lines = [line for line in (answer.errors or answer.text).splitlines() if line.strip()]
        lines = lines or [f"status {answer.status}"]
        if answer.status == _REFUSED and lines[-1].startswith("superseded"):
            raise Superseded(lines[-1])
        # A refusal is the last word; a program that failed says why first, and then how it is used.
        why = lines[-1] if answer.status == _REFUSED else f"{verb}: {lines[0]}"
        raise Refused(f"{machine.address}: {why[:_LINE]}")
    if (longest := max(map(len, answer.text.splitlines()), default=0)) > LONGEST_LINE:
        raise Refused(
            f"{machine.address}: {verb}: a line of the answer has {longest:,} characters; {LONGEST_LINE:,} are allowed."
        )
    return answer.text


def facts(text: str) -> MachineFacts:
    """The lines of an answer, "key<TAB>value" each."""
    return [(key, value) for key, tab, value in (line.partition("\t") for line in text.splitlines()) if tab]


@dataclass(frozen=True)
class Area:
    """The part of a machine that one attempt at one run may write in."""

    machine: Connection
    pool: str
    token: int

    def call(self, verb: str, *arguments: object, timeout: float = 60) -> dict[str, str]:
        return dict(facts(call(self.machine, verb, self.pool, self.token, *arguments, timeout=timeout)))

    def poll(self, name: str, timeout: float = 20) -> Poll:
        said = self.call("poll", name, timeout=timeout)
        status = int(said["status"]) if "status" in said else None
        began = float(said["began"]) if "began" in said else None
        clocks = float(said["wall"]), float(said["up"])
        return Poll(said["state"], status, *clocks, int(said["errors"]), "ready" in said, began)

    def up(self) -> float:
        """Its time since its start, s, asked for as quickly as can be."""
        answer = self.machine.run(["cat", "/proc/uptime"])
        if answer.status:
            raise Refused(f"{self.machine.address}: {answer.errors.strip()[-_LINE:]}")
        return float(answer.text.split()[0])

    def output(self, file: str) -> bytes:
        words = ["sh", "-c", SCRIPT, "kdb-remote", "output", self.pool, str(self.token), file]
        answer = self.machine.run(words, most=OUTPUT_BYTES)
        if answer.status:
            raise Refused(f"{self.machine.address}: {answer.errors.strip()[-_LINE:] or file}")
        return answer.output
