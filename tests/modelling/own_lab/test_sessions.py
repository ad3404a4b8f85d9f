"""A decision on one's own machine: begun, reported run by run, kept from strangers."""

import pytest
from kdb_client.fio_job import checked_load, fio_job

from modelling.models import Sitting
from modelling.own_lab import laboratories, loads, sessions
from modelling.own_lab.content import Choice
from modelling.own_lab.prior import compared_axis
from tests.factories import make_user

pytestmark = pytest.mark.django_db

SPEED = {"ext4": 1000.0, "xfs": 1500.0, "btrfs": 600.0}
BODY = {
    "laboratory": "ours",
    "machine": "box",
    "workload": "fileserver",
    "choices": [{"name": name, "place": "vdb", "settings": {"guest_fs": name}} for name in SPEED],
}


def test_runs_are_planned_reported_and_decide(asked):
    sitting = asked("sittings/", BODY, 201)
    assert sitting["decision"]["kind"] == "not yet"
    assert "direct=1" in fio_job(checked_load(sitting["load"]), "/mnt").splitlines()
    made = 0
    while sitting["next"]:
        for run in sitting["next"]:
            sitting = asked(f"sittings/{sitting['id']}/runs/{run['number']}/", {"value": SPEED[run["choice"]]})
            made += 1
    assert (sitting["state"], sitting["decision"]["kind"]) == ("decided", "use")
    assert sitting["decision"]["sentence"].startswith("Use xfs on this machine: 1.5 times as fast as ext4")
    assert sitting["decision"]["runs"] == made - 1 <= 9  # the first one warms up


def test_a_report_twice_is_one_and_another_one_is_refused(asked):
    sitting = asked("sittings/", BODY, 201)
    number = sitting["next"][0]["number"]
    address = f"sittings/{sitting['id']}/runs/{number}/"
    assert asked(address, {"value": 10.0})["next"] == asked(address, {"value": 10.0})["next"]
    assert "reported before" in asked(address, {"value": 11.0}, 409)["detail"]
    assert asked(f"sittings/{sitting['id']}/runs/99/", {"value": 1.0}, 409)
    assert asked(address, {}, 400)["errors"][0]["field"] == "value"


def test_a_disturbed_run_counts_for_nothing(asked):
    sitting = asked("sittings/", BODY, 201)
    for run in sitting["next"]:
        sitting = asked(f"sittings/{sitting['id']}/runs/{run['number']}/", {"disturbed": "a backup ran"})
    assert (sitting["decision"]["runs"], sitting["state"]) == (0, "open")
    assert sitting["next"]


def test_it_ends_when_its_runs_are_used_up(asked):
    sitting = asked("sittings/", {**BODY, "most_runs": 2}, 201)
    while sitting["next"]:
        for run in sitting["next"]:
            sitting = asked(f"sittings/{sitting['id']}/runs/{run['number']}/", {"value": 10.0})
    assert sitting["state"] == "spent"
    assert "did not decide yet" in sitting["decision"]["sentence"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"laboratory": "theirs"}, "laboratory"),
        ({"workload": "chess"}, "workload"),
        ({"choices": BODY["choices"][:1]}, "choices"),
        ({"choices": [BODY["choices"][0]] * 2}, "choices"),
        ({"choices": [{**choice, "settings": {"colour": "red"}} for choice in BODY["choices"]]}, "choices[0].settings"),
    ],
)
def test_what_cannot_be_measured_is_refused_by_field(asked, change, field):
    assert [error["field"] for error in asked("sittings/", {**BODY, **change}, 400)["errors"]] == [field]
    assert not Sitting.objects.exists()


def test_a_load_that_is_not_there_is_told_with_those_that_are(asked):
    (error,) = asked("sittings/", {**BODY, "workload": "chess"}, 400)["errors"]
    assert error["message"] == f"Found chess; allowed are {', '.join(loads.WORKLOADS)}."


def test_members_see_here_beside_elsewhere_and_strangers_nothing(client, ada, published_evidence):
    bob, eve = make_user(username="bob"), make_user(username="eve", is_superuser=True)
    laboratories.add_member(ada.laboratories.get(), "bob")
    choices = [Choice(name, "vdb", {"guest_fs": name}) for name in SPEED]
    told = {"machine": "box", "workload": "fileserver", "engine": "fio", "seconds": 30, "most_runs": 9, "facts": {}}
    sitting = sessions.begin_session(ada.laboratories.get(), ada, choices=choices, **told)
    pages = [f"/laboratories/sittings/{sitting.pk}/", "/laboratories/ours/"]
    data = [f"/api/v1/sittings/{sitting.pk}/", "/api/v1/laboratories/ours/"]
    for user, status in ((ada, 200), (bob, 200), (eve, 404)):
        client.force_login(user)
        answers = [client.get(address) for address in pages + data]
        assert [answer.status_code for answer in answers] == [status] * 4, user
    client.force_login(eve)
    assert client.post(pages[1], {"username": "eve"}).status_code == 404
    assert client.post(f"{data[0]}runs/1/", {"value": 1.0}, content_type="application/json").status_code == 404
    assert client.get("/api/v1/sittings/").json()["results"] == []
    client.force_login(bob)
    page = client.get(pages[0]).content.decode()
    assert "On this machine" in page
    assert "/?axis=guest-fs&amp;workload=fileserver" in page
    client.logout()
    assert [client.get(address).status_code for address in pages] == [302] * 2
    assert [client.get(address).status_code for address in data] == [401] * 2


@pytest.mark.parametrize(
    ("settings", "axis"),
    [
        ([{"guest_fs": "ext4"}, {"guest_fs": "xfs"}], "guest-fs"),
        ([{"host_fs": "ext4"}, {"host_fs": "xfs"}], "host-fs"),
        ([{"backend": "zvol"}, {"backend": "lvm"}], "host-storage"),
        ([{"guest_fs": "ext4", "backend": "zvol"}, {"guest_fs": "xfs", "backend": "lvm"}], "guest-fs"),
        ([{"cache_mode": "none"}, {"cache_mode": "writeback"}], "cache-mode"),
        ([{"host_fs": "ext4"}, {"host_fs": "ext4"}], None),
    ],
)
def test_the_published_question_is_of_what_the_choices_differ_in(settings, axis):
    question_axis = compared_axis([Choice(str(place), "disk", given) for place, given in enumerate(settings)])
    assert (question_axis and question_axis.name) == axis


def test_what_a_run_says_stands_on_the_page_and_the_load_is_as_large_as_asked(asked, client, ada):
    sitting = asked("sittings/", {**BODY, "workload": "sync-write", "set_mib": 1024}, 201)
    assert sitting["load"]["threads"] * sitting["load"]["files"] * sitting["load"]["file_bytes"] == 2**30
    for _ in range(2):
        for run in sitting["next"]:
            report = {"value": 10.0, "note": f"the first {run['number']}.5 GiB went to a cache at 1.8 times the speed"}
            sitting = asked(f"sittings/{sitting['id']}/runs/{run['number']}/", report)
    client.force_login(ada)
    page = client.get(f"/laboratories/sittings/{sitting['id']}/").content.decode()
    _, *runs = Sitting.objects.get().runs.exclude(reported_at=None)
    for run in runs:
        name = BODY["choices"][run.choice]["name"]
        assert f"{name}: the first {run.number}.5 GiB went to a cache at 1.8 times the speed." in page
    assert page.count(" went to a cache") == 2 * len(runs)
    assert "flowop write name=write1,filesetname=tree,iosize=4096" in page


@pytest.mark.parametrize("workload", ["sqlite", "pgbench"])
def test_a_database_has_transactions(asked, client, ada, workload):
    sitting = asked("sittings/", {**BODY, "workload": workload}, 201)
    assert sitting["load"]["engine"] == workload
    client.force_login(ada)
    page = client.get(f"/laboratories/sittings/{sitting['id']}/").content.decode()
    assert "Transactions a second" in page
    assert "Filebench" not in page
