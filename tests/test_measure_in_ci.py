"""kdb measure --ci: a night of a series from a machine that nobody sits at, and the jobs that docs/client.md shows."""

import json
import os
import re
import shlex
from pathlib import Path

import pytest
import yaml
from kdb_client import nights
from kdb_client.command import _parser, main

from modelling.models import Sitting
from modelling.own_lab import laboratories
from modelling.own_lab.changes import gather
from tests.factories import make_series_change, make_token, make_user
from tests.test_one_file import FIO

DOCUMENT = Path(__file__).parents[1] / "docs" / "client.md"


@pytest.fixture
def told(tmp_path, monkeypatch):
    """Return the words of a night on two places, where fio says always the same."""
    (tmp_path / "fio").write_text(FIO)
    (tmp_path / "fio").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    for name in ("disk", "other"):
        (tmp_path / name).mkdir()
    places = [f"--place={name}={tmp_path / name}" for name in ("disk", "other")]
    return ["measure", "varmail", "--ci", "--laboratory=ours", "--machine=box", "--despite-load", *places]


@pytest.fixture
def laboratory(transactional_db, live_server, monkeypatch):
    ada = make_user(username="ada")
    monkeypatch.setenv("KDB_URL", live_server.url)
    monkeypatch.setenv("KDB_TOKEN", make_token(ada, ("measure",), laboratory="ours"))
    return laboratories.create_laboratory(ada, "ours", "Our laboratory")


@pytest.mark.server
def test_a_night_is_added_unasked_and_the_last_line_is_json(told, laboratory, tmp_path, capsys):
    assert main(told) == 0
    night = json.loads(capsys.readouterr().out.splitlines()[-1])
    sitting = Sitting.objects.get()
    assert night["sitting"] == sitting.pk
    assert [(row["name"], row["point"]["value"], row["not_known"]) for row in night["series"]] == [
        ("disk", 1000.0, "1 of 17 nights"),
        ("other", 1000.0, "1 of 17 nights"),
    ]
    assert sorted(sitting.runs.values_list("block", "choice")) == [(b, c) for b in (1, 2, 3, 4) for c in (0, 1)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["disk", "fio", "other"]
    assert not [*(tmp_path / "disk").iterdir(), *(tmp_path / "other").iterdir()]


@pytest.mark.server
def test_a_series_that_became_slower_fails_the_job_until_a_member_says_something(told, laboratory, capsys):
    main(told)
    (series, _), _ = gather.series_of(Sitting.objects.get())
    change = make_series_change(laboratory, series=series.key)
    assert main(told) == nights.SLOWER
    assert "slower, since" in capsys.readouterr().out
    change.state = "acknowledged"
    change.save()
    assert main(told) == 0


@pytest.mark.server
def test_a_night_of_which_no_run_counts_is_told_and_ends_with_1(told, laboratory, monkeypatch):
    monkeypatch.setattr("kdb_client.measure._busy", lambda seconds: 9.0)
    told.remove("--despite-load")
    assert main(told) == nights.NOT_MEASURED
    assert set(Sitting.objects.get().runs.values_list("value", flat=True)) == {None}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--most-minutes=3", "--every=night"], "leave out --every, --most-minutes"),
        (["--machine="], "--laboratory NAME --machine NAME"),
        (["--laboratory="], "--laboratory NAME --machine NAME"),
    ],
)
def test_what_makes_no_series_is_refused_before_anything_runs(told, more, said, capsys):
    assert main([*told, *more]) == 2
    assert said in capsys.readouterr().err


def measures(value):
    """Yield the commands that measure in a job, wherever they stand in it."""
    if isinstance(value, str):
        yield from re.findall(r"^python3 kdb.py (measure .*)$", value, re.MULTILINE)
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from measures(inner)


def test_the_jobs_in_the_documentation_are_yaml_whose_options_there_are():
    jobs = [yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)]
    github, gitlab = jobs
    assert github["jobs"]["measure"]["steps"][0]["env"] == {"KDB_TOKEN": "${{ secrets.KDB_TOKEN }}"}
    assert gitlab["disk"]["allow_failure"]["exit_codes"] == [nights.SLOWER]
    for job in jobs:
        (command,) = measures(job)
        options = _parser().parse_args(shlex.split(command))
        nights.check_options(vars(options))
        assert options.ci
