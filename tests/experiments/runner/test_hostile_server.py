"""A server that was taken over asks a real runner for root: what it gets, and that the runner goes on."""

import base64
import hashlib
import json
import os
import subprocess
import threading
import tomllib
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest
from kdb_client import runner as client
from kdb_client.allowed import Allowed, listed
from kdb_client.command import main
from kdb_client.errors import KdbError
from kdb_client.runner import Journal

from experiments.laboratory.benchmarks import engines
from experiments.laboratory.transport import remote
from experiments.runner.scripts import SCRIPTS

from .conftest import Runner, wait_until

pytestmark = pytest.mark.server
REMOTE = next(digest for digest, script in SCRIPTS.items() if script.name == "remote.sh")


class HostileServer:
    """It says whatever a test puts into `leases`, one an answer, and keeps what it is told.

    statuses : of its answers to answers, the last for all that follow
    """

    def __init__(self) -> None:
        self.scripts = [vars(script) for script in SCRIPTS.values()]
        self.leases: list[object] = []
        self.answers: list[dict] = []
        self.asked: list[dict] = []
        self.statuses = [200]
        self.refusal: object = {"detail": "no\nforged line"}
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.say(200, server.scripts)

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if self.path.endswith("/answer/"):
                    server.answers.append(body)
                    status = server.statuses.pop(0) if len(server.statuses) > 1 else server.statuses[0]
                    self.say(status, {"is_taken": True} if status == 200 else server.refusal)
                else:
                    server.asked.append(body)
                    idle = {"host": "h", "commands": [], "pause_seconds": 0.05}
                    self.say(200, server.leases.pop(0) if server.leases else idle)

            def say(self, status: int, body: object) -> None:
                data = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def lease(self, *commands: dict, **more: object) -> None:
        self.leases.append({"host": "h", "commands": [*commands], "pause_seconds": 0} | more)

    def answer_to(self, number: int) -> dict:
        return wait_until(lambda: next((answer for answer in self.answers if answer["id"] == number), None))


def command(number: object, script: str, *words: str, **fields: object) -> dict:
    about = {"id": number, "script": script, "name": "kdb-remote", "words": [*words], "given": "", "seconds": 60}
    return about | {"most_bytes": 16 * 2**20} | fields


@pytest.fixture
def server():
    server = HostileServer()
    yield server
    server.server.shutdown()
    server.server.server_close()


@pytest.fixture
def runner(server, tmp_path, monkeypatch):
    """Start a real runner with the whole list to begin with, on a pool that is there."""
    monkeypatch.setattr("experiments.campaigns.hosts.make_runner_token", lambda *_, **__: "kdb_key")
    runner = Runner(tmp_path, server.url, SimpleNamespace(registered_by=None))
    (tmp_path / "pool").mkdir()
    runner.list.write_text(listed(server.scripts).replace("/srv/kdb", f"{tmp_path}/pool"))
    monkeypatch.setattr(runner, "is_heard", lambda: server.asked)
    runner.start()
    yield runner
    runner.kill()


def test_a_server_that_was_taken_over_gets_no_root(server, runner, tmp_path):
    pool, secret, sign = f"{tmp_path}/pool", tmp_path / "shadow", tmp_path / "root-was-here"
    secret.write_text("root:hash")
    evil, text = f"cat {secret}; touch {sign}", remote.SCRIPT
    start = ["start", pool, "1", "a", "20", "1", "."]
    known = ["start", pool, "1", "benchmark", "20", "1", "fs"]
    job = f"[a]\ndirectory={pool}/.kdb/fs\nrw=read\n"
    attempts = [
        command(1, "", "sh", "-c", evil),
        command(2, REMOTE, *start, "sh", "-c", text, "kdb-remote", *start, "sh", "-c", evil),
        command(3, REMOTE, *known, "sh", "-c", text, "kdb-fio", f"{pool}/.kdb"),
        command(4, REMOTE, "arm", pool, "1", "benchmark", "sh", "-c", evil),
        command(5, REMOTE, "put", pool, "1", "barrier", evil, "job.fio", job, "create.fio", job),
        command(6, REMOTE, "put", pool, "1", "barrier", engines.BARRIER, "job.fio", f"{job}exec_prerun={evil}\n",
                "create.fio", job),
        command(7, hashlib.sha256(evil.encode()).hexdigest(), "x"),
        command(8, REMOTE, "raw-speed", pool, "1", f"a[$({evil})]"),
        command(9, "", "env", "LC_ALL=C", "sh", "-c", evil),
        command(10, REMOTE, "facts", pool, given=base64.b64encode(evil.encode()).decode()),
        command(11, REMOTE, "facts", pool, name=f"x\n{evil}"),
        command(12, REMOTE, "facts", "\ud800", seconds=10**12),
        command(13, REMOTE, "output", pool, "1", f"../../{secret.name}"),
        command(14, "", "cat", str(secret)),
        command(15, "", "realpath", "--zero", "--canonicalize-missing", "--", "--help"),
    ]  # fmt: skip
    server.scripts.append({"name": "../../evil.sh", "about": "", "digest": "x", "text": evil})
    for attempt in attempts:
        server.lease(attempt)
    answers = [server.answer_to(attempt["id"]) for attempt in attempts]
    assert {answer["outcome"] for answer in answers} == {"refused"}
    assert not sign.exists()
    assert "root:hash" not in "".join(base64.b64decode(answer["output"]).decode() for answer in answers)


def test_a_command_whose_number_is_none_writes_nothing_and_the_next_is_done(server, runner, tmp_path):
    before = sorted(os.listdir(tmp_path))
    server.lease(command("../../x", "", "uname", "-r"))
    server.lease(command(7, "", "uname", "-r"))
    assert server.answer_to(7)["outcome"] == "done"
    assert {answer["id"] for answer in server.answers} == {7}
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize("number", ["../../x", "1", 1.5, -1, 0, 2**70, None, True, [1]])
def test_numbers_alone_are_taken_for_numbers(tmp_path, number):
    lease = {"host": "h", "commands": [command(number, "", "uname", "-r")], "pause_seconds": 0}
    with Journal(tmp_path) as journal, pytest.raises(KdbError, match="whose number is none"):
        client.Runner(SimpleNamespace(post=lambda *_: lease), Allowed(), journal).turn(None)
    assert sorted(os.listdir(tmp_path / "journal")) == ["lock"]


@pytest.mark.parametrize(("told", "rests"), [(0, 0.05), (-5, 0.05), ("nan", 0.05), (0.1, 0.1), (1e9, 60), ("inf", 60)])
def test_between_two_questions_it_rests_for_a_moment_and_never_for_long(tmp_path, told, rests):
    server, pauses = SimpleNamespace(post=lambda *_: {"commands": [], "pause_seconds": told}), []
    with Journal(tmp_path) as journal:
        runner = client.Runner(server, Allowed(), journal)
        runner.ends = SimpleNamespace(wait=pauses.append)
        runner.turn(None)
    assert pauses == [rests]


def test_a_full_disk_does_not_keep_the_runner_from_further_commands(tmp_path, monkeypatch):
    def end(answer):
        raise OSError("No space left on device")

    with Journal(tmp_path) as journal:
        monkeypatch.setattr(journal, "end", end)
        runner = client.Runner(SimpleNamespace(), Allowed(), journal)
        runner.under_way = 1
        with pytest.raises(OSError, match="No space"):
            runner.do(command(7, "", "uname", "-r"))
    assert runner.under_way == 0


def test_a_log_that_cannot_be_written_keeps_nothing_from_being_done(tmp_path):
    told = []
    server = SimpleNamespace(post=lambda path, answer: told.append(answer["outcome"]))
    with Journal(tmp_path) as journal, suppress(OSError), open("/dev/full", "a") as full:
        log, journal._log = journal._log, full
        runner = client.Runner(server, Allowed(programs=["host"]), journal)
        runner.under_way = 1
        runner.do(command(7, "", "uname", "-r"))
        journal._log = log
    assert (told, runner.under_way) == (["done"], 0)


@pytest.mark.parametrize("spoiled", [b"", b"\0\0\0", b'{"id": 7, "outco', b"\xff"])
def test_an_answer_that_the_disk_spoiled_is_told_as_lost_and_keeps_no_other_waiting(tmp_path, spoiled):
    told = []
    server = SimpleNamespace(post=lambda path, answer: told.append((answer["id"], answer["outcome"])))
    with Journal(tmp_path) as journal:
        (journal.folder / "7.answer").write_bytes(spoiled)
        journal.end(client._answer(8, "done"))
        assert [answer["outcome"] for answer in journal.answers()] == ["lost", "done"]
        client.Runner(server, Allowed(), journal).bring()
    assert told == [(7, "lost"), (8, "done")]
    assert (tmp_path / "log").read_text().count(" 7 lost: its answer cannot be read") == 1


def test_an_answer_has_its_name_when_it_is_on_the_disk(tmp_path, monkeypatch):
    def fsync(file):
        assert "done" in Path(f"/proc/self/fd/{file}").read_text()
        raise OSError("the power is gone")

    with Journal(tmp_path) as journal:
        monkeypatch.setattr(os, "fsync", fsync)
        with pytest.raises(OSError, match="the power is gone"):
            journal.end(client._answer(7, "done"))
    assert not (journal.folder / "7.answer").exists()


@pytest.mark.parametrize("digest", ["x" * 10**6, "\x1b[2J" + "0" * 60, f"{REMOTE}\n"])
def test_a_script_that_is_no_digest_is_not_repeated(tmp_path, digest):
    with Journal(tmp_path) as journal:
        answer = client.Runner(SimpleNamespace(), Allowed(), journal).done(command(7, digest, "facts"))
    assert (answer["outcome"], answer["error_output"]) == ("refused", "its script is no SHA-256")
    assert "7 refused: its script is no SHA-256\n" in (tmp_path / "log").read_text()[-60:]


def test_whatever_a_server_says_a_line_of_the_log_has_an_end(server, runner):
    server.lease(pause_seconds="x" * 3 * 2**20)
    server.lease(command(7, "", "uname", "-r"))
    server.answer_to(7)
    assert "could not convert string to float: 'xxx" in runner.log
    assert max(map(len, runner.log.splitlines())) < 2**20 + 100


@pytest.mark.parametrize("lease", [b"no JSON", {"commands": [5], "pause_seconds": 0}])
def test_whatever_stands_for_a_lease_the_runner_goes_on(server, runner, lease):
    server.leases.append(lease)
    server.lease(command(7, "", "uname", "-r"), pause_seconds=-5)
    assert server.answer_to(7)["outcome"] == "done"


def test_a_command_that_is_given_twice_is_done_once(server, runner):
    twice = command(7, "", "uname", "-r")
    server.lease(twice, twice)
    server.lease(command(8, "", "uname", "-r"))
    server.answer_to(8)
    assert runner.log.count(" 7 asked") == 1


@pytest.mark.parametrize(("status", "outcome"), [(413, "too_much"), (400, "lost"), (422, "lost")])
def test_an_answer_that_is_not_taken_is_told_in_short(server, runner, status, outcome):
    server.statuses = [status, 200]
    server.lease(command(7, "", "uname", "-r"))
    wait_until(lambda: outcome in [answer["outcome"] for answer in server.answers])
    short = next(answer for answer in server.answers if answer["outcome"] == outcome)
    assert (server.answers[0]["outcome"], short["output"]) == ("done", "")
    wait_until(lambda: runner.journal == [])
    assert "\nforged line" not in runner.log


def test_an_answer_that_a_proxy_does_not_take_keeps_nothing_else_waiting(server, runner):
    server.statuses, server.refusal = [413, 200], b"<html>413 Request Entity Too Large</html>"
    server.lease(command(7, "", "uname", "-r"))
    server.lease(command(8, "", "uname", "-r"))
    server.answer_to(8)
    wait_until(lambda: runner.journal == [])
    assert "too_much" in [answer["outcome"] for answer in server.answers]


def test_the_scripts_that_are_written_down_are_those_of_known_names(server, runner, tmp_path):
    server.scripts.append({"name": "../evil.sh", "about": "", "digest": "x", "text": "reboot"})
    server.scripts.append({"name": f"{tmp_path}/evil.sh", "about": "", "digest": "x", "text": "reboot"})
    (tmp_path / "scripts").mkdir()
    subprocess.run(runner.command("--scripts", str(tmp_path / "scripts")), env=runner.environment, check=True)
    assert sorted(os.listdir(tmp_path / "scripts")) == sorted(script.name for script in SCRIPTS.values())
    assert not (tmp_path / "evil.sh").exists()


def test_the_list_is_of_the_scripts_that_were_read_and_no_server_is_asked_again(tmp_path, capsys):
    (tmp_path / "remote.sh").write_text("facts)\n")
    (tmp_path / "notes.txt").write_text("of the owner")
    assert main(["runner", "--server=http://127.0.0.1:1", f"--scripts={tmp_path}", "--print-allow"]) == 0
    ((name, script),) = tomllib.loads(capsys.readouterr().out)["scripts"].items()
    assert (name, script["digest"]) == ("remote.sh", hashlib.sha256(b"facts)\n").hexdigest())
