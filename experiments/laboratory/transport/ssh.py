"""OpenSSH to a machine whose host key is known: argument lists in, bytes out.

The ssh program of the worker does the work, so keys, agents and ciphers are those that its
administrator knows. A `Connection` is one authenticated connection that many commands share.
"""

import base64
import binascii
import hashlib
import logging
import os
import re
import selectors
import shlex
import shutil
import socket
import stat
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

logger = logging.getLogger(__name__)

CONNECT_SECONDS = 10
MOST_BYTES = 2**20  # that an answer may have, unless the caller expects more
MOST_ERROR_BYTES = 2**16
KINDS = ("ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "ssh-rsa")  # best first
_CHUNK_BYTES = 2**16
_FOLDER = "kdb-ssh-"  # of a connection; the number of its process follows
_PERSISTENT = f"{_FOLDER}persistent_"  # of a persistent connection; a digest of its address follows
_PERSISTENT_SECONDS = 3600  # after which the login is asked for again, so that a key that was taken away counts no more
_IDLE_SECONDS = 300  # after which a persistent connection is closed
NOT_REACHED = "cannot be reached."
UNEXPECTED = "answers, but not as an SSH server that lets anybody log in."
# What ssh says of a machine that answered before it was known to be the right one.
_UNEXPECTED = re.compile("kex_exchange_identification|banner|Unable to negotiate|no matching|[Pp]rotocol|Bad packet")
_FAILED = 255  # ssh's own status; remote.sh never ends with it
_BELOW_255 = 'status=0; "$@" || status=$?; [ "$status" -lt 255 ] || status=254; exit "$status"'

# A long script is put on a machine once, by its digest, where the login alone may write and a restart forgets it; from
# then on a call sends its arguments only. It is held against its digest at each use.
_LONG = 4096  # characters
_KEPT = "kept=${XDG_RUNTIME_DIR:-/nonexistent}; [ ! -O /run ] || kept=/run; kept=$kept/kdb-scripts/$1; "
_RUN_KEPT = f"""{_KEPT}sha256sum --check --status 2>/dev/null <<END || {{ echo "kdb: $1 is not here" >&2; exit 96; }}
$1  $kept
END
shift; . "$kept\""""
_KEEP = f'umask 077; {_KEPT}mkdir -p "${{kept%/*}}" && cat >"$kept.$$" && mv -f "$kept.$$" "$kept"'
_NOT_KEPT = 96


class SshError(Exception):
    """A machine cannot be used; the text is fit to show."""


class Unreachable(SshError):  # noqa: N818
    """No answer, or none in time. Another try may succeed.

    guest : the virtual machine that does not answer, reached through its host; empty: the host itself
    """

    guest = ""


class TooMuch(SshError):  # noqa: N818
    """The machine sends more than any honest answer has."""


class KeyChanged(SshError):  # noqa: N818
    """The machine shows another host key than the one that was accepted."""


class NotAllowed(SshError):  # noqa: N818
    """The machine's owner does not allow it."""


class LoginRefused(SshError):  # noqa: N818
    """The machine does not let this login in with this key."""


@dataclass(frozen=True)
class Address:
    """The address and the login of a machine. `host_key` is "ssh-ed25519 AAAA...", as accepted."""

    host: str
    port: int
    login: str
    host_key: str
    key_file: Path | None = None  # None: the agent's keys
    uses_sudo: bool = False
    label: str = ""

    def __str__(self) -> str:
        return self.label or f"{self.login}@{self.host}:{self.port}"


@dataclass(frozen=True)
class Answer:
    """The answer to a command. `status` is the command's own."""

    status: int
    output: bytes
    errors: str

    @property
    def text(self) -> str:
        return self.output.decode(errors="replace")


def fingerprint(host_key: str) -> str:
    """Return "SHA256:..." of a host key, as ssh prints it. Raises ValueError where it is no key."""
    try:
        kind, data = host_key.split()[:2]
        raw = base64.b64decode(data, validate=True)
    except (ValueError, binascii.Error):
        raise ValueError("not a host key") from None
    length = int.from_bytes(raw[:4], "big")
    if kind not in KINDS or raw[4 : 4 + length] != kind.encode():
        raise ValueError("not a host key")
    return "SHA256:" + base64.b64encode(hashlib.sha256(raw).digest()).decode().rstrip("=")


def digest_of(script: str) -> str:
    return hashlib.sha256(script.encode()).hexdigest()


def script_digest(arguments: Sequence[str]) -> str:
    """Return the digest of the long script that a command runs: `sh -c SCRIPT NAME ...`; "" where it runs none."""
    is_script = len(arguments) > 3 and [*arguments[:2]] == ["sh", "-c"] and len(arguments[2]) > _LONG
    return digest_of(arguments[2]) if is_script else ""


def scan(host: str, port: int) -> str:
    """Return the host key that the machine shows, to be accepted by a person. Raises Unreachable."""
    # A connection for each type: those for types that nobody would accept keep a slow host from answering the others.
    command = ["ssh-keyscan", "-t", "ed25519,ecdsa,rsa", "-T", str(CONNECT_SECONDS), "-p", str(port), "--", host]
    try:
        done = _done(command, b"", 4 * CONNECT_SECONDS, MOST_BYTES, f"{host} port {port}")
    except subprocess.TimeoutExpired:
        raise Unreachable(f"{host} port {port} {NOT_REACHED}") from None
    keys = {}
    for line in done.text.splitlines():
        parts = line.split()
        if len(parts) >= 3 and parts[1] in KINDS:
            keys[parts[1]] = f"{parts[1]} {parts[2]}"
    if not keys:
        raise Unreachable(f"{host} port {port} {UNEXPECTED if _answers(host, port) else NOT_REACHED}")
    return keys[min(keys, key=KINDS.index)]


def _answers(host: str, port: int) -> bool:
    """Tell whether anything listens there: ssh-keyscan does not say why it found no key."""
    try:
        with socket.create_connection((host, port), timeout=CONNECT_SECONDS):
            return True
    except OSError as error:
        logger.info("no connection to host=%r port=%s reason=%r", host, port, str(error))
        return False


class Connection:
    """Commands on one machine, over one connection that ends with the `with` block.

    via : the connection of the machine that forwards to this one: for a guest, its host
    owner : the identity of the KDB that connects, which marks what is its own there; empty for a guest
    persistent : keep it open for the next one to the same address, as a login costs twenty times what a command does
    """

    def __init__(
        self, address: Address, via: "Connection | None" = None, owner: str = "", *, persistent: bool = False
    ) -> None:
        self.address, self.via, self.owner, self.persistent = address, via, owner, persistent

    def __enter__(self) -> "Connection":
        # A control socket's path may have about a hundred characters.
        if self.persistent:
            digest = digest_of(repr(self.address))
            folder = _persistent_folder(self.address, digest[:16])
            socket_name = f"c{(time.time() + int(digest[:8], 16)) // _PERSISTENT_SECONDS:.0f}"
        else:
            self._folder = tempfile.TemporaryDirectory(prefix=f"{_FOLDER}{os.getpid()}-")
            folder, socket_name = Path(self._folder.name), "c"
            (folder / "known_hosts").write_text(f"machine {self.address.host_key}\n")
        self._options = [
            *("-F", "none", "-p", str(self.address.port), "-l", self.address.login),
            *_option("BatchMode", "yes"),
            *_option("StrictHostKeyChecking", "yes"),
            *_option("UserKnownHostsFile", str(folder / "known_hosts")),
            *_option("GlobalKnownHostsFile", "none"),
            *_option("HostKeyAlias", "machine"),
            *_option("HostKeyAlgorithms", _algorithms(self.address.host_key)),
            *_option("UpdateHostKeys", "no"),
            *_option("CheckHostIP", "no"),
            *_option("ConnectTimeout", str(CONNECT_SECONDS)),
            *_option("ServerAliveInterval", "10"),
            *_option("ServerAliveCountMax", "3"),
            *_option("ForwardAgent", "no"),
            *_option("PermitLocalCommand", "no"),
            *_option("ControlMaster", "auto"),
            *_option("ControlPath", str(folder / socket_name)),
            # A killed worker's connection ends by itself.
            *_option("ControlPersist", str(_IDLE_SECONDS) if self.persistent else "30"),
            *_option("LogLevel", "ERROR"),
        ]
        if self.address.key_file is not None:
            self._options += [
                *("-i", str(self.address.key_file)),
                *_option("IdentitiesOnly", "yes"),
                *_option("IdentityAgent", "none"),
            ]
        if self.via is not None:
            host = f"[{self.address.host}]" if ":" in self.address.host else self.address.host
            words = [*self.via._command(), "-W", f"{host}:{self.address.port}", self.via._host]
            self._options += _option("ProxyCommand", shlex.join(words).replace("%", "%%"))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.persistent:
            return
        try:
            subprocess.run(  # noqa: S603
                [*self._command(), "-O", "exit", "--", self._host], capture_output=True, timeout=CONNECT_SECONDS
            )
        except subprocess.TimeoutExpired:
            logger.warning("the connection to %s did not close", self.address)
        self._folder.cleanup()

    @property
    def _host(self) -> str:
        return self.address.host

    def _command(self) -> list[str]:
        return ["ssh", *self._options]

    def run(
        self,
        arguments: Sequence[str],
        *,
        given: bytes = b"",
        timeout: float = 60,
        most: int = MOST_BYTES,
        may_end_255: bool = False,
    ) -> Answer:
        """Run a program there and wait for its end; `given` is its standard input.

        may_end_255 : a status 255 of the program itself, ssh's own for "no connection", is turned into 254
        Raises KeyChanged, LoginRefused, Unreachable, and TooMuch where it prints more than `most` bytes. The program
        may go on where the time was up.
        """
        try:
            return self._run(arguments, given, timeout, most, may_end_255)
        except Unreachable as error:
            error.guest = str(self.address) if self.via else ""
            raise

    def _run(self, arguments: Sequence[str], given: bytes, timeout: float, most: int, may_end_255: bool) -> Answer:
        if digest := script_digest(arguments):
            words = ["sh", "-c", _RUN_KEPT, arguments[3], digest, *arguments[4:]]
            answer = self._send(words, given, timeout, most, may_end_255)
            if answer.status != _NOT_KEPT or f"kdb: {digest} is not here" not in answer.errors:
                return answer
            self._send(["sh", "-c", _KEEP, "kdb-keep", digest], arguments[2].encode(), timeout, most, False)
        return self._send(arguments, given, timeout, most, may_end_255)  # also where it could not be kept

    def _send(self, arguments: Sequence[str], given: bytes, timeout: float, most: int, may_end_255: bool) -> Answer:
        words = ["sudo", "-n", *arguments] if self.address.uses_sudo else list(arguments)
        if may_end_255:
            words = ["sh", "-c", _BELOW_255, "kdb-status", *words]
        command = [*self._command(), "--", self._host, shlex.join(words)]
        try:
            done = _done(command, given, timeout, most, str(self.address))
        except subprocess.TimeoutExpired:
            raise Unreachable(f"{self.address} did not answer within {timeout:.0f} s.") from None
        if done.status == _FAILED:
            raise _failure(self.address, done.errors)
        return done


def _persistent_folder(address: Address, name: str) -> Path:
    """Return the folder of a persistent connection, made where there is none. Raises SshError where it is another's."""
    folder = Path(tempfile.gettempdir(), _PERSISTENT + name)
    folder.mkdir(mode=0o700, exist_ok=True)
    state = folder.lstat()
    if not stat.S_ISDIR(state.st_mode) or state.st_uid != os.getuid() or state.st_mode & 0o077:
        raise SshError(f"{folder} is not a folder that the worker alone may use: take it away.")
    if not (folder / "known_hosts").exists():
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False) as unfinished:
            unfinished.write(f"machine {address.host_key}\n")
        Path(unfinished.name).rename(folder / "known_hosts")
    os.utime(folder)
    return folder


def remove_left_folders() -> None:
    """Remove what killed processes of this user left, and folders of persistent connections not used for a day."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDER}*"):
        owner = folder.name.removeprefix(_FOLDER).partition("-")[0]
        is_left = owner.isdecimal() and not Path("/proc", owner).exists()
        with suppress(FileNotFoundError):  # another process may be at it
            state = folder.lstat()
            is_left = is_left or (folder.name.startswith(_PERSISTENT) and state.st_mtime < time.time() - 86_400)
            if is_left and state.st_uid == os.getuid():
                shutil.rmtree(folder, ignore_errors=True)


def _done(command: Sequence[str], given: bytes, timeout: float, most: int, label: str) -> Answer:
    """Run a program of this machine to its end, and never keep more of its output than the limits.

    Raises subprocess.TimeoutExpired, TooMuch; it is killed then.
    """
    deadline = time.monotonic() + timeout
    with tempfile.TemporaryFile() as standard_input, selectors.DefaultSelector() as waiting:
        standard_input.write(given)
        standard_input.seek(0)
        try:
            program = subprocess.Popen(  # noqa: S603
                command, stdin=standard_input, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
        except FileNotFoundError:
            raise SshError("The worker has no OpenSSH client (Debian package openssh-client).") from None
        assert program.stdout
        assert program.stderr
        printed: dict[object, bytearray] = {program.stdout: bytearray(), program.stderr: bytearray()}
        limits: dict[object, int] = {program.stdout: most, program.stderr: MOST_ERROR_BYTES}
        with program:
            try:
                for pipe in (program.stdout, program.stderr):
                    waiting.register(pipe, selectors.EVENT_READ)
                while waiting.get_map():
                    ready = waiting.select(max(deadline - time.monotonic(), 0))
                    if not ready or time.monotonic() > deadline:
                        raise subprocess.TimeoutExpired(command, timeout)
                    for key, _ in ready:
                        data = os.read(key.fd, _CHUNK_BYTES)
                        printed[key.fileobj] += data
                        if not data:
                            waiting.unregister(key.fileobj)
                        elif len(printed[key.fileobj]) > limits[key.fileobj]:
                            raise TooMuch(
                                f"{label} sent more than {limits[key.fileobj]:,} bytes in answer to one command. "
                                "Nothing more was read, and nothing of it is used."
                            )
                status = program.wait(max(deadline - time.monotonic(), 0))
            except BaseException:
                program.kill()
                raise
    return Answer(status, bytes(printed[program.stdout]), printed[program.stderr].decode(errors="replace"))


def _failure(address: Address, errors: str) -> SshError:
    """Return why there is no connection, in one of three classes and our words: what answers there may be anybody's."""
    logger.info("no connection to %s reason=%r", address, _last_line(errors))
    if "HOST IDENTIFICATION HAS CHANGED" in errors or "Host key verification failed" in errors:
        return KeyChanged(f"{address} shows another host key than {fingerprint(address.host_key)}, which was accepted.")
    if "Permission denied" in errors or "Too many authentication failures" in errors:
        return LoginRefused(f"{address} does not let this login in with this key.")
    return Unreachable(f"{address} {UNEXPECTED if _UNEXPECTED.search(errors) else NOT_REACHED}")


def _option(name: str, value: str) -> list[str]:
    return ["-o", f"{name}={value}"]


def _algorithms(host_key: str) -> str:
    kind = host_key.split()[0]
    return "rsa-sha2-512,rsa-sha2-256" if kind == "ssh-rsa" else kind


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""
