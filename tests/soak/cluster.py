"""The services of docker-compose.yml behind nginx, each on a host of its own with a network of its own.

The commands are those of the file. The two web hosts and three workers have a DATA_DIR each, as on machines of their
own; PostgreSQL and Redis are apart from them.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import psutil
import yaml

from kdb.jobs.health_check import is_fresh, web_answers
from script import _services

from .memory import Bound
from .network import Host, Network
from .place import HANG_SECONDS, ROOT, complaints_in

NAME = "kdb.example.org"
WEB_PORT = 8000
# docker-compose.yml's stop_grace_period of workers; gunicorn gives requests under way half of that.
STOP_SECONDS = 60
START_SECONDS = 300

# As in docs/deployment.md, for two web hosts; a script's visitors come without TLS and say themselves who they are.
NGINX = """
daemon off;
user root;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log warn;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    client_max_body_size 256m;
    upstream kdb {{
{servers}
    }}
    server {{
        listen {address}:80;
        location / {{
            proxy_pass http://kdb;
            proxy_read_timeout 120s;
            proxy_set_header Host {name};
            proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
            proxy_set_header X-Forwarded-Proto https;
        }}
    }}
}}
"""


@dataclass
class Node:
    """One service on its host."""

    host: Host
    service: _services.Service
    home: Path  # its DATA_DIR

    @property
    def name(self) -> str:
        return self.host.name

    def start(self) -> None:
        for sign in self.home.glob("alive"):
            sign.unlink()
        with self.host.inside():
            self.service.start()

    def stop(self) -> None:
        """Stop it as `docker stop` does, with time for what is under way."""
        self.service.stop(signal.SIGTERM, STOP_SECONDS)


class Proxy:
    """nginx, which sends nothing to a host that is down for it."""

    def __init__(self, host: Host, folder: Path, webs: list[Host]) -> None:
        self.host, self.folder, self.webs = host, folder, webs
        folder.mkdir()
        command = [_nginx(), "-c", str(folder / "nginx.conf"), "-p", str(folder), "-e", str(folder / "nginx.log")]
        self.service = _services.Service(command, folder / "output.log", lambda: True)

    def start(self) -> None:
        self._write(down=None)
        with self.host.inside():
            self.service.start()

    def leave_out(self, web: Host | None) -> None:
        """Send no further request to this web host, or leave none out; return when that is so."""
        before = {child.pid for child in self._workers()}
        self._write(down=web)
        os.kill(self.service.pid, signal.SIGHUP)
        deadline = time.monotonic() + HANG_SECONDS
        # Those before end when their last request is answered: until then they may still send one to the host.
        while before & {child.pid for child in self._workers()}:
            assert time.monotonic() < deadline, "nginx did not read its configuration again"
            time.sleep(0.05)

    def _workers(self) -> list[psutil.Process]:
        return psutil.Process(self.service.pid).children()

    def _write(self, down: Host | None) -> None:
        servers = "\n".join(
            f"        server {web.address}:{WEB_PORT} max_fails=0{' down' if web is down else ''};" for web in self.webs
        )
        configuration = NGINX.format(folder=self.folder, address=self.host.address, name=NAME, servers=servers)
        (self.folder / "nginx.conf").write_text(configuration)


def _nginx() -> str:
    return _services.find_program("nginx", Path("/usr/sbin")) or ""


def missing() -> str:
    """Return what is missing to try it here; empty where nothing is."""
    from . import network

    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    programs = {
        "nginx": _nginx(),
        "PostgreSQL": _services.find_program("initdb", *folders),
        "Redis": shutil.which("redis-server"),
    }
    return network.missing() or ", ".join(name for name, program in programs.items() if not program)


class Cluster:
    """All hosts; `start` returns when everything answers. Services are stopped when the stack ends."""

    def __init__(
        self,
        stack: ExitStack,
        folder: Path,
        *,
        webs: int = 2,
        workers: int = 3,
        bound: Bound | None = None,
        processes: int = 2,
    ) -> None:
        """processes : of each web server and of each worker (PROCESSES of docker compose)"""
        self.stack, self.folder, self.bound = stack, folder, bound
        folder.chmod(0o711)  # PostgreSQL's user passes through
        self.network = Network()
        self.web_hosts = [self.network.add(f"web-{n + 1}") for n in range(webs)]
        self.worker_hosts = [self.network.add(f"worker-{n + 1}") for n in range(workers)]
        self.beat_host, self.proxy_host = self.network.add("beat"), self.network.add("proxy")
        self.proxy = Proxy(self.proxy_host, folder / "proxy", self.web_hosts)
        self.environment: dict[str, str] = {}
        self.services: dict[str, _services.Service] = {}  # PostgreSQL and Redis
        self.webs: list[Node] = []
        self.workers: list[Node] = []
        self.beat: Node | None = None
        self.commands = {
            name: [sys.executable, *(word.replace("${PROCESSES:-2}", str(processes)) for word in about["command"][1:])]
            for name, about in yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"].items()
            if about.get("command", [""])[0] == "python"
        }

    @property
    def address(self) -> str:
        return f"http://{self.proxy_host.address}"

    @property
    def nodes(self) -> list[Node]:
        return [*self.webs, *self.workers, *([self.beat] if self.beat else [])]

    def start(self) -> None:
        self._start_databases()
        for host in (*self.web_hosts, *self.worker_hosts, self.beat_host):
            (self.folder / host.name).mkdir(mode=0o700)
        self.prepare()
        self.webs = [self._node(host, self.commands["web"]) for host in self.web_hosts]
        self.workers = [self._node(host, self.commands["worker"]) for host in self.worker_hosts]
        self.beat = self._node(self.beat_host, self.commands["beat"])
        for node in self.nodes:
            node.start()
            self.stack.callback(node.stop)
        self.proxy.start()
        self.stack.callback(self.proxy.service.stop)

    def wrapped(self, command: list[str]) -> list[str]:
        return self.bound.around(command, None) if self.bound else command

    def run(self, host: Host, *arguments: str) -> None:
        """Run a command of KDB's on a host. Raises CannotStartError where it fails."""
        log = self.folder / f"{host.name}.log"
        command = [sys.executable, "manage.py", *arguments]
        with host.inside(), log.open("ab") as output:
            command = self.wrapped(command)
            environment = self.environment | {"DATA_DIR": str(self.folder / host.name)}
            done = subprocess.run(command, cwd=ROOT, env=environment, stdout=output, stderr=output, check=False)
        if done.returncode:
            raise _services.CannotStartError(f"{' '.join(arguments)} fails:\n{log.read_text()[-2000:]}")

    def prepare(self) -> None:
        """Make or migrate the database from one host, and bring its static files to all: workers make pages, too."""
        first, *others = (self.folder / host.name for host in (*self.web_hosts, *self.worker_hosts, self.beat_host))
        self.run(self.web_hosts[0], "prepare")
        for home in others:
            shutil.copytree(first / "static", home / "static", dirs_exist_ok=True)

    def upgrade(self, drains: bool = True) -> None:
        """Do what docs/deployment.md says of a new version on several machines, one host after the other.

        drains : whether the proxy is told first to leave a web host out.
        """
        self.prepare()
        for web in self.webs:
            if drains:
                self.proxy.leave_out(web.host)
            web.stop()
            web.start()
            if drains:
                self.proxy.leave_out(None)
        for node in self.nodes[len(self.webs) :]:
            node.stop()
            node.start()

    def complaints(self) -> list[str]:
        """Return the lines of all logs by which a program says that it made a mistake."""
        logs = (path.read_text(errors="replace") for path in sorted(self.folder.glob("*.log")))
        return [line for log in logs for line in complaints_in(log)]

    def _start_databases(self) -> None:
        hosts = {name: self.network.add(name) for name in ("postgresql", "redis")}
        address = hosts["postgresql"].address
        # docs/deployment.md: several machines need more connections than one.
        made = _services.new_postgresql(self.folder, listen_addresses=address, max_connections="300")
        redis = _services.new_redis(self.folder)
        if made is None or redis is None:
            raise _services.CannotStartError(f"missing: {missing()}")
        postgresql, url = made
        with (self.folder / "postgresql/data/pg_hba.conf").open("a") as rules:
            rules.write("host all all 10.77.0.0/24 trust\n")
        url = url.replace("127.0.0.1", address)
        postgresql.answers = lambda: _services.answers_postgresql(url)
        queue, redis_url = redis
        redis_url = redis_url.replace("127.0.0.1", hosts["redis"].address)
        queue.command += ["--bind", hosts["redis"].address, "--protected-mode", "no"]
        queue.answers = lambda: _services.answers_redis(redis_url)
        self.services = {"postgresql": postgresql, "redis": queue}
        for name, service in self.services.items():
            if self.bound:
                service.command, service.user = self.bound.around(service.command, service.user), None
            with hosts[name].inside():
                service.start()
            self.stack.callback(service.stop)
        self.environment = {
            **{name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ},
            "PYTHONPATH": str(ROOT),
            "DJANGO_SETTINGS_MODULE": "kdb.settings.production",
            "SECRET_KEY": "of hosts that are tried and thrown away, for all of them the same",
            "ALLOWED_HOSTS": NAME,
            "DATABASE_URL": url,
            "REDIS_URL": redis_url,
            # One machine asks for all visitors: each tells an address of its own, and what they cost is not refused.
            "TRUSTED_PROXIES": "2",
            "API_REQUESTS_A_MINUTE": "0",
            "CPU_SECONDS_A_MINUTE": "0",
        }

    def _node(self, host: Host, command: list[str]) -> Node:
        home = self.folder / host.name
        sign = home / "alive"
        answers = {
            "web": lambda: web_answers(WEB_PORT, NAME),
            "worker": lambda: is_fresh([sign]),
            "beat": lambda: True,
        }[host.name.partition("-")[0]]
        service = _services.Service(
            self.wrapped(command), self.folder / f"{host.name}.log", answers, patience=START_SECONDS
        )
        service.environment = self.environment | {"DATA_DIR": str(home), "ALIVE_FILE": str(sign)}
        return Node(host, service, home)
