"""The server's side: one host a token, one runner a command, one answer, and nothing of a hostile one is used."""

import base64
import threading
import time
from datetime import timedelta
from itertools import count
from types import SimpleNamespace

import pytest
from django.core.management import CommandError, call_command
from django.utils.timezone import now

from experiments.campaigns import checks, hosts
from experiments.models import AskedCommand, Host
from experiments.runner import queue
from kdb.models import ApiToken
from tests import factories

from .conftest import make_host

pytestmark = [pytest.mark.both, pytest.mark.django_db]
OURS, OTHER = "runner-1", "runner-2"


@pytest.fixture(autouse=True)
def _answers_at_once(monkeypatch):
    monkeypatch.setattr(queue, "HOLD_SECONDS", 0)


@pytest.fixture
def host() -> Host:
    return make_host()


def command(host: Host, **fields) -> AskedCommand:
    about = {"words": ["uname", "-r"], "seconds": 60, "most_bytes": 100, "expires_at": now() + timedelta(days=1)}
    return AskedCommand.objects.create(host=host, **about | fields)


@pytest.fixture
def post(client, host):
    key = hosts.make_runner_token(host, user=host.registered_by)

    def post(path: str, body: dict, key: str = key):
        headers = {"authorization": f"Bearer {key}"}
        return client.post(f"/api/v1/runner/{path}/", body, "application/json", headers=headers)

    return post


def lease(post, runner: str = OURS, held=(), room: int = 4, **more) -> list[int]:
    answer = post("lease", {"runner": runner, "held": [*held], "room": room}, **more)
    return [command["id"] for command in answer.json()["commands"]]


def answer(number: int, **fields) -> dict:
    return {
        "id": number,
        "outcome": "done",
        "status": 0,
        "output": base64.b64encode(b"6.1").decode(),
        "error_output": "",
    } | fields


def test_a_command_is_given_once_and_again_only_to_the_same_runner_that_does_not_have_it(host, post):
    first, second = command(host), command(host)
    assert lease(post, room=1) == [first.pk]
    assert lease(post, OTHER) == [second.pk]
    assert lease(post, held=[first.pk]) == []
    assert lease(post) == [first.pk]  # the answer was lost on its way
    assert lease(post, OTHER, held=[second.pk]) == []


def test_of_two_runners_that_see_a_command_at_the_same_time_one_takes_it(host, monkeypatch):
    waiting = command(host)
    moments = count()

    def now_and_another_takes_it():
        if next(moments):  # after the first look at what is free
            AskedCommand.objects.update(leased_by=OTHER)
        return now()

    monkeypatch.setattr(queue, "now", now_and_another_takes_it)
    assert queue._lease_now(host, OURS, [], 4) == []
    waiting.refresh_from_db()
    assert waiting.leased_by == OTHER


def test_a_token_of_one_host_gets_and_answers_nothing_of_another(host, post):
    other = make_host()
    theirs = command(other, leased_by=OURS)
    waiting = command(other)
    assert lease(post) == []
    assert post("answer", answer(theirs.pk)).json() == {"is_taken": False}
    assert [*AskedCommand.objects.values_list("pk", "outcome")] == [(theirs.pk, ""), (waiting.pk, "")]


def test_a_new_token_ends_the_one_before_and_a_token_of_people_is_none(host, post):
    mine = factories.make_token(host.registered_by, ("runner", "campaign"))
    assert post("lease", {"runner": OURS, "held": [], "room": 0}, key=mine).status_code == 403
    key = hosts.make_runner_token(host, user=host.registered_by)
    assert post("lease", {"runner": OURS, "held": [], "room": 0}).status_code == 401
    assert post("lease", {"runner": OURS, "held": [], "room": 0}, key=key).status_code == 200
    assert ApiToken.objects.filter(revoked_at=None, scopes=["runner"]).count() == 1
    Host.objects.update(archived_at=now())
    assert post("lease", {"runner": OURS, "held": [], "room": 0}, key=key).status_code == 403


@pytest.mark.parametrize(
    ("state", "fields", "taken", "outcome"),
    [
        ({"leased_by": OURS}, {}, True, "done"),
        ({"leased_by": OURS}, {"output": base64.b64encode(b"x" * 101).decode()}, True, "too_much"),
        ({"leased_by": OURS}, {"error_output": "x" * 70_000}, True, "too_much"),
        (
            {"leased_by": OURS},
            {"outcome": "refused", "status": None, "error_output": "not in the list"},
            True,
            "refused",
        ),
        ({"leased_by": OURS, "outcome": "late"}, {}, False, "late"),
        ({}, {}, False, ""),
        ({"leased_by": OURS, "expires_at": now() - timedelta(days=1)}, {}, False, ""),
    ],
    ids=["right", "long", "long-errors", "refused", "twice", "not-leased", "after-its-lease"],
)
def test_an_answer_counts_once_and_in_its_bounds(host, post, state, fields, taken, outcome):
    row = command(host, **state)
    assert post("answer", answer(row.pk, **fields)).json() == {"is_taken": taken}
    row.refresh_from_db()
    assert (row.outcome, len(row.output) <= 100) == (outcome, True)


@pytest.mark.parametrize(
    "fields", [{"outcome": "fine"}, {"status": 256}, {"status": None}, {"output": "not base64!"}, {"id": 2**70}]
)
def test_a_body_that_is_no_answer_is_refused_and_changes_nothing(host, post, fields):
    row = command(host, leased_by=OURS)
    assert post("answer", answer(row.pk, **fields)).status_code in (200, 400)
    row.refresh_from_db()
    assert row.outcome == ""


def test_so_many_questions_are_held_open_and_the_next_shall_come_again(host, post, monkeypatch):
    monkeypatch.setattr(queue, "_may_hold", threading.BoundedSemaphore(1))
    asked = {"runner": OURS, "held": [], "room": 4}
    assert post("lease", asked).json()["pause_seconds"] == 0
    with queue._may_hold:
        assert post("lease", asked).json()["pause_seconds"] == queue.SHORTEST_PAUSE_SECONDS
    assert post("lease", asked).json()["pause_seconds"] == 0


def test_a_command_that_comes_while_a_question_is_held_goes_out_with_it(host, post, monkeypatch):
    made = []

    def sleep(seconds: float) -> None:
        if not made:
            made.append(command(host))
        time.sleep(seconds)

    monkeypatch.setattr(queue, "HOLD_SECONDS", 5)
    monkeypatch.setattr(queue, "time", SimpleNamespace(sleep=sleep, monotonic=time.monotonic))
    assert lease(post) == [made[0].pk]


def test_questions_that_are_held_ask_the_database_together(host, django_assert_num_queries):
    asked = queue._AskedHosts()
    with django_assert_num_queries(1):
        assert not any(asked.has(pk) for pk in (host.pk, 17, 18))
    command(host)
    other = make_host()
    command(other, leased_by=OURS)
    asked._known_until = 0.0  # half a second later
    with django_assert_num_queries(1):
        assert [asked.has(pk) for pk in (host.pk, other.pk)] == [True, False]


def test_an_idle_question_that_is_not_held_is_two_short_queries_and_comes_again_late(
    host, post, monkeypatch, django_assert_num_queries
):
    monkeypatch.setattr(queue, "_may_hold", threading.BoundedSemaphore(1))
    with queue._may_hold:
        asked = {"runner": OURS, "held": [], "room": 4}
        post("lease", asked)  # it is noted that it was heard
        with django_assert_num_queries(2):  # the token, and the host with its commands
            answered = post("lease", asked).json()
        assert answered == {"host": host.slug, "commands": [], "pause_seconds": queue.SHORTEST_PAUSE_SECONDS}
        waiting = command(host)
        assert lease(post) == [waiting.pk]
        waiting.delete()
        assert post("lease", asked).json()["pause_seconds"] == queue.BUSY_PAUSE_SECONDS
        Host.objects.update(runner_heard_at=now() - queue.NOTED_EVERY)
        post("lease", asked)
        host.refresh_from_db()
        assert now() - host.runner_heard_at < queue.NOTED_EVERY
        Host.objects.update(archived_at=now())
        assert post("lease", asked).status_code == 403
    assert queue.LONGEST_PAUSE_SECONDS < queue.TAKEN_SECONDS
    assert queue.NOTED_EVERY.total_seconds() + 2 * queue.LONGEST_PAUSE_SECONDS < queue.SILENT_SECONDS


@pytest.mark.parametrize(("runners", "pause"), [(1, 5), (15, 5), (60, 20), (200, 60)])
def test_the_more_runners_are_idle_the_longer_each_waits(runners, pause):
    idle = {"is_by_runner": True, "registered_by": make_host().registered_by, "runner_heard_at": now()}
    Host.objects.bulk_create(Host(slug=f"idle-{n}", name=f"Idle {n}", **idle) for n in range(runners))
    assert queue.idle_pause() == pause


def test_a_runner_that_asks_without_end_is_told_to_wait_and_another_is_not(host, post, monkeypatch):
    monkeypatch.setattr("experiments.runner.api._MAX_PER_MINUTE", 2)
    other = make_host(registered_by=host.registered_by)
    key = hosts.make_runner_token(other, user=host.registered_by)
    asked = {"runner": OURS, "held": [], "room": 0}
    assert [post("lease", asked).status_code for _ in range(3)] == [200, 200, 429]
    assert post("answer", answer(1)).status_code == 429
    assert post("lease", asked, key=key).status_code == 200


def test_an_answer_of_all_that_a_command_may_print_arrives(host, post):
    printed = bytes(range(256)) * (queue.MOST_BYTES // 256)
    row = command(host, leased_by=OURS, most_bytes=queue.MOST_BYTES)
    brought = answer(row.pk, output=base64.b64encode(printed).decode(), error_output="\n" * queue.MOST_ERROR_BYTES)
    assert post("answer", brought).json() == {"is_taken": True}
    row.refresh_from_db()
    assert (row.outcome, bytes(row.output)) == ("done", printed)
    longer = answer(row.pk, output="A" * (queue.MOST_BYTES * 3 // 2))
    assert post("answer", longer).status_code == 413
    assert post("lease", {"runner": "x" * 2**20, "held": [], "room": 0}).status_code == 413


def test_commands_of_workers_that_died_go_by_themselves(host, post):
    command(host, expires_at=now() - timedelta(seconds=1))
    assert lease(post) == []
    assert not AskedCommand.objects.exists()


def test_a_host_is_registered_with_a_runner_and_its_page_gives_the_key_once(client, capsys):
    factories.make_user("operators", username="ada")
    call_command("register_host", "lab-1", runner=True, owner="ada", pool=["/srv/kdb"])
    host = Host.objects.get(slug="lab-1")
    assert capsys.readouterr().out.splitlines()[1].startswith("kdb_")
    client.force_login(host.registered_by)
    first = client.post("/laboratory/hosts/lab-1/", {"do": "runner-token"}).content.decode()
    assert "kdb_" in first.partition("shown this once")[2]
    assert "shown this once" not in client.get("/laboratory/hosts/lab-1/").content.decode()
    with pytest.raises(CommandError, match="leave the address empty"):
        call_command("register_host", "lab-2", "192.0.2.1", runner=True, owner="ada")
    with pytest.raises(CommandError, match="By a runner: native, libvirt, proxmox; found xen"):
        call_command("register_host", "lab-2", runner=True, owner="ada", driver=["xen"])


def test_a_plan_with_guests_on_a_host_with_a_runner_is_refused(host):
    plan = factories.make_campaign(host, driver="libvirt", guest_file_systems=["ext4"], vm_counts=[1])
    assert "native only" in checks.problems_of(plan)["driver"][0]
    assert "driver" not in checks.problems_of(factories.make_campaign(host, driver="native"))
