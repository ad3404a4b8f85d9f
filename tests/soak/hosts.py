"""Several hosts under load: a rolling upgrade, a day on little memory. Run by script/hosts."""

import argparse
import os
import random
import shutil
import signal
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from script import _services

from . import cluster as clusters
from .memory import Bound
from .soak import CALM_SECONDS

VISITOR = "198.51.100.{}"  # RFC 5737: of nobody


class Load:
    """Readers and contributors, who come through the proxy until `end`."""

    def __init__(self, address: str, tokens: tuple[str, str]) -> None:
        from . import people  # needs Django

        self.people, self.address, self.tokens = people, address, tokens
        self.ledger = people.Ledger()
        self.has_ended = threading.Event()
        self.threads: list[threading.Thread] = []

    def begin(self, readers: int, writers: int, read_pause: float, write_pause: float) -> None:
        for number in range(readers):
            self._begin(f"reader {number}", self._read, number, read_pause)
        for number in range(writers):
            self._begin(f"contributor {number}", self._contribute, number, write_pause)

    def _begin(self, name: str, work: Callable[..., None], *arguments: Any) -> None:
        def do() -> None:
            try:
                work(*arguments)
            except Exception as error:  # said at the end, with everything else
                self.ledger.fault(f"{name} gave up: {error!r}")

        self.threads.append(threading.Thread(target=do, name=name, daemon=True))
        self.threads[-1].start()

    def goes_on(self) -> bool:
        return not self.has_ended.is_set()

    def _client(self, number: int, token: str = "") -> Any:
        headers = {"X-Forwarded-For": VISITOR.format(number)}
        return self.people.Client(self.address, self.ledger, token, headers)

    def _read(self, number: int, pause: float) -> None:
        # Each web server looks by itself how KDB is: the status is 503 on a busy machine, and the revisions take turns.
        pages = [page for page in self.people.PAGES if page != "/api/v1/status/"]
        self.people.read_pages(self._client(number), random.Random(number), self.goes_on, pause, pages)

    def _contribute(self, number: int, pause: float) -> None:
        author, reviewer = (self._client(100 + number, token) for token in self.tokens)
        chance = random.Random(f"contributor {number}")
        self.people.Contributor(author, reviewer, f"hosts-{number}", chance, pause_seconds=pause).work(self.goes_on)

    def end(self) -> None:
        """Let everybody end what they began."""
        self.has_ended.set()
        deadline = time.monotonic() + CALM_SECONDS
        for thread in self.threads:
            thread.join(max(0, deadline - time.monotonic()))
            if thread.is_alive():
                self.ledger.fault(f"{thread.name} has not ended {CALM_SECONDS} s later")


def set_up_django(cluster: clusters.Cluster) -> tuple[str, str]:
    """Look at the cluster's database from this process; return the tokens of an author and a reviewer."""
    os.environ.update(cluster.environment | {"DATA_DIR": str(cluster.folder)})
    import django

    django.setup()
    from tests import factories

    users = (factories.make_user(role, username=role) for role in ("researchers", "reviewers"))
    author, reviewer = (factories.make_token(user, ("read", "import", "delete", "review")) for user in users)
    return author, reviewer


def what_holds(cluster: clusters.Cluster, load: Load, revisions_before: int) -> list[tuple[str, list[str]]]:
    """Return name and complaints of each check, when everybody has ended what they began."""
    from . import invariants

    return [
        ("no request was refused, broken off or failed", load.ledger.lost + load.ledger.faults),
        *invariants.of_filed(load.ledger, revisions_before),
        ("nobody made a mistake, by the logs", cluster.complaints()),
    ]


def report(load: Load, checks: list[tuple[str, list[str]]]) -> bool:
    for what, count in sorted(load.ledger.done.items()):
        print(f"  {count:7,} {what}")
    print("Holds")
    for name, complaints in checks:
        print(f"  {'no ' if complaints else 'yes'}  {name}{f', {len(complaints)} times' if complaints else ''}")
        for complaint in complaints[:20]:
            print(f"         {complaint}", flush=True)
    return not any(complaints for _, complaints in checks)


def upgrade(stack: ExitStack, folder: Path, options: argparse.Namespace) -> bool:
    """Upgrade every host in turn while readers read and contributors contribute."""
    cluster = clusters.Cluster(stack, folder)
    cluster.start()
    load = Load(cluster.address, set_up_django(cluster))
    from . import invariants

    before = invariants.latest_revision()
    load.begin(options.readers, options.writers, read_pause=2, write_pause=30)
    time.sleep(options.seconds)
    for turn in range(options.upgrades):
        begun, answered = time.monotonic(), load.ledger.done["requests answered"]
        cluster.upgrade(drains=not options.without_draining)
        seconds, answers = time.monotonic() - begun, load.ledger.done["requests answered"] - answered
        print(f"Upgrade {turn + 1}: {seconds:.0f} s, {answers:,} requests answered meanwhile.", flush=True)
    time.sleep(options.seconds)
    load.end()
    return report(load, what_holds(cluster, load, before))


def day(stack: ExitStack, folder: Path, options: argparse.Namespace) -> bool:
    """Bring a day's load in so many seconds to one web host, a worker and beat beside the databases, within a bound."""
    bound = Bound(options.mib)
    stack.callback(bound.end)
    cluster = clusters.Cluster(stack, folder, webs=1, workers=1, bound=bound, processes=options.processes)
    cluster.start()
    load = Load(cluster.address, set_up_django(cluster))
    from . import invariants

    before, held = invariants.latest_revision(), [bound.held_mib()]
    print(f"At rest after the start: {held[0]:.0f} MiB of {options.mib}.", flush=True)
    load.begin(options.readers, options.writers, read_pause=1, write_pause=30)
    until = time.monotonic() + options.seconds
    while time.monotonic() < until:
        time.sleep(1)
        held.append(bound.held_mib())
    load.end()
    checks = what_holds(cluster, load, before)
    held.append(bound.held_mib())
    print(f"Most {max(held):.0f} MiB, median {statistics.median(held):.0f}, at the end {held[-1]:.0f}.")
    checks.append(("nothing was killed for want of memory", [f"{bound.killed()} were"] if bound.killed() else []))
    return report(load, checks)


def main() -> int:
    parser = argparse.ArgumentParser(
        description="KDB on several hosts of this machine, by docker-compose.yml. As root."
    )
    what = parser.add_subparsers(dest="what", required=True)
    for name, does, readers, writers, seconds in (
        ("upgrade", upgrade, 50, 5, 30.0),
        ("day", day, 10, 2, 600.0),
    ):
        command = what.add_parser(name, help=str(does.__doc__))
        command.set_defaults(does=does)
        command.add_argument("--readers", type=int, default=readers)
        command.add_argument("--writers", type=int, default=writers)
        command.add_argument("--seconds", type=float, default=seconds, help="of load: before and after each; in all")
    what.choices["upgrade"].add_argument("--upgrades", type=int, default=1)
    what.choices["upgrade"].add_argument("--without-draining", action="store_true", help="the proxy is told nothing")
    what.choices["day"].add_argument("--mib", type=int, default=1024, help="what all may hold of the memory")
    processes = "of the web server and of the worker, 1; docker-compose.yml has 2"
    what.choices["day"].add_argument("--processes", type=int, default=1, help=processes)
    options = parser.parse_args()
    if why := clusters.missing():
        print(why)
        return 1
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that all that was started is stopped
    folder = Path(tempfile.mkdtemp(prefix="kdb-hosts-"))
    try:
        with ExitStack() as stack:
            holds = options.does(stack, folder, options)
    except _services.CannotStartError as error:
        print(error)
        holds = False
    if holds:
        shutil.rmtree(folder)
    else:
        print(f"It does not hold. The evidence is in {folder}.")
    return 0 if holds else 1
