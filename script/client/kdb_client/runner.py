"""kdb runner: do on this host what a server asks that cannot log in here, as far as the host's owner allows it.

It only ever asks: no port is opened. Each command is noted before it is begun, and its answer is kept until the server
has it, so whatever dies, nothing is done twice; a command that was under way is answered as lost.
"""

import argparse
import base64
import contextlib
import hashlib
import json
import os
import selectors
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from .allowed import Allowed, digest_of, listed, malformed, texts
from .client import Client
from .configuration import Configuration, read_privately
from .errors import KdbError, ProblemError
from .output import printable

FOLDER = "/etc/kdb-runner"
STATE = "/var/lib/kdb-runner"
AT_ONCE = 4  # commands
MOST_ERROR_BYTES = 2**16
_SHORTEST, _LONGEST = 1.0, 60.0  # s until a server that does not answer is asked again
_LEAST_PAUSE = 0.05  # s between two questions, whatever the server says
_CHUNK_BYTES = 2**16
_NEVER = (400, 413, 422)  # statuses of what a server refuses however often it comes
_MOST_LOG_BYTES = 16 * 2**20  # then another one is begun, and one is kept
_SHOWN = 200  # characters of a word in the log
_LONGEST_LINE = 2**20  # characters of the log; a command of the most words has fewer

UNIT = """\
[Unit]
Description=Runner of KDB: does here what {url} asks, as far as {allow} allows
After=network-online.target
Wants=network-online.target

[Service]
ExecStart={command}
Restart=always
RestartSec=10
# A benchmark that was started goes on when the runner is restarted.
KillMode=process
TimeoutStopSec=660
StateDirectory=kdb-runner
UMask=0077
NoNewPrivileges=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
RestrictRealtime=yes
ProtectHostname=yes
SystemCallArchitectures=native
CapabilityBoundingSet=~CAP_SYS_BOOT CAP_SYS_TIME CAP_BPF CAP_NET_ADMIN CAP_NET_RAW
{more}
[Install]
WantedBy=multi-user.target
"""
# What would give the service mounts of its own: campaigns and moves work on those of the host.
_READS_ONLY = """\
# By its list it changes nothing here.
ProtectSystem=strict
ProtectHome=read-only
PrivateTmp=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectControlGroups=yes
"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add what `kdb runner` takes."""
    command.add_argument("--server", metavar="URL", help="where it is not that of the environment")
    command.add_argument("--token-file", type=Path, default=Path(FOLDER, "token"), metavar="FILE")
    command.add_argument("--allow", type=Path, default=Path(FOLDER, "allow.toml"), metavar="FILE")
    command.add_argument("--state", type=Path, default=Path(STATE), metavar="FOLDER", help="what it keeps, and its log")
    instead = command.add_mutually_exclusive_group()
    instead.add_argument("--print-allow", action="store_true", help="a list to begin with, for you to read")
    command.add_argument(
        "--scripts",
        type=Path,
        metavar="FOLDER",
        help="write the server's scripts there, to be read; with --print-allow: list those that you read there",
    )
    instead.add_argument("--install", action="store_true", help="print a unit of systemd")


def run(client: Client, options: argparse.Namespace) -> int:
    """Do what is asked until SIGTERM; or print what helps to set it up."""
    url = (options.server or client.configuration.url).rstrip("/")
    if options.install:
        print(unit(url, options), end="")
        return 0
    if options.print_allow and options.scripts:  # the server is not asked again: it could give others now
        read = [{"name": path.name, "text": path.read_text("utf-8")} for path in sorted(options.scripts.iterdir())]
        print(listed(read), end="")
        return 0
    client = Client(Configuration(url, read_privately(options.token_file).strip()), patience_seconds=0)
    if options.print_allow:
        print(listed(client.get("runner/scripts/")), end="")
        return 0
    if options.scripts:
        for name, text in texts(client.get("runner/scripts/")).items():
            if not text.replace("\n", "").replace("\t", "").isprintable():
                raise KdbError(f"The server's {name} has signs that hide what it does: nothing is written.")
            (options.scripts / name).write_text(text, encoding="utf-8")
        return 0
    allowed = Allowed.read(options.allow)
    options.state.mkdir(mode=0o700, parents=True, exist_ok=True)
    with Journal(options.state) as journal:
        Runner(client, allowed, journal).go_on()
    return 0


def unit(url: str, options: argparse.Namespace) -> str:
    """Return the unit that runs this very program with these options."""
    program = [sys.executable, str(Path(sys.argv[0]).resolve()), "runner", "--server", url]
    for name in ("token_file", "allow", "state"):
        program += [f"--{name.replace('_', '-')}", str(getattr(options, name).absolute())]
    more = "" if Allowed.read(options.allow).changes_something else _READS_ONLY
    return UNIT.format(url=url, allow=options.allow, command=shlex.join(program), more=more)


class Journal:
    """Keeps a file for each command that was begun or answered until the server has the answer, and a log of all."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "journal"
        self.folder.mkdir(mode=0o700, exist_ok=True)
        self.log_file = folder / "log"
        self._lock = threading.Lock()

    def __enter__(self) -> "Journal":
        self._held = (self.folder / "lock").open("w")
        try:
            os.lockf(self._held.fileno(), os.F_TLOCK, 0)
        except OSError:
            raise KdbError(f"Another runner works with {self.folder.parent}.") from None
        identity_file = self.folder.parent / "identity"
        if not identity_file.exists():
            _write(identity_file, str(uuid.uuid4()))
        # Another one after each start of the machine: what the journal lost with the power is not given again.
        known = identity_file.read_bytes() + Path("/proc/sys/kernel/random/boot_id").read_bytes()
        self.identity = hashlib.sha256(known).hexdigest()[:36]
        self._log = self.log_file.open("a", encoding="utf-8")
        return self

    def __exit__(self, *exception: object) -> None:
        self._log.close()
        self._held.close()

    def begin(self, number: int) -> None:
        (self.folder / f"{number}.begun").touch()

    def end(self, answer: dict[str, Any]) -> None:
        """Keep the answer to a command, before anybody is told."""
        _write(self.folder / f"{answer['id']}.answer", json.dumps(answer))
        (self.folder / f"{answer['id']}.begun").unlink(missing_ok=True)

    def forget(self, number: int) -> None:
        for kind in ("begun", "answer"):  # the first is there yet where the runner was killed in between
            (self.folder / f"{number}.{kind}").unlink(missing_ok=True)

    def begun(self) -> list[int]:
        """Return what was begun and not answered: the runner before this one died."""
        begun = [path for path in self.folder.glob("*.begun") if not path.with_suffix(".answer").exists()]
        return sorted(int(path.stem) for path in begun)

    def answers(self) -> Iterator[dict[str, Any]]:
        for path in sorted(self.folder.glob("*.answer")):
            try:
                answer = json.loads(path.read_bytes())
            except FileNotFoundError:
                continue  # it was brought just now
            except (OSError, ValueError) as error:  # the disk spoiled it, and the others shall be brought
                self.say(f"{path.stem} lost: its answer cannot be read: {error}")
                answer = _answer(int(path.stem), "lost")
                self.end(answer)
            yield answer

    def held(self) -> list[int]:
        return sorted({int(path.stem) for kind in ("begun", "answer") for path in self.folder.glob(f"*.{kind}")})

    def say(self, text: str) -> None:
        text = printable(text[:_LONGEST_LINE])  # what a server says, too
        with self._lock, contextlib.suppress(OSError):  # a full disk keeps nothing else from being done
            if self._log.tell() > _MOST_LOG_BYTES:
                self._log.close()
                self.log_file.rename(self.log_file.with_suffix(".1"))
                self._log = self.log_file.open("a", encoding="utf-8")
            self._log.write(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {text}\n")
            self._log.flush()


def _write(path: Path, text: str) -> None:
    """Write a file that is whole or not there, whenever this process is killed or the machine loses its power."""
    new = path.with_suffix(".new")
    with new.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    new.rename(path)


class Runner:
    """Asks for commands, does several at once, and brings the answers."""

    def __init__(self, client: Client, allowed: Allowed, journal: Journal) -> None:
        self.client, self.allowed, self.journal = client, allowed, journal
        self.ends = threading.Event()
        self.scripts: dict[str, str] = {}  # digest to text
        self.under_way = 0
        self.changed = threading.Condition()

    def go_on(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.ends.set())
        self.journal.say("begins")
        for command in self.journal.begun():
            self.journal.say(f"{command} lost: the runner ended meanwhile")
            self.journal.end(_answer(command, "lost"))
        pause = _SHORTEST
        with ThreadPoolExecutor(AT_ONCE) as pool:
            while not self.ends.is_set():
                try:
                    self.turn(pool)
                    pause = _SHORTEST
                except Exception as error:  # whatever a server sends, what is under way goes on
                    self.journal.say(f"the server is asked again in {pause:.0f} s: {type(error).__name__}: {error}")
                    self.ends.wait(pause)
                    pause = min(2 * pause, _LONGEST)
        try:
            self.bring()
        except KdbError as error:
            self.journal.say(f"answers are kept for later: {error}")
        self.journal.say("ends")

    def turn(self, pool: ThreadPoolExecutor) -> None:
        """Bring what is answered, and take what is asked. Raises KdbError."""
        self.bring()
        room, held = AT_ONCE - self.under_way, self.journal.held()
        lease = self.client.post("runner/lease/", {"runner": self.journal.identity, "held": held, "room": room})
        commands, pause = lease["commands"], float(lease["pause_seconds"])
        pause = min(pause, _LONGEST) if pause >= _LEAST_PAUSE else _LEAST_PAUSE  # also where it is no number
        if not all(type(command["id"]) is int and 0 < command["id"] < 2**63 for command in commands):
            raise KdbError("The server gives a command whose number is none: none of these is done.")
        new = {command["id"]: command for command in commands if command["id"] not in held}
        for command in [*new.values()][:room]:
            if command.get("script", "") not in ("", *self.scripts):
                self.load_scripts()
            if self.ends.is_set():
                return  # it was not begun: the server gives it again
            self.journal.begin(command["id"])
            with self.changed:
                self.under_way += 1
            pool.submit(self.do, command)
        self.ends.wait(pause)
        with self.changed:
            if self.under_way >= AT_ONCE:
                self.changed.wait(_SHORTEST)

    def bring(self) -> None:
        for answer in self.journal.answers():
            self.tell(answer)

    def tell(self, answer: dict[str, Any]) -> None:
        """Bring one answer, and forget it where the server has it or will never take it. Raises KdbError."""
        try:
            self.client.post("runner/answer/", answer)
        except ProblemError as error:
            if error.status not in _NEVER:
                raise
            self.journal.say(f"{answer['id']} is not taken: {error}")
            if answer["output"] or answer["error_output"]:  # whoever waits shall know that it came to something
                self.tell(_answer(answer["id"], "too_much" if error.status == 413 else "lost"))
        self.journal.forget(answer["id"])

    def do(self, command: Any) -> None:
        answer = _answer(command["id"], "refused", errors="the runner made a mistake: its log says which")
        try:
            answer = self.done(command)
        except Exception as error:
            self.journal.say(f"{command['id']} mistake: {type(error).__name__}: {error}")
        try:
            self.journal.end(answer)  # which a full disk does not let it; then it is lost when the runner starts again
        finally:
            with self.changed:
                self.under_way -= 1
                self.changed.notify()
        try:
            self.tell(answer)
        except KdbError as error:
            self.journal.say(f"{command['id']} is kept for later: {error}")

    def done(self, command: Any) -> dict[str, Any]:
        """Return the answer to a command: what came of it, or why it is refused."""
        number, why = command["id"], malformed(command)
        if not why:
            digest, words = command["script"], command["words"]
            shown = " ".join([*filter(None, [self.allowed.name_of(digest) or digest]), *map(_shown, words)])
            self.journal.say(f"{number} asked: {shown} ({len(command['given']) * 3 // 4} bytes given)")
            why = self.allowed.against(command)
            if digest not in ("", *self.scripts):
                why = f"the server has no script {digest}"
        if why:
            self.journal.say(f"{number} refused: {why}")
            return _answer(number, "refused", errors=why)
        program = ["sh", "-c", self.scripts[digest], command["name"], *words] if digest else words
        given = base64.b64decode(command["given"])
        answer = _run(number, program, given, command["seconds"], command["most_bytes"], self.journal.folder)
        size = len(answer["output"]) * 3 // 4
        self.journal.say(f"{number} {answer['outcome']}: status {answer['status']}, {size} bytes")
        return answer

    def load_scripts(self) -> None:
        """Take the server's scripts, by their real digests. Raises KdbError."""
        self.scripts = {digest_of(text): text for text in texts(self.client.get("runner/scripts/")).values()}


def _answer(number: int, outcome: str, *, status: int | None = None, output: bytes = b"", errors: str = "") -> Any:
    printed = base64.b64encode(output).decode()
    error_output = errors.replace("\0", " ")
    return {"id": number, "outcome": outcome, "status": status, "output": printed, "error_output": error_output}


def _run(number: int, program: Sequence[str], given: bytes, seconds: int, most: int, folder: Path) -> dict[str, Any]:
    """Run a program to its end, or kill it where it takes too long or prints too much."""
    environment = {name: value for name, value in os.environ.items() if name != "KDB_TOKEN"}
    deadline = time.monotonic() + seconds
    with tempfile.TemporaryFile() as standard_input:
        standard_input.write(given)
        standard_input.seek(0)
        try:
            process = subprocess.Popen(
                program,
                stdin=standard_input,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=folder,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            return _answer(number, "done", status=127, errors=f"{program[0]}: {error.strerror}")
        with process:
            try:
                outcome, output, errors = _read(process, deadline, most)
                status = process.wait(max(deadline - time.monotonic(), 0)) if outcome == "done" else None
            except subprocess.TimeoutExpired:
                outcome, output, errors, status = "late", b"", b"", None
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
    if status is not None and status < 0:
        status = 128 - status  # as a shell says it
    return _answer(number, outcome, status=status, output=output, errors=errors.decode(errors="replace"))


def _read(process: "subprocess.Popen[bytes]", deadline: float, most: int) -> tuple[str, bytes, bytes]:
    """Return the outcome and what was printed, as far as it is allowed."""
    limits: dict[Any, int] = {process.stdout: most, process.stderr: MOST_ERROR_BYTES}
    printed = {pipe: bytearray() for pipe in limits}
    with selectors.DefaultSelector() as waiting:
        for pipe in limits:
            waiting.register(pipe, selectors.EVENT_READ)
        while waiting.get_map():
            ready = waiting.select(max(deadline - time.monotonic(), 0))
            if not ready:
                return "late", b"", b""
            for key, _ in ready:
                data = os.read(key.fd, _CHUNK_BYTES)
                printed[key.fileobj] += data
                if not data:
                    waiting.unregister(key.fileobj)
                elif len(printed[key.fileobj]) > limits[key.fileobj]:
                    return "too_much", b"", b""
    return "done", bytes(printed[process.stdout]), bytes(printed[process.stderr])


def _shown(word: str) -> str:
    text = printable(word[:_SHOWN])
    return shlex.quote(text) if len(word) <= _SHOWN else f"{shlex.quote(text)}... ({len(word)} characters)"
