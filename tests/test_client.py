"""kdb-client (script/client) asks a running server as a person would."""

import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
import venv
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain, repeat
from pathlib import Path
from typing import Any, ClassVar

import pytest
from kdb_client import (
    Client,
    Configuration,
    KdbError,
    NotAllowedError,
    NotReadyError,
    ProblemError,
    TooManyRequestsError,
    UnreachableError,
)
from kdb_client.command import AXES, FILTERS, main

from experiments.models import ImportBatch, Measurement
from kdb.api.schema import CachedGenerator
from kdb.jobs import jobs
from kdb.models import Job
from tests import factories
from tests.kdb.walk import TABLE
from tests.test_architecture import ROOT

PROJECT = ROOT / "script" / "client"


# Against the schema


@pytest.mark.slow
def test_its_command_takes_the_axes_and_filters_of_a_ranking():
    schema = CachedGenerator(api_version="v1").get_schema(public=True)
    parameters = schema["paths"]["/api/v1/rankings/{axis}/"]["get"]["parameters"]
    names = {parameter["name"] for parameter in parameters if parameter["in"] == "query"}
    (axis,) = (parameter for parameter in parameters if parameter["name"] == "axis")
    assert names == {*FILTERS, "workload", "rows", "format"}
    assert set(axis["schema"]["enum"]) == set(AXES)


# Asking a server


@pytest.fixture
def api(live_server, monkeypatch) -> Client:
    monkeypatch.setenv("KDB_URL", live_server.url)
    return Client()


@pytest.fixture
def evidence(transactional_db, published_evidence) -> None:
    """Load the published evidence where the server's threads see it."""


@pytest.mark.server
def test_a_wheel_in_an_empty_environment_ranks(evidence, live_server, tmp_path):
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    subprocess.run([*build, "--wheel-dir", str(tmp_path), str(PROJECT)], check=True, timeout=300)
    (wheel,) = tmp_path.glob("kdb_client-*.whl")
    place = tmp_path / "empty"
    venv.create(place, with_pip=False)
    install = [sys.executable, "-m", "pip", "--python", str(place), "install", "--quiet", "--no-index", str(wheel)]
    subprocess.run(install, check=True, timeout=300)

    command = [str(place / "bin" / "kdb"), "rank", "varmail", "--hypervisor", "kvm"]
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "KDB_URL": live_server.url}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)

    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.splitlines()[1].split() == ["rank", "key", "ratio", "low", "high", "grade", "verdict"]
    assert "ext4-on-ext4" in run.stdout


@pytest.mark.sqlite
def test_a_ranking_is_the_answer_of_the_api_and_asked_for_again_by_its_tag(evidence, api, client, monkeypatch):
    seen = []
    send = Client._send
    monkeypatch.setattr(Client, "_send", lambda *given: seen.append(send(*given)) or seen[-1])
    first, again = (api.ranking("hypervisor", "fileserver", vm_count=None) for _ in range(2))
    assert first == again == client.get("/api/v1/rankings/hypervisor/?workload=fileserver").json()
    assert [answer.status for answer in seen] == [200, 304]


@pytest.mark.sqlite
def test_a_list_is_walked_to_its_end(evidence, api):
    ids = [row["id"] for row in api.rows("measurements", case_study="p1", page_size=50)]
    assert len(ids) == len(set(ids)) == Measurement.objects.filter(configuration__case_study__slug="p1").count()


@pytest.mark.sqlite
def test_a_problem_names_the_field_and_what_is_allowed(evidence, api, capsys):
    with pytest.raises(ProblemError) as problem:
        api.ranking("fs-pair", "varmail", hypervisor="qvm")
    assert (problem.value.status, problem.value.errors[0]["field"]) == (400, "hypervisor")
    assert "kvm" in problem.value.errors[0]["allowed"]
    assert main(["rank", "varmail", "--hypervisor", "qvm"]) == 2
    assert "allowed are esxi" in capsys.readouterr().err


@pytest.mark.sqlite
def test_the_command_prints_the_whole_answer_as_json(evidence, api, capsys):
    assert main(["rank", "fileserver", "--axis", "hypervisor", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["entries"][0]["key"] in ("kvm", "proxmox")


def work() -> None:
    for job in Job.objects.filter(state=Job.State.QUEUED).order_by("pk"):
        jobs.run(job.pk)


@pytest.mark.sqlite
def test_an_answer_being_worked_out_is_waited_for(evidence, api, settings):
    settings.KDB_MOST_ARMS_AT_ONCE = 1
    with pytest.raises(NotReadyError):
        Client(patience_seconds=0).ranking("fs-pair", "varmail")
    work()
    assert api.ranking("fs-pair", "varmail")["entries"]


@pytest.mark.sqlite
def test_files_are_uploaded_and_watched_until_they_are_filed(transactional_db, api, monkeypatch, tmp_path, capsys):
    user = factories.make_user("researchers")
    draft = factories.make_case_study("draft", owner=user)
    table = tmp_path / 'a "table".csv'
    table.write_text(TABLE)
    upload = ["upload", str(table), "--case-study", draft.slug, "--no-wait"]
    assert main(upload) == 2
    assert "401" in capsys.readouterr().err

    monkeypatch.setenv("KDB_TOKEN", factories.make_token(user))
    assert main(upload) == 0
    batch = ImportBatch.objects.get()
    assert f"import {batch.pk} into {draft.slug}: reading." in capsys.readouterr().out
    work()
    batch.refresh_from_db()
    code = main(["watch", "import", str(batch.pk)])
    assert code == (1 if batch.state == "faulty" else 0)
    assert f": {batch.state}." in capsys.readouterr().out


# A server that behaves as ours may, at the times a test wants


class Scripted(BaseHTTPRequestHandler):
    """Gives the answers of `script` one after the other: status, headers, body."""

    script: ClassVar[list[tuple[int, dict[str, str], Any]]] = []
    asked: ClassVar[list[Any]] = []

    def do_GET(self) -> None:
        Scripted.asked.append(self)
        status, headers, body = Scripted.script.pop(0)
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    do_POST = do_GET  # noqa: N815 - as the library calls it

    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture
def scripted() -> Iterator[Callable[..., Client]]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Scripted)
    thread = threading.Thread(target=server.serve_forever, args=[0.05])
    thread.start()

    def script(*answers: tuple[int, dict[str, str], Any], token: str = "", patience: float = 60) -> Client:
        Scripted.script, Scripted.asked = list(answers), []
        address = f"http://127.0.0.1:{server.server_address[1]}"
        return Client(Configuration(address, token), patience_seconds=patience)

    yield script
    server.shutdown()
    thread.join()
    server.server_close()


@contextmanager
def spoken(drops: Iterable[bytes]) -> Iterator[Client]:
    """Return a client of a server that sends these bytes, some each time, until nobody listens."""

    def speak() -> None:
        connection, _ = listener.accept()
        with connection, suppress(OSError):
            connection.recv(2**16)
            for drop in drops:
                connection.sendall(drop)
                time.sleep(0.01)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=speak)
        thread.start()
        yield Client(Configuration(f"http://127.0.0.1:{listener.getsockname()[1]}"))
        thread.join()


TOO_MANY = (429, {"Retry-After": "0"}, {"detail": "Too many."})


def test_too_many_requests_are_asked_again_after_the_time_named(scripted, monkeypatch):
    pauses = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    busy, waits = (429, {"Retry-After": "7"}, {"detail": "Too many."}), (202, {"Retry-After": "3"}, {"error": ""})
    odd = [(429, {"Retry-After": text}, {"detail": "Too many."}) for text in ("nan", "Tue, 24 Nov 2026 01:00:00 GMT")]
    assert scripted(busy, waits, *odd, (200, {}, {"entries": []})).get("x/") == {"entries": []}
    assert pauses == [7, 3, 2, 2]


def test_patience_ends_with_the_servers_own_words(scripted):
    with pytest.raises(TooManyRequestsError, match="429: Too many"):
        scripted(TOO_MANY, patience=0).get("x/")


def test_a_failed_answer_is_not_waited_for(scripted):
    with pytest.raises(NotReadyError, match="a singular matrix"):
        scripted((202, {}, {"error": "a singular matrix"})).get("x/")


def test_the_token_goes_to_no_other_address(scripted):
    client = scripted((302, {"Location": "/elsewhere"}, {}), token="kdb_secret")
    with pytest.raises(UnreachableError):
        client.get("x/")
    assert [asked.headers["Authorization"] for asked in Scripted.asked] == ["Bearer kdb_secret"]


@pytest.mark.parametrize("status", [200, 500])
def test_an_answer_has_a_most_of_bytes(scripted, monkeypatch, status):
    monkeypatch.setattr("kdb_client.client._MOST_BYTES", 10)
    assert scripted((200, {}, "12345678")).get("x/") == "12345678"
    with pytest.raises(UnreachableError, match="more than 10 bytes"):
        scripted((status, {}, "123456789")).get("x/")


@pytest.mark.parametrize("body", [b"<html>", b"\xff", b"[" * 100_000])
@pytest.mark.parametrize("status", [200, 202, 500])
def test_an_answer_that_is_no_json_is_none_of_a_server_of_ours(scripted, body, status):
    client = scripted((status, {}, body))
    with pytest.raises(UnreachableError, match=f"answer of status {status} is none of KDB's"):
        client.get("x/")


@pytest.mark.parametrize(
    "head", ["no HTTP", "HTTP/1.1 200 OK\r\nx: " + "x" * 10**5, "HTTP/1.1 200 OK\r\nx: y\r\n" * 500]
)
def test_an_answer_that_is_no_http_is_no_answer(head):
    with spoken([head.encode()]) as client, pytest.raises(UnreachableError, match="does not answer"):
        client.post("x/", {})


@pytest.mark.parametrize(
    "before", [b"", b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 500 No\r\n\r\n"]
)
def test_an_answer_that_drips_has_an_end(monkeypatch, before):
    monkeypatch.setattr("kdb_client.client._DEADLINE_SECONDS", 0.3)
    drops = chain([before, b"HTTP/1.1 200 OK\r\nX: "], repeat(b"x"))
    with spoken(drops) as client, pytest.raises(UnreachableError, match=r"takes longer than|timed out"):
        client.post("x/", {})
    monkeypatch.setattr("kdb_client.client._DEADLINE_SECONDS", 0)  # it ends between two drops
    with spoken(drops) as client, pytest.raises(UnreachableError, match="takes longer than 0 seconds"):
        client.post("x/", {})


def test_a_refused_token_is_an_error_of_its_own(scripted):
    with pytest.raises(NotAllowedError):
        scripted((401, {}, {"detail": "No."})).get("x/")


def test_what_a_server_says_cannot_steer_the_terminal(scripted, monkeypatch, capsys):
    ranking = {"verdict": {"sentence": "\x1b[2Jgone"}, "revision": 1, "metric": "m", "entries": [], "missing": ["\r."]}
    client = scripted((200, {}, ranking))
    monkeypatch.setenv("KDB_URL", client.configuration.url)
    assert main(["rank", "mail"]) == 1
    assert "\x1b" not in (stdout := capsys.readouterr().out)
    assert "\r" not in stdout


def test_a_question_is_watched_until_its_answer_changes(scripted, monkeypatch, capsys):
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    was = {"verdict": {"sentence": "Use a."}, "revision": 1, "metric": "m", "missing": []}
    was["entries"] = [dict.fromkeys(("rank", "key", "ratio", "low", "high", "grade", "verdict"))]
    same, now = was | {"revision": 2}, was | {"verdict": {"sentence": "Use b."}}
    tag = {"ETag": '"1"'}
    client = scripted((200, tag, was), (304, tag, None), (200, {}, same), (200, {}, now))
    monkeypatch.setenv("KDB_URL", client.configuration.url)
    assert main(["watch", "question", "mail", "--hypervisor", "kvm"]) == 0
    assert re.findall(r"Use .\.", capsys.readouterr().out) == ["Use a.", "Use b."]
    assert "hypervisor=kvm" in Scripted.asked[1].path
    assert Scripted.asked[1].headers["If-None-Match"] == '"1"'


def test_a_campaign_is_watched_until_it_ends(scripted, monkeypatch, capsys):
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    states = [{"slug": "c", "state": state, "state_reason": ""} for state in ("running", "running", "finished")]
    client = scripted(*[(200, {}, state) for state in states])
    monkeypatch.setenv("KDB_URL", client.configuration.url)
    assert main(["watch", "campaign", "c"]) == 0
    assert capsys.readouterr().out.splitlines() == ["campaign c: running", "campaign c: finished"]


def test_a_paper_is_planned_run_and_filed_and_its_page_named(scripted, monkeypatch, capsys):
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    plan = {"case_study": "p3-cs1", "campaigns": ["again"], "plans": ["native: ext4 × varmail: 2 runs"], "seconds": 61}
    plan |= {"left_out": ["KVM, XFS on Btrfs: lab is registered for native."], "differences": []}
    running = {"slug": "again", "state": "running", "state_reason": ""}
    answers = [plan, running, running, running | {"state": "finished"}, {"case_study": "again", "import_id": 1}]
    client = scripted(*[(200, {}, answer) for answer in answers])
    monkeypatch.setenv("KDB_URL", client.configuration.url)
    assert main(["replicate", "p3", "--host", "lab", "--short"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "p3-cs1 again: about 2 minutes"
    assert "cannot be done: KVM, XFS on Btrfs: lab is registered for native." in printed
    assert printed[-2:] == ["draft: again", f"{client.configuration.url}/laboratory/campaigns/again/replication/"]
    asked = [asked.path.removeprefix("/api/v1/campaigns/") for asked in Scripted.asked]
    assert asked == ["replicate/", "again/start/", "again/", "again/", "again/draft/"]


def test_a_kit_is_planned_run_and_filed_and_without_a_name_all_are_listed(scripted, monkeypatch, capsys):
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    plan = {"kit": "io-mode/1", "held": "KVM.", "campaigns": ["c"], "plans": ["libvirt: 7 runs"], "seconds": 60}
    ended = {"slug": "c", "state": "finished", "state_reason": ""}
    listed = {"kits": [{"slug": "io-mode", "question": "Threads or native?"}, {"slug": "discard", "question": "Why?"}]}
    nothing = plan | {"campaigns": [], "plans": [], "held": "", "left_out": ["lab is registered for native."]}
    answers = [plan | {"left_out": []}, ended, ended, {"case_study": "c", "import_id": 1}, listed, nothing]
    client = scripted(*[(200, {}, answer) for answer in answers])
    monkeypatch.setenv("KDB_URL", client.configuration.url)
    assert main(["study", "io-mode", "--host", "lab"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[:3] == ["kit io-mode/1: about 1 minutes", "libvirt: 7 runs", "the same in all runs: KVM."]
    assert printed[-2:] == ["draft: c", f"{client.configuration.url}/kits/io-mode/"]
    assert main(["study"]) == 0
    assert capsys.readouterr().out.splitlines() == ["io-mode  Threads or native?", "discard  Why?"]
    assert main(["study", "io-mode", "--host", "lab", "--dry-run"]) == 1
    assert "cannot be done: lab is registered for native." in capsys.readouterr().out
    assert main(["study", "io-mode"]) == 2
    assert "--host is needed" in capsys.readouterr().err
    asked = [asked.path.removeprefix("/api/v1/") for asked in Scripted.asked]
    assert asked[:4] == ["campaigns/study/", "campaigns/c/start/", "campaigns/c/", "campaigns/c/draft/"]
    assert asked[4:] == ["kits/", "campaigns/study/"]


# The token


def test_a_file_that_others_can_read_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "client.ini"
    path.write_text("[kdb]\nurl = https://kdb.example.org/\ntoken = kdb_100%\n")
    for name in ("KDB_URL", "KDB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("KDB_CONFIG", str(path))
    path.chmod(0o640)
    with pytest.raises(KdbError, match="chmod 600"):
        Configuration.read()
    path.chmod(0o600)
    configuration = Configuration.read()
    assert (configuration.url, configuration.token) == ("https://kdb.example.org", "kdb_100%")
    assert "kdb_100" not in repr(configuration)


def test_a_token_is_not_sent_in_the_clear_to_another_machine():
    with pytest.raises(KdbError, match="in the clear"):
        Configuration("http://kdb.example.org", "kdb_secret")


# The documentation


@pytest.mark.sqlite
def test_the_python_that_the_documentation_shows_runs(evidence, api, capsys):
    page = (ROOT / "docs" / "client.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", page, re.S)
    exec(compile(code, "docs/client.md", "exec"), {})
    assert "ext4-on-ext4" in capsys.readouterr().out


def test_every_command_that_the_documentation_shows_is_one():
    from kdb_client.command import _parser

    commands = re.findall(r"^kdb (.*)$", Path(ROOT / "docs" / "client.md").read_text(), re.M)
    assert len(commands) == 13
    for words in commands:
        _parser().parse_args(words.split())
