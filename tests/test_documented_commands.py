"""Every command that README and docs name exists, and those that only read work on the database of a new server."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import get_commands

from tests.simulations import __main__ as simulations

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md"), *ROOT.glob("fixtures/*.md")]
READ_ONLY = [
    ("check_answers",),
    ("model_quality", "--markdown"),
    ("profile_workload", "tests/data/wml/database-1.4.f"),
    ("read_results", "tests/data/fio/fio-3.33-plus.json", "--json"),
    ("load_evidence", "--unused"),
    ("export_case_study", "p1", "{out}/p1.zip"),
    ("release_data", "{out}/release.zip"),
    ("load_release", "{out}/release.zip", "--check"),
    ("foretell", "tests/data/contrasts.csv", "--out", "{out}/foretold.csv"),
    ("backup", "{out}/kdb.backup"),
    ("restore", "{out}/kdb.backup", "--check"),
    ("makemigrations", "--check", "--dry-run"),
    ("demo_campaign", "--help"),
    ("help",),
]
SIMULATIONS = [
    ("simulate_placement", "--machines", "20", "--worlds", "1", "--json"),
    ("simulate_placement", "--machines", "20", "--worlds", "1", "--laboratories", "1"),
    ("simulate_coverage", "--replications", "1"),
    ("value_of_runs", "--replications", "2"),
    ("few_runs", "--machines", "1"),
    ("steady_part", "--runs", "2"),
    ("changes_found", "--share", "0.005"),
]
# These change the database or a host, or run until they are stopped; they have tests of their own.
CHANGING = {
    *("import_guidance", "build_filebench", "build_guest_image", "install_filebench"),
    "fit_scales",  # writes the file that rankings read
    *("check_host", "clear_host", "register_host", "run_campaign"),
    *(
        "axes_reset",
        "axes_reset_ip",
        "createsuperuser",
        "create_token",
        "create_user",
        "import_archive",
        "import_results",
        "import_table",
        "migrate",
        "prepare",
        "trust_origin",
        "serve",
        "work",
    ),
}


def documented(program: str = r"manage\.py") -> set[str]:
    return {name for path in DOCUMENTS for name in re.findall(rf"{program} ([a-z][a-z_]+)", path.read_text())}


def test_every_documented_command_exists_and_is_tried():
    named = documented()
    assert named - {*get_commands(), "help"} == set()
    assert named - {command for command, *_ in READ_ONLY} - CHANGING == set()
    assert documented(r"-m tests\.simulations") == {command for command, *_ in SIMULATIONS} == {*simulations.NAMES}


def run_command(data_dir: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "REDIS_URL")}
    environment = {**kept, "DATA_DIR": str(data_dir), "DJANGO_SETTINGS_MODULE": "kdb.settings.local"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=7200, check=False)


@pytest.mark.nightly
@pytest.mark.server
def test_documented_commands_work_on_the_database_of_a_new_server(tmp_path):
    data, out = tmp_path / "data", tmp_path / "out"
    data.mkdir()
    out.mkdir()
    made = run_command(data, "manage.py", "prepare")
    assert made.returncode == 0, made.stderr

    failed = []
    places = {"out": out}
    commands = [("manage.py", *command) for command in READ_ONLY]
    for command in commands + [("-m", "tests.simulations", *command) for command in SIMULATIONS]:
        done = run_command(data, *(argument.format(**places) for argument in command))
        if done.returncode or not done.stdout.strip():
            failed.append((command, done.returncode, done.stderr[-500:]))

    assert failed == []
