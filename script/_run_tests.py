"""Starts PostgreSQL and Redis for the tests, runs the suite on SQLite and on them at the same time, adds up.

Ends with what it took of the processor, all processes of the tests together, and the tests that took most of it.
A run of the whole default tier fails where that is more than DEFAULT_TIER_CPU_SECONDS on a machine where a fixed piece
of work took no longer beside it than it did when that was set.

Called by script/test, in .venv and from the root of the checkout. Whatever it started is stopped,
and its folder removed, however the run ends.
"""

import ctypes
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack, nullcontext, suppress
from pathlib import Path
from statistics import median
from typing import ClassVar
from xml.etree import ElementTree

import psutil
from _costs import fixed_work
from _services import (
    OWN_SETTINGS,
    STOP_SECONDS,
    CannotStartError,
    answers_postgresql,
    answers_redis,
    end_with_parent,
    new_postgresql,
    new_redis,
    started,
)

NO_TESTS = 5  # pytest's exit status
DEAREST = 20  # tests that are named
DEAR_SECONDS = 2.0
SLOW_SECONDS = 0.3  # what takes more is marked `slow`; --quick names what is not
# 2,480 beside another run on a slow day, which inflates it; 2,300 was enough on a quiet one.
DEFAULT_TIER_CPU_SECONDS = 2500  # where that work takes 37 ms it takes 1,580; lower it whenever it has become cheaper
WORK_MILLISECONDS = 45.0  # that a fixed piece of work takes on the machine of that figure while it does nothing else
WORK_EVERY_SECONDS = 15


def provide_postgresql(stack: ExitStack, folder: Path) -> str | None:
    """Return the address of a PostgreSQL server, ours or the one named; None where none is installed."""
    if url := os.environ.get("TEST_DATABASE_URL"):
        if not answers_postgresql(url):
            raise CannotStartError("TEST_DATABASE_URL names a PostgreSQL server that does not answer.")
        return url
    # Each test's rows are rolled back, so the statistics say that every table is empty, and nested loops over what
    # is thought to be one row went on for minutes.
    return started(stack, new_postgresql(folder, synchronous_commit="off", enable_nestloop="off"))


def provide_redis(stack: ExitStack, folder: Path) -> str | None:
    """Return the address of a Redis server, ours or the one named; None where none is installed."""
    if url := os.environ.get("TEST_REDIS_URL"):
        if not answers_redis(url):
            raise CannotStartError("TEST_REDIS_URL names a Redis server that does not answer.")
        return url
    return started(stack, new_redis(folder))


class Run:
    """A run of the suite, begun at once, in several processes; `output` is the terminal unless told."""

    begun: ClassVar[list[subprocess.Popen]] = []

    def __init__(
        self, arguments: list[str], environment: dict[str, str], home: Path, processes: int, output: Path | None
    ) -> None:
        home.mkdir()
        self.report, self.output = home / "report.xml", output
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-n",
            str(processes if processes > 1 else 0),  # one needs nobody that gives it its tests
            "--dist",
            "worksteal",
            f"--junitxml={self.report}",
        ]
        with output.open("wb") if output else nullcontext() as stdout:
            self.process = subprocess.Popen(
                [*command, *arguments],
                env=environment | {"DATA_DIR": str(home)},
                preexec_fn=end_with_parent,
                stdout=stdout,
                stderr=subprocess.STDOUT if output else None,
            )
        self.begun.append(self.process)

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


def adopt_orphans() -> None:
    """Become the parent of processes that the tests leave behind (guests, servers), so that their time counts, too."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(36, 1)  # 36: PR_SET_CHILD_SUBREAPER
        threading.Thread(target=reap_orphans, daemon=True).start()


def reap_orphans() -> None:
    """Wait for adopted processes as init would: a test that looks whether one is gone would find it dead, yet there."""
    while True:
        try:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended and ended.si_pid not in {process.pid for process in Run.begun}:
                os.waitpid(ended.si_pid, 0)
                continue
        except ChildProcessError:  # there is none, or whoever started it has waited for it
            pass
        for process in Run.begun:  # one that ended would hide the others
            process.poll()
        time.sleep(0.1)


def end_orphans() -> None:
    """Kill what a run that was broken off left of its laboratories and servers. By then we have no other children."""
    for orphan in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            orphan.kill()


def cpu_seconds() -> float:
    """Return the processor's time of all that ended below this process."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def slowness(milliseconds: float) -> float:
    """Return how many times as long as on a quiet machine something takes beside which the same work took this."""
    return max(1.0, milliseconds / WORK_MILLISECONDS)


def keep_working(milliseconds: list[float], has_ended: threading.Event) -> None:
    while not has_ended.wait(WORK_EVERY_SECONDS):
        milliseconds.append(fixed_work())


def over_budget(arguments: list[str], taken: float, milliseconds: float) -> str | None:
    """Return what to say where the whole default tier took more CPU seconds than it may; None where all is well.

    A run that is told anything (--all, --quick, what pytest is to run) is not the default tier.
    """
    allowed = DEFAULT_TIER_CPU_SECONDS * slowness(milliseconds)
    if arguments or taken <= allowed:
        return None
    return (
        f"FAILED: the default tier took {taken:,.0f} CPU s of {allowed:,.0f}. "
        f"The {DEAREST} dearest tests are above: make one cheaper, or mark it `nightly` (docs/testing.md)."
    )


def print_dearest(reports: list[Path], dear: float) -> None:
    cases = [case for report in reports if report.exists() for case in ElementTree.parse(report).iter("testcase")]
    seconds = [
        (float(taken.get("value")), case)
        for case in cases
        if (taken := case.find(".//property[@name='cpu']")) is not None
    ]
    dearest = sorted(seconds, key=lambda pair: -pair[0])[:DEAREST]
    for taken, case in dearest:
        if taken >= dear:
            print(f"{taken:7.1f} CPU s  {case.get('classname')}::{case.get('name')}")


def read_counts(report: Path) -> Counter:
    if not report.exists():
        return Counter()
    suite = ElementTree.parse(report).getroot().find("testsuite").attrib
    failed, skipped = int(suite["failures"]) + int(suite["errors"]), int(suite["skipped"])
    return Counter(passed=int(suite["tests"]) - failed - skipped, failed=failed, skipped=skipped)


def run_all(arguments: list[str], stack: ExitStack, counts: Counter) -> None:
    folder = Path(tempfile.mkdtemp(prefix="kdb-test-"))
    stack.callback(shutil.rmtree, folder, ignore_errors=True)
    stack.callback(end_orphans)
    folder.chmod(0o711)  # PostgreSQL's user passes through
    reports = []
    if kept := os.environ.get("TEST_REPORTS"):  # for script/ledger
        stack.callback(lambda: [shutil.copy(report, f"{kept}/{report.parent.name}.xml") for report in reports])
    stack.callback(lambda: print_dearest(reports, SLOW_SECONDS if "--quick" in arguments else DEAR_SECONDS))

    def run(
        name: str, arguments: list[str], environment: dict[str, str], processes: int = 2, output: Path | None = None
    ) -> Run:
        begun = Run(arguments, environment, folder / name, processes, output)
        stack.callback(stop_pytest, begun.process)
        reports.append(begun.report)
        return begun

    plain = {name: value for name, value in os.environ.items() if name not in OWN_SETTINGS}
    if "--quick" in arguments:
        taken = folder / "taken"
        taken.mkdir()
        # Two processes take files from one list; xdist's controller would start and collect before its workers do.
        halves = ["--quiet", "-o", "console_output_style=classic", f"--taken={taken}", *arguments]
        other = run("other", halves, plain, 1, folder / "other.log")
        counts.update(run("quick", halves, plain, 1).count())
        print("\nIn the other process", flush=True)
        counts.update(other.count())
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

    adopt_orphans()
    # At the same time: while one waits for a browser, a server or a guest, the other computes.
    with_services = plain | {name: url for name, url in services.items() if url}
    # Guests of the nightly tier are emulated where there is no /dev/kvm: more at once would only wait for each other.
    few, many = (1, 2) if "--all" in arguments else (1, 3)
    on_services = run("services", ["--services", *arguments], with_services, few, folder / "services.log")
    print("\nOn SQLite without Redis; on PostgreSQL and Redis meanwhile", flush=True)
    counts.update(run("embedded", ["--embedded", *arguments], plain, many).count())
    print("\nOn PostgreSQL and Redis", flush=True)
    counts.update(on_services.count())


def stop(signum: int, frame: object) -> None:
    raise KeyboardInterrupt


def main() -> int:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    counts, status = Counter(), 0
    milliseconds, has_ended = [fixed_work()], threading.Event()
    threading.Thread(target=keep_working, args=(milliseconds, has_ended), daemon=True).start()
    try:
        with ExitStack() as stack:
            run_all(sys.argv[1:], stack, counts)
    except CannotStartError as error:
        print(error)
        status = 1
    except KeyboardInterrupt:
        print("Stopped.")
        status = 130
    has_ended.set()
    if counts["failed"] or not counts["passed"]:
        status = status or 1
    taken, work = cpu_seconds(), median(milliseconds)
    print(f"{taken:,.0f} CPU s in all; the same work took {work:.0f} ms beside them ({WORK_MILLISECONDS:.0f} once)")
    if complaint := over_budget(sys.argv[1:], taken, work):
        print(complaint)
        status = status or 1
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return status


if __name__ == "__main__":
    sys.exit(main())
