"""A soak from its beginning to its report. Run by script/soak."""

import argparse
import os
import random
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from script import _services

from . import place as places

CALM_SECONDS = 900  # for everybody to end what they began, and for what follows from it


def main() -> int:
    parser = argparse.ArgumentParser(description="Run everything, kill what runs at random, and check what holds.")
    parser.add_argument("--minutes", type=float, default=5, help="how long things are killed (5)")
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="sqlite", help="sqlite; or with Redis")
    parser.add_argument("--kills-per-minute", type=float, default=20)
    parser.add_argument("--seed", type=int, default=None, help="of an earlier run, to kill in the same order")
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(10**6) if options.seed is None else options.seed
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)
    folder = Path(tempfile.mkdtemp(prefix="kdb-soak-"))
    print(f"Seed {seed}: {options.minutes:g} minutes on {options.database}, in {folder}.", flush=True)
    try:
        with places.place(folder, options.database) as place:
            holds = Soak(place, seed).run(options.minutes * 60, options.kills_per_minute)
    except _services.CannotStartError as error:
        print(error)
        holds = False
    except KeyboardInterrupt:
        print("Stopped.")
        holds = False
    if holds:
        shutil.rmtree(folder)
    else:
        print(f"It does not hold. The evidence is in {folder}.")
    return 0 if holds else 1


def _stop(number: int, frame: object) -> None:
    raise KeyboardInterrupt  # so that all that was started is stopped


class Soak:
    def __init__(self, place: places.Place, seed: int) -> None:
        self.place, self.seed = place, seed
        self.threads: list[threading.Thread] = []
        self.ends_at = 0.0

    def run(self, seconds: float, kills_per_minute: float) -> bool:
        self.prepare()
        from . import invariants, kills, people  # need Django

        place, chance = self.place, random.Random(self.seed)
        ledger, pool = people.Ledger(), str(place.lab.pool)
        keeper = people.Keeper(place, ledger, every=min(30, seconds / 4))
        killer = kills.Killer(place, keeper, chance)
        before = invariants.latest_revision()
        author, reviewer, operator = (people.Client(place.address, ledger, token) for token in self.tokens())
        place.keep_serving()
        _wait(lambda: places.reaches(place.port) and author.once("GET", "/healthz") is not None, "KDB does not start")

        self.ends_at = time.monotonic() + seconds
        goes_on = self.goes_on
        self.begin(ledger, "operator", people.Operator(operator, pool).work, goes_on)
        self.begin(ledger, "keeper", keeper.work, goes_on)
        for number in (1, 2):
            clients = (people.Client(place.address, ledger, client.token) for client in (author, reviewer))
            contributor = people.Contributor(*clients, f"soak-{number}", random.Random(f"{self.seed} {number}"))
            self.begin(ledger, f"contributor {number}", contributor.work, goes_on)
            reading = (people.Client(place.address, ledger), random.Random(f"{self.seed} reader {number}"), goes_on)
            self.begin(ledger, f"reader {number}", people.read_pages, *reading)

        next_kill = time.monotonic()
        while goes_on():
            place.keep_serving()
            if kills_per_minute and time.monotonic() >= next_kill:
                killer.kill_something()
                next_kill = time.monotonic() + chance.expovariate(kills_per_minute / 60)
            time.sleep(0.1)
        self.calm_down(ledger, people.Operator(operator, str(self.place.lab.pool), number=10_000), invariants.under_way)
        return self.report(ledger, killer, invariants, before)

    def prepare(self) -> None:
        """Have KDB make a database with the published evidence, and start Django in this process to look at it."""
        assert self.place.manage("prepare").wait(places.HANG_SECONDS) == 0, self.place.log.read_text()
        os.environ.update(self.place.environment)
        import django

        django.setup()

    def tokens(self) -> list[str]:
        """Return the tokens of an author, a reviewer, and an operator with the laboratory's host."""
        from experiments.models import FileSystem
        from tests import factories

        author, reviewer, operator = (
            factories.make_user(role, username=role) for role in ("researchers", "reviewers", "operators")
        )
        lab = self.place.lab
        factories.entry(FileSystem, "ext4")
        factories.make_host(
            "lab",
            pools=(str(lab.pool),),
            **{"address": "127.0.0.1", "port": lab.port, "login": "root", "key_name": "lab"},
            **{"host_key": lab.host_key, "drivers": ["native"], "registered_by": operator},
        )
        scopes = ("read", "import", "delete", "review", "campaign")
        return [factories.make_token(user, scopes) for user in (author, reviewer, operator)]

    def goes_on(self) -> bool:
        return time.monotonic() < self.ends_at

    def begin(self, ledger: Any, name: str, work: Callable[..., object], *arguments: Any) -> None:
        def do() -> None:
            try:
                work(*arguments)
            except Exception as error:  # said at the end, with everything else
                ledger.fault(f"{name} gave up: {error!r}")

        thread = threading.Thread(target=do, name=name, daemon=True)
        thread.start()
        self.threads.append(thread)

    def calm_down(self, ledger: Any, operator: Any, under_way: Callable[[], str]) -> None:
        """Kill nothing any more; wait until everybody ended what they began, and KDB what follows from it."""
        print("Nothing is killed any more.", flush=True)
        deadline = time.monotonic() + CALM_SECONDS

        def wait_for(is_over: Callable[[], bool], otherwise: Callable[[], str]) -> None:
            while not is_over():
                self.place.keep_serving()
                if time.monotonic() > deadline:
                    ledger.fault(f"after {CALM_SECONDS} s of calm: {otherwise()}")
                    return
                time.sleep(0.5)

        def busy() -> str:
            return ", ".join(thread.name for thread in self.threads if thread.is_alive())

        wait_for(lambda: not busy(), busy)
        # What a host's last death left there is taken away by the next run.
        self.begin(ledger, "operator in the calm", operator.run, "campaign-in-the-calm")
        wait_for(lambda: not busy(), busy)
        wait_for(lambda: not under_way(), under_way)

    def report(self, ledger: Any, killer: Any, invariants: Any, revisions_before: int) -> bool:
        checks = [("KDB stops without leaving a process", self.place.stop_serving())]
        checks += invariants.in_database(ledger, revisions_before)
        checks += invariants.on_machine(self.place)
        checks += invariants.of_backups(ledger, self.place)
        checks.append(("nobody was told what must not be", ledger.faults))
        print(f"\nDone, with {self.place.starts - 1} new starts of KDB")
        for what, count in sorted(ledger.done.items()):
            print(f"  {count:7,} {what}")
        print(f"  {len(ledger.lost):7,} requests without an answer, or told to come back")
        print(f"Killed {killer.done.total():,}")
        for kind, count in sorted(killer.done.items()):
            print(f"  {count:7,} {kind}")
        print("Holds")
        for name, complaints in checks:
            print(f"  {'no ' if complaints else 'yes'}  {name}")
            for complaint in complaints[:20]:
                print(f"         {complaint}")
        return not any(complaints for _, complaints in checks)


def _wait(condition: Callable[[], bool], otherwise: str) -> None:
    deadline = time.monotonic() + places.HANG_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise _services.CannotStartError(otherwise)
        time.sleep(0.2)
