"""A host with a runner, and runners: real processes of the client, which ask a server on the loopback."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from experiments.campaigns import hosts
from experiments.laboratory.transport import remote, ssh
from experiments.models import Host
from experiments.runner import queue
from tests import factories

CLIENT = Path(__file__).parents[3] / "script" / "client"
LONG = 120  # s


def make_host(**fields) -> Host:
    """Make a host with a runner, of an operator."""
    owner = factories.make_user("operators")
    return factories.make_host(**{"address": "", "host_key": "", "is_by_runner": True, "registered_by": owner} | fields)


class Runner:
    """The runner of a host, with its files. It is started and killed by tests."""

    def __init__(self, folder: Path, url: str, host: Host) -> None:
        self.folder, self.url, self.host = folder, url, host
        self.key = hosts.make_runner_token(host, user=host.registered_by)
        self.token, self.list = folder / "token", folder / "allow.toml"
        self.token.write_text(self.key)
        self.token.chmod(0o600)
        self.environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(CLIENT)}
        self.process: subprocess.Popen | None = None
        self.allow()

    def allow(self, programs=("host",), verbs=("facts", "health", "left"), pools=("/srv/pool",), trusts=False):
        lines = [f"{name} = {json.dumps(values)}" for name, values in {"pools": pools, "programs": programs}.items()]
        lines += [f"trusts_server = {json.dumps(trusts)}", '[scripts."remote.sh"]']
        lines += [f'digest = "{ssh.digest_of(remote.SCRIPT)}"', f"verbs = {json.dumps(verbs)}"]
        self.list.write_text("\n".join(lines))

    def command(self, *more: str) -> list[str]:
        files = ["--token-file", str(self.token), "--allow", str(self.list), "--state", str(self.folder / "state")]
        return [sys.executable, "-m", "kdb_client", "runner", "--server", self.url, *files, *more]

    def start(self) -> "Runner":
        self.process = subprocess.Popen(self.command(), env=self.environment, stderr=subprocess.PIPE, text=True)
        wait_until(lambda: self.process.poll() is not None or self.is_heard())
        assert self.process.poll() is None, self.process.stderr.read()
        return self

    def is_heard(self) -> bool:
        return Host.objects.filter(pk=self.host.pk, runner_heard_at__isnull=False).exists()

    def kill(self, number: int = signal.SIGKILL) -> None:
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait(LONG)
            self.process.stderr.close()
            self.process = None

    @property
    def log(self) -> str:
        return (self.folder / "state" / "log").read_text()

    @property
    def journal(self) -> list[str]:
        return sorted(path.name for path in (self.folder / "state" / "journal").iterdir() if path.name != "lock")


@pytest.fixture
def runner(transactional_db, live_server, tmp_path, monkeypatch) -> Iterator[Runner]:
    monkeypatch.setattr(queue, "HOLD_SECONDS", 0.5)  # a runner that shall end waits for its question
    runner = Runner(tmp_path, live_server.url, make_host())
    yield runner
    runner.kill(signal.SIGTERM)  # the server is left without a question that is held open


def wait_until(condition: Callable[[], object], seconds: float = LONG) -> object:
    deadline = time.monotonic() + seconds
    while not (outcome := condition()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
    return outcome
