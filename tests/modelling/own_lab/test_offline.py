"""Measuring without a server writes a file, which becomes a sitting when it is sent."""

import json
import os
import re

import pytest
from kdb_client import measure
from kdb_client.command import main
from kdb_client.fio_job import checked_load, file_bytes, fio_job
from kdb_client.guardian import Guardian
from kdb_client.loads import LOADS, WORDS, engine_of, load_of
from kdb_client.places import Place

from experiments.laboratory.benchmarks import engines
from modelling.models import Sitting
from modelling.own_lab import laboratories, loads
from modelling.own_lab.content import MOST_SET_MIB
from tests.factories import make_sitting, make_token, make_user
from tests.modelling.own_lab.test_sessions import BODY, SPEED
from tests.test_one_file import FIO

RUNS = [{"block": block, "choice": name, "value": SPEED[name]} for block in (1, 2, 3) for name in SPEED]


@pytest.mark.django_db
@pytest.mark.parametrize("mib", [0, 1, 1024, MOST_SET_MIB])
@pytest.mark.parametrize("workload", loads.WORKLOADS)
def test_without_a_server_the_load_is_what_a_server_gives(workload, mib):
    engine = loads.engine_of(workload)
    load = loads.load_of(make_sitting(make_user(), workload=workload, engine=engine, seconds=30, set_mib=mib))
    assert load_of(workload, 30, mib) == checked_load(vars(load), engine_of(workload))
    assert mib * 2**19 < file_bytes(vars(load)) <= max(mib * 2**20, file_bytes(load_of(workload, 30)))
    assert set(LOADS) == set(loads.WORKLOADS) == {*LOADS, *WORDS.values()}


@pytest.mark.parametrize("workload", engines.WORKLOADS)
def test_the_job_is_that_of_a_campaign(workload):
    job = engines.fio_job(workload, engines.SHAPES[workload], "/mnt", 30) + "direct=1\nramp_time=3\n"
    assert fio_job(load_of(workload, 30), "/mnt").splitlines()[1:] == job.splitlines()[1:]


@pytest.mark.django_db
def test_runs_that_were_made_are_a_sitting_that_has_ended_and_sent_twice_one(asked):
    body = {**BODY, "facts": {"measured_at": "2026-11-01T10:00:00Z"}, "runs": RUNS}
    sitting = asked("sittings/", body, 201)
    assert (sitting["state"], sitting["next"], sitting["decision"]["runs"]) == ("decided", [], 9)
    assert sitting["decision"]["sentence"].startswith("Use xfs on this machine")
    assert asked("sittings/", body, 201)["id"] == sitting["id"]
    assert Sitting.objects.count() == 1


@pytest.mark.django_db
@pytest.mark.parametrize("change", [{"runs": [{**RUNS[0], "value": 77.0}, *RUNS[1:]]}, {"machine": "another"}])
def test_other_runs_are_another_sitting_whatever_the_facts(asked, change):
    body = {**BODY, "runs": RUNS}  # no facts at all
    first = asked("sittings/", body, 201)
    assert asked("sittings/", {**body, **change}, 201)["id"] != first["id"]
    assert Sitting.objects.count() == 2


@pytest.mark.django_db
def test_a_disturbed_run_counts_for_nothing_and_too_few_decide_nothing(asked):
    runs = [{"block": 1, "choice": "xfs", "disturbed": "a backup ran"}, {"block": 1, "choice": "ext4", "value": 3.0}]
    sitting = asked("sittings/", {**BODY, "runs": runs}, 201)
    assert (sitting["state"], sitting["decision"]["runs"]) == ("spent", 0)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("change", "field"),
    [({"choice": "zfs"}, "runs[0].choice"), ({"disturbed": "and a value"}, "runs[0].value")],
)
def test_runs_that_cannot_be_are_refused_by_field(asked, change, field):
    (error,) = asked("sittings/", {**BODY, "runs": [{**RUNS[0], **change}]}, 400)["errors"]
    assert error["field"] == field
    assert not Sitting.objects.exists()


@pytest.fixture
def measured(tmp_path, monkeypatch, capsys):
    """The file of a plan that was run where no server answers."""
    (tmp_path / "fio").write_text(FIO)
    (tmp_path / "fio").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("KDB_URL", "http://127.0.0.1:1")
    places = [f"--place={name}={tmp_path / name}" for name in ("a", "b")]
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    file = tmp_path / "box.json"
    told = ["measure", "varmail", "--laboratory=ours", "--yes", "--despite-load", f"--offline={file}", *places]
    assert main(told) == 0
    (tmp_path / "said").write_text(capsys.readouterr().out)
    assert main(told) == 2  # what was measured is not written over
    return file


@pytest.mark.server
def test_it_is_decided_now_without_a_server_and_uploaded_later(
    measured, transactional_db, live_server, monkeypatch, capsys
):
    said = measured.with_name("said").read_text()
    runs = json.loads(measured.read_text())["runs"]
    assert [sorted(run["choice"] for run in runs if run["block"] == block) for block in (1, 2)] == [["a", "b"]] * 2
    assert re.search("^(a or b|b or a): either is fine on this machine.$", said, re.MULTILINE)
    assert said.startswith("warm-up ")
    ada = make_user(username="ada")
    laboratories.create_laboratory(ada, "ours", "Our laboratory")
    monkeypatch.setenv("KDB_URL", live_server.url)
    monkeypatch.setenv("KDB_TOKEN", make_token(ada))
    main(["upload", str(measured)])
    main(["upload", str(measured)])
    sitting = Sitting.objects.get()
    assert sitting.runs.count() == len(runs)
    assert sitting.state == "decided"  # by the same rule
    assert f"/laboratories/sittings/{sitting.pk}/" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"kdb_offline": 1', "\x00"])
def test_a_file_that_is_none_is_said_to_be_none(text, tmp_path, capsys):
    file = tmp_path / "box.json"
    file.write_text(text)
    assert main(["upload", str(file)]) == 2
    assert "is no file of kdb measure --offline, or not all of it" in capsys.readouterr().err
    file.write_text('{"kdb_offline": 2}')
    assert main(["upload", str(file)]) == 2
    assert "was written by a newer kdb" in capsys.readouterr().err


def test_a_workload_that_only_a_server_knows_is_not_measured_without_one(capsys, tmp_path):
    places = ["--place=a=/tmp", f"--place=b={tmp_path}", f"--offline={tmp_path / 'x'}"]
    assert main(["measure", "chess", "--laboratory=ours", "--yes", *places]) == 2
    assert "without a server it measures fileserver, varmail" in capsys.readouterr().err


@pytest.mark.parametrize(("waits", "said"), [(True, "disturbed"), (False, "value")])
def test_what_the_host_takes_away_disturbs_a_run_unless_it_is_measured_despite_load(tmp_path, monkeypatch, waits, said):
    clock = iter([{"all": 0, "steal": 0}, {"all": 100, "steal": 14}])
    monkeypatch.setattr(measure, "_busy", lambda seconds: 0.0)
    monkeypatch.setattr(measure, "_cpu", lambda: next(clock))
    monkeypatch.setattr(measure, "make_load", lambda *_: (900.0, "", ""))
    with Guardian() as guardian:
        report = measure._one_run(Place("a", str(tmp_path)), load_of("varmail", 4), "fio", guardian, waits=waits)
    assert list(report) == [said]
