"""A sitting under the load of an observed machine: who may ask for it, what it keeps, and where it does not count."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.utils.timezone import now
from kdb_client.command import main
from kdb_client.fio_job import checked_load, file_bytes

from modelling.evidence.question import Question
from modelling.models import Sitting
from modelling.own_lab import laboratories
from modelling.own_lab.selectors import answer_here
from tests.factories import make_host, make_machine, make_minutes, make_token, make_user
from tests.modelling.own_lab.test_rechecks import measured
from tests.modelling.own_lab.test_sessions import BODY, SPEED

pytestmark = pytest.mark.django_db

LIKE = {name: value for name, value in BODY.items() if name != "workload"} | {"like": "vm-117"}
NOT_THERE = "you may see no observed machine of that name."


def watched(machine, *, reads: int = 600, writes: int = 400, hours_ago: float = 1) -> None:
    """A minute of the machine's disk: reads of 16 KiB, writes of 8 KiB, two requests under way at once."""
    counts = {"reads": reads, "read_bytes": reads * 16384, "read_seconds": 12.0, "flushes": 200, "flush_seconds": 2.0}
    counts |= {"writes": writes, "write_bytes": writes * 8192, "write_seconds": 6.0, "busy_seconds": 10.0}
    make_minutes(machine, 1, begin=now().replace(second=0, microsecond=0) - timedelta(hours=hours_ago), **counts)


@pytest.fixture
def machine(ada):
    machine = make_machine(make_host("lab-1", registered_by=ada), "vm-117")
    watched(machine)
    return machine


@pytest.fixture
def ada():
    ada = make_user("operators", username="ada")
    laboratories.create_laboratory(ada, "ours", "Our laboratory")
    return ada


def refused(asked, **change) -> tuple[str, str]:
    (error,) = asked("sittings/", {**LIKE, **change}, 400)["errors"]
    assert not Sitting.objects.exists()
    return error["field"], error["message"]


def test_its_runs_do_what_the_machine_did_and_it_says_so(asked, machine):
    sitting = asked("sittings/", {**LIKE, "facts": {"fio": "3.33"}}, 201)
    assert (sitting["workload"], sitting["like"]["machine"]) == ("", "lab-1/vm-117")
    load = checked_load(sitting["load"])
    assert (load["read_percent"], load["read_bytes"], load["write_bytes"]) == (60, 16384, 8192)
    assert (load["threads"], load["fsync_every"], load["fdatasync_every"], load["overwrite"]) == (2, 0, 5, 1)
    assert (load["warm_up_seconds"], file_bytes(load)) == (3, 2**30)
    assert Sitting.objects.get().like["load"].items() <= load.items()  # no number of it is lost
    sentence = sitting["like"]["sentence"]
    assert sentence.startswith("The load is what lab-1/vm-117 asked of its disks in the 24 hours before ")
    assert (
        "50% reads of 16 KiB, 33% writes of 8 KiB and 17% flushes, 2 at once. Every request is taken to jump"
        in sentence
    )
    assert sitting["decision"]["sentence"].startswith("Under the load of lab-1/vm-117: nothing was measured here yet.")
    assert asked("sittings/")["results"][0]["like"]["machine"] == "lab-1/vm-117"


def test_it_begins_with_nothing_published(asked, machine, published_evidence):
    decision = asked("sittings/", LIKE, 201)["decision"]
    assert decision["published"] == ""
    assert all(row["elsewhere_ratio"] == pytest.approx(1.0, abs=1e-6) for row in decision["choices"])


def test_its_load_stays_what_it_was_also_when_it_is_measured_again(asked, machine):
    first = measured(asked, SPEED | {"ext4": 1400.0}, workload=None, like="vm-117", seconds=20)
    assert first["state"] == "decided"
    watched(machine, reads=9000, hours_ago=2)
    assert asked(f"sittings/{first['id']}/")["load"] == first["load"]
    again = asked("sittings/", {**LIKE, "again": True}, 201)
    assert (again["load"], again["like"]) == (first["load"], first["like"])
    assert asked("sittings/", LIKE, 201)["load"] != first["load"]


def test_a_machine_measured_under_a_workload_was_not_measured_like_another(asked, machine):
    assert measured(asked, SPEED)["state"] == "decided"
    (error,) = asked("sittings/", {**LIKE, "again": True}, 400)["errors"]
    assert error["message"] == "No decision under the load of vm-117 on box is kept in this laboratory."


def test_it_counts_in_no_answer_and_is_not_shared(asked, ada, machine, published_evidence):
    sitting = measured(asked, SPEED, workload=None, like="vm-117")
    assert answer_here(Question("guest-fs", "fileserver"), ada.laboratories.get()) is None
    assert "is no workload that others measured" in asked(f"sittings/{sitting['id']}/share/", {}, 409)["detail"]


def test_its_page_says_what_it_was_made_of_and_offers_no_sharing(asked, ada, client, machine):
    sitting = measured(asked, SPEED, workload=None, like="vm-117")
    client.force_login(ada)
    page = client.get(f"/laboratories/sittings/{sitting['id']}/").content.decode()
    assert "<h1>The load of lab-1/vm-117 on box</h1>" in page
    assert sitting["like"]["sentence"] in page
    assert "Share it" not in page
    assert "the load of lab-1/vm-117 on box" in client.get("/laboratories/ours/").content.decode()


@pytest.mark.parametrize("role", ["", "researchers", "reviewers"])
def test_whoever_may_not_see_the_machine_is_told_that_it_is_not_there(asked, ada, machine, role):
    ada.groups.clear()
    if role:
        ada.groups.add(make_user(role).groups.get())
    told = refused(asked)
    assert told == ("like", f"vm-117: {NOT_THERE}")
    machine.delete()
    assert told == refused(asked)


def test_a_token_that_may_not_read_takes_no_load_away(client, ada, machine):
    headers = {"authorization": f"Bearer {make_token(ada, ('import',))}"}
    answer = client.post("/api/v1/sittings/", LIKE, content_type="application/json", headers=headers)
    assert (answer.status_code, Sitting.objects.count()) == (403, 0)
    assert "scope read" in answer.json()["detail"]


def test_a_name_of_several_hosts_is_asked_about(asked, machine, ada):
    watched(make_machine(make_host("lab-2", registered_by=ada), "vm-117"))
    watched(make_machine(make_host("others"), "vm-117"))
    assert refused(asked) == ("like", "vm-117: say which one: lab-1/vm-117, lab-2/vm-117.")
    assert refused(asked, like="lab-3/vm-117") == ("like", f"lab-3/vm-117: {NOT_THERE}")
    assert asked("sittings/", {**LIKE, "like": "lab-2/vm-117"}, 201)["like"]["machine"] == "lab-2/vm-117"


def test_too_little_that_was_watched_makes_no_load(asked, machine):
    machine.disks.first().statistics.all().delete()
    watched(machine, hours_ago=25)
    watched(machine, reads=900, writes=99)
    expected = "lab-1/vm-117: 999 reads and writes were watched in the last 24 hours; 1,000 are needed."
    assert refused(asked) == ("like", expected)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"workload": "varmail"}, "workload"),
        ({"like": None}, "workload"),
        ({"runs": [{"block": 1, "choice": "xfs", "value": 3.0}]}, "runs"),
    ],
)
def test_a_load_is_a_workloads_or_a_machines(asked, machine, change, field):
    assert refused(asked, **change)[0] == field


@pytest.mark.parametrize("load", [{"workload": ""}, {"workload": "varmail", "like": {"machine": "a/b"}}])
def test_the_database_keeps_one_load(ada, load):
    kept = {"laboratory": ada.laboratories.get(), "choices": [], "known": {}, "seconds": 9, "most_runs": 9}
    with pytest.raises(IntegrityError, match="modelling_sitting_has_one_load"), transaction.atomic():
        Sitting.objects.create(**kept | load)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["varmail", "--like", "vm-117"], "Name either a workload or, with --like, a machine that was observed."),
        ([], "Name either a workload or, with --like, a machine that was observed."),
        (["--like", "vm-117", "--offline", "box.json"], "vm-117: without a server it measures fileserver"),
    ],
)
def test_the_command_takes_one_load_and_a_machines_from_a_server(words, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    places = [f"--place={name}={tmp_path / name}" for name in ("a", "b")]
    assert main(["measure", *words, "--laboratory=ours", "--yes", *places]) == 2
    assert said in capsys.readouterr().err
