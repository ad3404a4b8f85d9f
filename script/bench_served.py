"""The processor time of a request where KDB is served as users run it. Called by script/bench --served.

`manage.py serve` runs on a database of its own with the published evidence: on SQLite, and on a PostgreSQL and a Redis
that are started here. A client asks one request after the other, each on a connection of its own, as a proxy does.
Counted is what the processes took of the processor, kernel included: those of the web server, those of the workers,
those of PostgreSQL and Redis. The client is not counted. Beside each figure stands what a fixed piece of work took
then; figures are compared with those of the last record as multiples of it, because neighbours slow both alike.

With --processes, many clients ask at once, of as many web processes as are named, one number after the other.
"""

import datetime
import json
import os
import random
import secrets
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import psycopg
from _costs import cpu_seconds, fixed_work
from _services import CannotStartError, Service, free_port, new_postgresql, new_redis

from kdb.jobs.health_check import web_answers

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "docs/served.json"
DATABASES = ("sqlite", "postgresql")
START_SECONDS = 900  # half a minute on a machine of its own
PATIENCE_SECONDS = 120  # for an answer
CALM_SECONDS = 900  # at most, until workers have done what is left to them
SERIES = 200  # nights that a series has before the first that is counted: more than are read
CLIENTS, SECONDS = 8, 20  # that ask at once, and for how long

PAGES = {
    "first page": "/",
    "claims": "/claims/",
    "case studies": "/case-studies/",
    "search": "/search/?q=xfs",
    "kept answer, JSON": "/api/v1/rankings/hypervisor/?workload=fileserver",
    "kept answer, page": "/?axis=hypervisor&workload=fileserver",
}
NEW, NIGHT, IDLE = "new question", "a night of a series", "a second at rest"
# Never asked before on the database of a run, and answered by the published evidence. Without the guest's family of
# operating systems some of them are cells of the home page's table, which the first start answers.
NEW_QUESTIONS = [
    f"/api/v1/rankings/{axis}/?workload={workload}&hypervisor={hypervisor}&guest_os_family=linux"
    for hypervisor, workload, axis in product(
        ("kvm", "xen", "esxi"), ("varmail", "fileserver", "webserver"), ("guest-fs", "host-fs", "fs-pair")
    )
]


class Cost(NamedTuple):
    """The processor milliseconds of one request (or second); `loop` is what the fixed piece of work took."""

    web: float
    workers: float
    database: float
    loop: float

    @property
    def loops(self) -> float:
        return (self.web + self.workers + self.database) / self.loop


class Served(NamedTuple):
    """`manage.py serve` that answers, and the services that it asks."""

    port: int
    serve: int  # its process
    services: list[int]
    data_dir: Path
    database_url: str  # empty with SQLite

    def cpu(self) -> tuple[float, float, float]:
        """Return CPU seconds of the web server, of all else that serves, and of the database with its broker."""
        supervisor = psutil.Process(self.serve)
        web, others = 0.0, sum(supervisor.cpu_times()[:4])
        for child in supervisor.children():
            if "gunicorn" in child.cmdline():
                web += cpu_seconds(child.pid)
            else:
                others += cpu_seconds(child.pid)
        return web, others, sum(map(cpu_seconds, self.services))

    def ask(self, address: str, key: str = "", sent: Any = None) -> None:
        """Ask until there is an answer, as pages and programs do where a worker makes it. Raises SystemExit.

        sent : to the address as JSON, with the key of a token
        """
        deadline = time.monotonic() + PATIENCE_SECONDS
        asked = ("GET", address) if sent is None else ("POST", address, json.dumps(sent))
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"} if key else {}
        status = 202
        while status == 202:
            connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
            connection.request(*asked, headers=headers)
            response = connection.getresponse()
            status, body = response.status, response.read()
            connection.close()
            if status not in (200, 201, 202) or time.monotonic() > deadline:
                raise SystemExit(f"{address} answers {status}: {body[:300]!r}")
            if status == 202:
                time.sleep(0.5)

    def new_laboratory(self) -> str:
        """Return the key of a token for a laboratory of a new user's."""
        environment = {"PATH": os.environ["PATH"], "DATA_DIR": str(self.data_dir)}
        if self.database_url:
            environment["DATABASE_URL"] = self.database_url

        def manage(*words: str) -> str:
            command = [sys.executable, str(ROOT / "manage.py"), *words]
            return subprocess.run(
                command, env=environment, input=secrets.token_hex(), capture_output=True, text=True, check=True
            ).stdout.strip()

        manage("create_user", "ada", "--role", "researchers", "--password-stdin")
        key = manage("create_token", "box", "--user", "ada", "--scope", "laboratory", "--scope", "import")
        self.ask("/api/v1/laboratories/", key, {"slug": "our-lab", "name": "Our laboratory"})
        return key

    def add_nights(self, key: str, number: int) -> None:
        """Add so many nights on two places, as `kdb measure --ci` does."""
        names = ("disk", "other")
        for _ in range(number):
            runs = [
                {"block": block, "choice": name, "value": random.lognormvariate(7, 0.03)}
                for block in range(1, 5)
                for name in names
            ]
            choices = [{"name": name, "place": name, "settings": {"host_fs": "ext4"}} for name in names]
            facts = {"measured_at": str(time.time()), "kernel": "6.8", "cpu": "A processor", "fio": "3.36"}
            night = {"machine": "box", "workload": "varmail", "choices": choices, "facts": facts, "runs": runs}
            self.ask("/api/v1/laboratories/our-lab/series/", key, night)

    def web_mib(self) -> float:
        """Return the proportional memory of the web server's processes."""
        (parent,) = (child for child in psutil.Process(self.serve).children() if "gunicorn" in child.cmdline())
        return sum(one.memory_full_info().pss for one in (parent, *parent.children())) / 2**20

    def wait_for_calm(self) -> None:
        """Wait until workers have done what the first start and the questions left to them. Raises SystemExit."""
        deadline = time.monotonic() + CALM_SECONDS
        while self._jobs():
            if time.monotonic() > deadline:
                raise SystemExit(f"after {CALM_SECONDS} s jobs are still waiting")
            time.sleep(1)

    def _jobs(self) -> int:
        query = "SELECT count(*) FROM kdb_job WHERE state IN ('queued', 'running')"
        if self.database_url:
            with psycopg.connect(self.database_url) as database:
                (count,) = database.execute(query).fetchone() or (0,)
        else:
            with closing(sqlite3.connect(self.data_dir / "kdb.sqlite3")) as database:
                (count,) = database.execute(query).fetchone()
        return int(count)


@contextmanager
def served(database: str, processes: int | None = None, environment: dict[str, str] | None = None) -> Iterator[Served]:
    """Serve on a new database with the published evidence until the end. Raises CannotStartError.

    processes : of the web server; None: as many as users have
    environment : further variables
    """
    further = environment or {}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kdb-served-")))
        folder.chmod(0o711)  # PostgreSQL's user passes through
        port = free_port()
        environment = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        environment |= {"DATA_DIR": str(folder / "data"), "PORT": str(port)}
        environment |= further | {
            "API_REQUESTS_A_MINUTE": "0",
            "CPU_SECONDS_A_MINUTE": "0",
        }  # one client asks as fast as it can
        if processes:
            environment["GUNICORN_CMD_ARGS"] = f"--workers {processes}"
        services = []
        if database == "postgresql":
            for variable, make in (("DATABASE_URL", new_postgresql), ("REDIS_URL", new_redis)):
                made = make(folder)
                if made is None:
                    raise CannotStartError(f"what {variable} names is not installed")
                service, environment[variable] = made
                services.append(service)
        # It prepares the database, too, and answers when that is done.
        command = [sys.executable, str(ROOT / "manage.py"), "serve"]
        serve = Service(command, folder / "kdb.log", lambda: web_answers(port, "localhost"), patience=START_SECONDS)
        serve.environment = environment
        for service in (*services, serve):
            service.start()
            stack.callback(service.stop)
        pids, url = [service.pid for service in services], environment.get("DATABASE_URL", "")
        yield Served(port, serve.pid, pids, folder / "data", url)


def cost_of(server: Served, do: Callable[[], None], times: int) -> Cost:
    """Do it, which is so many requests or seconds, and return what one cost."""
    loop, before = fixed_work(), server.cpu()
    do()
    spent = [1000 * (after - then) / times for after, then in zip(server.cpu(), before, strict=True)]
    return Cost(*spent, loop=(loop + fixed_work()) / 2)


def measure(server: Served, turns: int, requests: int) -> dict[str, Cost]:
    """Return the mean cost of each kind over the turns, in each of which every kind is asked so many requests."""

    def ask_all(addresses: list[str]) -> None:
        for address in addresses:
            server.ask(address)

    for address in PAGES.values():
        ask_all([address] * 10)  # so that every process has answered it once
    key = server.new_laboratory()
    server.add_nights(key, SERIES)
    server.wait_for_calm()
    costs: dict[str, list[Cost]] = {}
    for turn in range(turns):
        asked = {what: [address] * requests for what, address in PAGES.items()}
        asked[NEW] = NEW_QUESTIONS[turn::turns]
        for what, addresses in asked.items():
            cost = cost_of(server, lambda addresses=addresses: ask_all(addresses), len(addresses))
            costs.setdefault(what, []).append(cost)
        costs.setdefault(NIGHT, []).append(cost_of(server, lambda: server.add_nights(key, requests), requests))
        costs.setdefault(IDLE, []).append(cost_of(server, lambda: time.sleep(10), 10))
    return {what: Cost(*map(statistics.mean, zip(*turn_costs, strict=True))) for what, turn_costs in costs.items()}


def told(costs: dict[str, Cost], recorded: dict[str, Cost]) -> str:
    """Return the table of one database, with what is not in the record, and so has no ratio."""
    lines = [f"{'CPU ms a request':<20}{'web':>8}{'workers':>9}{'database':>10}{'loop':>8}{'loops':>8}  / recorded"]
    for what, cost in costs.items():
        figures = f"{what:<20}{cost.web:>8.1f}{cost.workers:>9.1f}{cost.database:>10.1f}{cost.loop:>8.1f}"
        then = recorded[what].loops if what in recorded else 0.0
        ratio = f"{cost.loops / then:>11.2f}" if then else "  new: --record"
        lines.append(f"{figures}{cost.loops:>8.3f}{ratio}")
    return "\n".join(lines)


def measure_served(databases: list[str], turns: int, requests: int, to_be_recorded: bool) -> None:
    """Print what requests cost on each database beside the last record; then make this the record if asked to."""
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    for database in databases or DATABASES:
        then = record.get(database, {"date": None, "costs": {}})
        try:
            with served(database) as server:
                costs = measure(server, turns, requests)
        except CannotStartError as error:
            raise SystemExit(f"{database}: {error}") from error
        against = f", beside the record of {then['date']}" if then["date"] else ""
        recorded = {what: Cost(**cost) for what, cost in then["costs"].items()}
        print(f"\n{database}, {turns} turns of {requests} requests{against}\n{told(costs, recorded)}", flush=True)
        rounded = {what: {name: round(ms, 3) for name, ms in cost._asdict().items()} for what, cost in costs.items()}
        record[database] = {"date": datetime.datetime.now(datetime.UTC).date().isoformat(), "costs": rounded}
    if to_be_recorded:
        RECORD.write_text(json.dumps(record, indent=1) + "\n")
        print(f"recorded in {RECORD.relative_to(ROOT)}")


def answered(server: Served, clients: int, seconds: float) -> int:
    """Let so many clients ask for the pages in turn, each as fast as it is answered; return how many answers came."""
    until, counts = time.monotonic() + seconds, [0] * clients

    def ask(client: int) -> None:
        addresses = list(PAGES.values())
        while time.monotonic() < until:
            server.ask(addresses[(client + counts[client]) % len(addresses)])
            counts[client] += 1

    threads = [threading.Thread(target=ask, args=(client,)) for client in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts)


def measure_processes(databases: list[str], numbers: list[int]) -> None:
    """Print the answers a second and the memory of so many web processes, one number after the other."""
    for database in databases or DATABASES:
        print(f"\n{database}: {CLIENTS} clients for {SECONDS} s\n{'web processes':<15}{'answers/s':>10}", end="")
        print(f"{'web CPU ms':>12}{'MiB':>6}{'loop':>8}", flush=True)
        for number in numbers:
            with served(database, number) as server:
                answered(server, CLIENTS, SECONDS / 4)  # so that every process has answered
                server.wait_for_calm()
                loop, before = fixed_work(), server.cpu()[0]
                count = answered(server, CLIENTS, SECONDS)
                spent, loop = server.cpu()[0] - before, (loop + fixed_work()) / 2
                row = f"{number:<15}{count / SECONDS:>10.0f}{1000 * spent / count:>12.1f}"
                print(f"{row}{server.web_mib():>6.0f}{loop:>8.1f}", flush=True)
