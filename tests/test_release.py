"""script/release, in a clone of this checkout as it is."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.test_architecture import ROOT

pytestmark = [pytest.mark.server]

CHANGELOG = (
    "# Changelog\n\n## [0.1.0] - Unreleased\n\n### Added\n\n- Everything.\n\n## [0.0.9] - 2026-01-01\n\n- Less.\n"
)


@pytest.fixture
def git(tmp_path) -> Callable[..., str]:
    """Return git of a repository with what is released here."""
    place = tmp_path / "clone"
    ignored = shutil.ignore_patterns(".git", ".venv", "data", "__pycache__", ".*_cache", "node_modules")
    shutil.copytree(ROOT, place, ignore=ignored, symlinks=True)
    (place / "tests" / "data").mkdir()
    (place / "CHANGELOG.md").write_text(CHANGELOG)

    def git(*arguments: str) -> str:
        who = ["-c", "user.name=Tester", "-c", "user.email=tester@example.org"]
        run = subprocess.run(["git", *who, *arguments], cwd=place, check=True, capture_output=True, text=True)
        return run.stdout.strip()

    git("init", "--quiet")
    git("add", "--all")
    git("commit", "--quiet", "--message", "start")
    return git


def release(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "PYTHON": sys.executable, "PYTHONDONTWRITEBYTECODE": "1"}
    environment |= {
        f"GIT_{who}_{what}": f"{what}@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    command = [str(folder / "script" / "release"), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)


def test_what_it_would_do_is_said_and_not_done(git, tmp_path):
    completed = release(tmp_path / "clone", "0.2.0")
    assert completed.returncode == 0, completed.stderr
    assert "Would run .ci/run" in completed.stdout
    assert "- Everything." in completed.stdout
    assert "Less" not in completed.stdout
    assert (git("status", "--porcelain"), git("tag")) == ("", "")


def test_nothing_is_released_from_changes_a_wrong_version_or_without_news(git, tmp_path):
    place = tmp_path / "clone"
    assert "is no version" in release(place, "2", "--make").stderr
    git("tag", "v0.10.0")
    assert "0.10.0 has been released" in release(place, "0.9.0", "--make").stderr
    (place / "README.md").write_text("changed")
    assert "not committed" in release(place, "1.0.0", "--make").stderr
    (place / "CHANGELOG.md").write_text("## [Unreleased]\n\n## [0.1.0] - 2026-01-01\n\n- Something.\n")
    git("commit", "--quiet", "--all", "--message", "released")
    assert "nothing of what is new" in release(place, "1.0.0", "--make").stderr
    assert git("tag") == "v0.10.0"


@pytest.mark.nightly
def test_a_release_is_a_commit_with_its_database_and_an_annotated_tag(git, tmp_path):
    completed = release(tmp_path / "clone", "0.2.0", "--make", "--without-ci")
    assert completed.returncode == 0, completed.stderr
    place, today = tmp_path / "clone", datetime.now(UTC).date().isoformat()
    assert (
        f"# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - {today}\n\n### Added" in (place / "CHANGELOG.md").read_text()
    )
    assert '__version__ = "0.2.0"' in git("show", "v0.2.0:kdb/__init__.py")
    assert 'version = "0.2.0"' in git("show", "v0.2.0:script/client/pyproject.toml")
    assert "git checkout v0.2.0 &&" in git("show", "v0.2.0:docs/runner.md")
    assert "ARG VERSION=0.2.0\n" in git("show", "v0.2.0:Dockerfile")
    assert "  image: kdb:0.2.0\n" in git("show", "v0.2.0:docker-compose.yml")
    assert '"version": "0.2.0",' in git("show", "v0.2.0:kdb/api/examples.json")
    assert git("cat-file", "-t", "v0.2.0") == "tag"
    assert git("tag", "--list", "--format=%(contents)").startswith("KDB 0.2.0\n\n### Added\n\n- Everything.")
    assert (place / "tests/data/release.sqlite3.gz").read_bytes()[:2] == b"\x1f\x8b"
    assert git("status", "--porcelain") == ""


def test_the_client_and_the_image_have_the_version_of_the_server():
    from kdb import __version__

    assert f'\nversion = "{__version__}"\n' in (ROOT / "script" / "client" / "pyproject.toml").read_text()
    assert f"\nARG VERSION={__version__}\n" in (ROOT / "Dockerfile").read_text()
    assert f"\n  image: kdb:{__version__}\n" in (ROOT / "docker-compose.yml").read_text()
