"""Call the verbs of remote.sh. Names and texts go there as arguments, never into the script."""

from dataclasses import dataclass
from pathlib import Path

from .ssh import Answer, Connection

SCRIPT = Path(__file__).with_name("remote.sh").read_text()
_REFUSED = 90
_LINE = 500  # longest text of an error that is told
LONGEST_LINE = 20_000  # of an answer
OUTPUT_BYTES = 16 * 2**20  # of a benchmark that remote.sh sends


class Refused(Exception):  # noqa: N818 - the machine's decision
    """The machine would not do it, or could not; the text says why."""


class Superseded(Refused):
    """A later attempt works there: this one must stop and touch nothing."""


class NotNow(Refused):
    """The machine cannot do it now, and it is no fault of what was asked: its hypervisor does not answer, say."""


class NoRoom(NotNow):
    """The disk of the machine is full; the text says where, and how much is missing."""


class Leftovers(NotNow):
    """KDB's own things are there and cannot be taken away, or their area was removed; the text names what is left."""


_NOT_NOW = {91: NotNow, 92: NoRoom, 93: Leftovers}  # statuses of remote.sh

MachineFacts = list[tuple[str, str]]  # in printed order; a key may come twice


@dataclass(frozen=True)
class Poll:
    """The state of a benchmark. `wall`, `up` are the machine's clocks, s; `status` None while it runs.

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
    """Run a verb of `script`, else of remote.sh, and return its output. Raises Refused, Superseded, SshError."""
    words = ["sh", "-c", script or SCRIPT, _name(machine), verb, *map(str, arguments)]
    answer = machine.run(words, timeout=timeout, given=given)
    if answer.status:
        raise _refusal(machine, verb, answer)
    if (longest := max(map(len, answer.text.splitlines()), default=0)) > LONGEST_LINE:
        raise Refused(
            f"{machine.address}: {verb}: a line of the answer has {longest:,} characters; {LONGEST_LINE:,} are allowed."
        )
    return answer.text


def _name(machine: Connection) -> str:
    """Return the script's own name, by which it knows who calls it."""
    return f"kdb-remote:{machine.owner}" if machine.owner else "kdb-remote"


def _refusal(machine: Connection, verb: str, answer: Answer) -> Refused:
    """Return the error to raise for a verb that did not end well."""
    # A login shell that runs nothing says so where an answer would stand, if at all.
    lines = [line for line in (answer.errors or answer.text).splitlines() if line.strip()]
    lines = lines or [f"status {answer.status}"]
    if answer.status == _REFUSED and lines[-1].startswith("superseded"):
        return Superseded(lines[-1])
    # A refusal is the last word; a program that failed says why first, and then how it is used.
    is_refusal = answer.status == _REFUSED or answer.status in _NOT_NOW
    why = lines[-1] if is_refusal else f"{verb}: {lines[0]}"
    # A virtual machine is made for its run: what it cannot do now it never can.
    kind = Refused if machine.via else _NOT_NOW.get(answer.status, Refused)
    return kind(f"{machine.address}: {why[:_LINE]}")


def facts(text: str) -> MachineFacts:
    """Return the lines of an answer, "key<TAB>value" each."""
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
        answer = self.call("poll", name, timeout=timeout)
        status = int(answer["status"]) if "status" in answer else None
        began = float(answer["began"]) if "began" in answer else None
        clocks = float(answer["wall"]), float(answer["up"])
        return Poll(answer["state"], status, *clocks, int(answer["errors"]), "ready" in answer, began)

    def up(self) -> float:
        """Return the machine's time since its start, s, asked for as quickly as can be."""
        answer = self.machine.run(["cat", "/proc/uptime"])
        if answer.status:
            raise Refused(f"{self.machine.address}: {answer.errors.strip()[-_LINE:]}")
        return float(answer.text.split()[0])

    def output(self, file: str) -> bytes:
        words = ["sh", "-c", SCRIPT, _name(self.machine), "output", self.pool, str(self.token), file]
        answer = self.machine.run(words, most=OUTPUT_BYTES)
        if answer.status:
            raise _refusal(self.machine, f"output {file}", answer)
        return answer.output
