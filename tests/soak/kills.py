"""The kills of a soak, at random and without asking, and how what was killed comes back."""

import random
import signal
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import psutil
import psycopg

from script import _services

from .people import Keeper
from .place import Place

Kill = Callable[[], bool]  # whether there was something to kill


class Killer:
    """Kills one thing at a time, any kind as likely as any other."""

    def __init__(self, place: Place, keeper: Keeper, chance: random.Random) -> None:
        self.place, self.keeper, self.chance = place, keeper, chance
        self.done: Counter = Counter()
        self.kinds: dict[str, Kill] = {
            "web server": lambda: self.kill(self.children("gunicorn")),
            "web server's process": lambda: self.kill(self.grandchildren("gunicorn")),
            "supervisor": self.kill_supervisor,
            "backup": self.kill_backup,
            "ssh of KDB": lambda: self.kill(self.ssh()),
            "sshd's session": lambda: self.kill(self.sessions()),
            "host": self.turn_host_off_and_on,
        }
        if place.postgresql is not None:
            self.kinds |= {"PostgreSQL's process": self.kill_backend, "PostgreSQL": self.crash_postgresql}
        workers = {"worker": "work"}
        if place.redis is not None:
            self.kinds["Redis"] = self.crash_redis
            workers = {"worker": "kdb@%h", "laboratory": "lab@%h", "beat": "beat"}
        for name, word in workers.items():
            self.kinds[name] = partial(lambda word: self.kill(self.children(word)), word)
            self.kinds[f"{name}'s process"] = partial(lambda word: self.kill(self.grandchildren(word)), word)

    def kill_something(self) -> None:
        kind = self.chance.choice([*self.kinds])
        if self.kinds[kind]():
            self.done[kind] += 1

    def kill(self, processes: list[psutil.Process]) -> bool:
        for process in self.chance.sample(processes, len(processes)):
            with suppress(psutil.NoSuchProcess):
                process.kill()
                return True
        return False

    # Processes of KDB's

    def children(self, word: str) -> list[psutil.Process]:
        """Return the children that the supervisor started with this word in their command."""
        serve = self.place.serve
        if serve is None or serve.poll() is not None:
            return []
        children = []
        with suppress(psutil.NoSuchProcess):
            for child in psutil.Process(serve.pid).children():
                with suppress(psutil.NoSuchProcess):
                    if word in child.cmdline():
                        children.append(child)
        return children

    def grandchildren(self, word: str) -> list[psutil.Process]:
        with suppress(psutil.NoSuchProcess):
            return [below for child in self.children(word) for below in child.children()]
        return []

    def kill_supervisor(self) -> bool:
        serve = self.place.serve
        if serve is None or serve.poll() is not None:
            return False
        serve.kill()
        serve.wait()
        return True

    def kill_backup(self) -> bool:
        backup = self.keeper.under_way
        if backup is None or backup.poll() is not None:
            return False
        backup.kill()
        return True

    # The laboratory

    def ssh(self) -> list[psutil.Process]:
        clients = []
        for process in self.place.family():
            with suppress(psutil.NoSuchProcess):
                if process.name() == "ssh":
                    clients.append(process)
        return clients

    def sessions(self) -> list[psutil.Process]:
        """Return the processes that the host's sshd, the first process there, started for its logins."""
        host = self.place.lab.process
        assert host is not None
        logins = []
        for process in psutil.Process(host.pid).children(recursive=True)[1:]:
            with suppress(psutil.NoSuchProcess):
                if process.name().startswith("sshd"):
                    logins.append(process)
        return logins

    def turn_host_off_and_on(self) -> bool:
        self.place.lab.stop()
        self.place.lab.forget_loops()
        self.place.lab.start()
        return True

    # Services

    def kill_backend(self) -> bool:
        """Kill one connection's process. PostgreSQL then ends the others too, and recovers."""
        url = self.place.environment["DATABASE_URL"]
        with suppress(psycopg.OperationalError), psycopg.connect(url, connect_timeout=5) as asked:
            mine = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
            pids = [pid for (pid,) in asked.execute(mine)]
            with suppress(psutil.NoSuchProcess):
                return self.kill([psutil.Process(pid) for pid in pids])
        return False

    def crash_postgresql(self) -> bool:
        """Immediate stop, as when its machine loses its power; what was committed is there afterwards."""
        return self.crash(self.place.postgresql, signal.SIGQUIT)

    def crash_redis(self) -> bool:
        """Kill Redis with all messages: it keeps nothing on its disk here."""
        return self.crash(self.place.redis, signal.SIGKILL)

    def crash(self, service: _services.Service | None, number: signal.Signals) -> bool:
        assert service is not None
        service.stop(number)
        service.start()
        return True
