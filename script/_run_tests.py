"""Starts PostgreSQL and Redis for the tests, runs the suite on SQLite and on them at the same time, adds up.

Called by script/test, in .venv and from the root of the checkout. Whatever it started is stopped,
and its folder removed, however the run ends.
"""

import ctypes
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from xml.etree import ElementTree

import psycopg
import redis

# Of the person's own environment, what would lead the tests to that person's data.
OWN_SETTINGS = ("DATABASE_URL", "REDIS_URL", "DATA_DIR", "DJANGO_SETTINGS_MODULE", "SECRET_KEY", "ALLOWED_HOSTS")
START_SECONDS = 30
STOP_SECONDS = 15
NO_TESTS = 5  # pytest's exit status


class CannotStartError(Exception):
    """A service that is installed, or that was named, does not answer; the text says which and why."""


def find_program(name: str, *folders: Path) -> str | None:
    return shutil.which(name) or next((str(f / name) for f in folders if (f / name).exists()), None)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def end_with_parent() -> None:
    """Ask Linux to stop this child when the runner is killed without a chance to do so."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGINT)  # 1: PR_SET_PDEATHSIG


@contextmanager
def running(command: list[str], log: Path, answers: Callable[[], bool], user: str | None = None) -> Iterator[None]:
    """Keep the server of `command` up; entered once it answers."""
    with log.open("wb") as output:
        server = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C is for pytest first; the server stops after it
            preexec_fn=end_with_parent,
            **as_user(user),
        )
    try:
        deadline = time.monotonic() + START_SECONDS
        while not answers():
            if server.poll() is not None or time.monotonic() > deadline:
                raise CannotStartError(f"{command[0]} does not start:\n{log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.05)
        yield
    finally:
        server.send_signal(signal.SIGINT)  # both servers: no waiting for clients
        try:
            server.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def as_user(user: str | None) -> dict:
    return {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []} if user else {}


def unprivileged_user() -> str | None:
    """PostgreSQL refuses to run as root."""
    if os.getuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def answers_postgresql(url: str) -> bool:
    try:
        psycopg.connect(url, connect_timeout=5).close()
    except psycopg.OperationalError:
        return False
    return True


def answers_redis(url: str) -> bool:
    try:
        with redis.Redis.from_url(url, socket_connect_timeout=5, retry=None) as client:
            return client.ping()
    except redis.RedisError:
        return False


def provide_postgresql(stack: ExitStack, folder: Path) -> str | None:
    """The address of a PostgreSQL server, ours or the one named; None where none is installed."""
    if url := os.environ.get("TEST_DATABASE_URL"):
        if not answers_postgresql(url):
            raise CannotStartError("TEST_DATABASE_URL names a PostgreSQL server that does not answer.")
        return url
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    initdb, postgres = find_program("initdb", *folders), find_program("postgres", *folders)
    if not initdb or not postgres:
        return None
    user, port = unprivileged_user(), free_port()
    home = folder / "postgresql"
    home.mkdir()
    if user:
        shutil.chown(home, user)
    made = subprocess.run(
        [initdb, "-D", home / "data", "-U", "kdb", "-A", "trust", "--no-sync", "--encoding=UTF8", "--locale=C"],
        cwd=home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        **as_user(user),
    )
    if made.returncode:
        raise CannotStartError(f"{initdb} fails:\n{made.stderr}")
    # The tests' data may be lost with the machine, so nothing waits for the disk.
    options = {
        "listen_addresses": "127.0.0.1",
        "port": port,
        "unix_socket_directories": home,
        "fsync": "off",
        "synchronous_commit": "off",
        "full_page_writes": "off",
        # Each test's rows are rolled back, so the statistics say that every table is empty, and nested loops over what
        # is thought to be one row went on for minutes.
        "enable_nestloop": "off",
        "jit": "off",  # for what such plans seem to cost PostgreSQL compiled each of them, most of a second
    }
    command = [postgres, "-D", str(home / "data"), *(f"--{name}={value}" for name, value in options.items())]
    url = f"postgres://kdb@127.0.0.1:{port}/postgres"
    stack.enter_context(running(command, folder / "postgresql.log", lambda: answers_postgresql(url), user))
    return url


def provide_redis(stack: ExitStack, folder: Path) -> str | None:
    """The address of a Redis server, ours or the one named; None where none is installed."""
    if url := os.environ.get("TEST_REDIS_URL"):
        if not answers_redis(url):
            raise CannotStartError("TEST_REDIS_URL names a Redis server that does not answer.")
        return url
    program, port = find_program("redis-server"), free_port()
    if not program:
        return None
    command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    url = f"redis://127.0.0.1:{port}/0"
    stack.enter_context(running(command, folder / "redis.log", lambda: answers_redis(url)))
    return url


class Run:
    """A run of the suite in two processes, begun at once; `output` is the terminal unless told."""

    def __init__(self, arguments: list[str], environment: dict[str, str], home: Path, output: Path | None) -> None:
        home.mkdir()
        self.report, self.output = home / "report.xml", output
        command = [sys.executable, "-m", "pytest", "-n", "2", "--dist", "worksteal", f"--junitxml={self.report}"]
        with output.open("wb") if output else nullcontext() as stdout:
            self.process = subprocess.Popen(
                [*command, *arguments],
                env=environment | {"DATA_DIR": str(home)},
                preexec_fn=end_with_parent,
                stdout=stdout,
                stderr=subprocess.STDOUT if output else None,
            )

    def count(self) -> Counter:
        """Wait for its end."""
        status = self.process.wait()
        if self.output:
            print(self.output.read_text(errors="replace"), end="", flush=True)
        counts = read_counts(self.report)
        if status not in (0, NO_TESTS) and not counts["failed"]:
            counts["failed"] = 1  # pytest itself did not come through
        return counts


def stop_pytest(process: subprocess.Popen) -> None:
    """Let pytest end its tests and tear down their databases; a Ctrl-C has reached it already."""
    if process.poll() is not None:
        return
    process.send_signal(signal.SIGINT)
    try:
        process.wait(STOP_SECONDS)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        process.kill()
        process.wait()


def read_counts(report: Path) -> Counter:
    if not report.exists():
        return Counter()
    suite = ElementTree.parse(report).getroot().find("testsuite").attrib
    failed, skipped = int(suite["failures"]) + int(suite["errors"]), int(suite["skipped"])
    return Counter(passed=int(suite["tests"]) - failed - skipped, failed=failed, skipped=skipped)


def run_all(arguments: list[str], stack: ExitStack, counts: Counter) -> None:
    folder = Path(tempfile.mkdtemp(prefix="kdb-test-"))
    stack.callback(shutil.rmtree, folder, ignore_errors=True)
    folder.chmod(0o711)  # PostgreSQL's user passes through

    def run(name: str, arguments: list[str], environment: dict[str, str], output: Path | None = None) -> Run:
        begun = Run(arguments, environment, folder / name, output)
        stack.callback(stop_pytest, begun.process)
        return begun

    plain = {name: value for name, value in os.environ.items() if name not in OWN_SETTINGS}
    if "--quick" in arguments:
        counts.update(run("quick", arguments, plain).count())
        return
    services = {
        "DATABASE_URL": provide_postgresql(stack, folder),
        "REDIS_URL": provide_redis(stack, folder),
    }
    if not services["DATABASE_URL"]:
        print("PostgreSQL is missing: the tests that touch the database run on SQLite only.")
    if not services["REDIS_URL"]:
        print("Redis is missing: the tests marked `redis` are skipped.")
    if not any(shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome")):
        print("Chromium is missing: the tests marked `browser` are skipped.")

    # At the same time: while one waits for a browser, a server or a guest, the other computes.
    with_services = plain | {name: url for name, url in services.items() if url}
    on_services = run("services", ["--services", *arguments], with_services, folder / "services.log")
    print("\nOn SQLite and the embedded broker; on PostgreSQL and Redis meanwhile", flush=True)
    counts.update(run("embedded", ["--embedded", *arguments], plain).count())
    print("\nOn PostgreSQL and Redis", flush=True)
    counts.update(on_services.count())


def stop(signum: int, frame: object) -> None:
    raise KeyboardInterrupt


def main() -> int:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    counts, status = Counter(), 0
    try:
        with ExitStack() as stack:
            run_all(sys.argv[1:], stack, counts)
    except CannotStartError as error:
        print(error)
        status = 1
    except KeyboardInterrupt:
        print("Stopped.")
        status = 130
    if counts["failed"] or not counts["passed"]:
        status = status or 1
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return status


if __name__ == "__main__":
    sys.exit(main())
