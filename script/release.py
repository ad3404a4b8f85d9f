"""Makes a release: a commit with the version, the dated changelog and the release's database, and an annotated tag.

Called by script/release, from the root of the checkout. Without --make nothing is changed.

The database (tests/data/release.sqlite3.gz) is filled with the published papers and a case study of its own by the code
that is released, and answers some questions; its table handed_out has what the permanent addresses gave that are kept.
tests/kdb/operations/test_upgrades.py upgrades it with all code that comes after. --database-only writes the same of a
state between two releases.
"""

import argparse
import gzip
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

CHANGELOG = Path("CHANGELOG.md")
UNRELEASED = re.compile(r"^## (\[Unreleased\]|\[[^]]+\] - Unreleased)$", re.MULTILINE)
VERSIONS = {  # the place of the version, the project that is released with it, and who names it
    Path("kdb/__init__.py"): re.compile(r'^__version__ = "(.*)"$', re.MULTILINE),
    Path("script/client/pyproject.toml"): re.compile(r'^version = "(.*)"$', re.MULTILINE),
    Path("Dockerfile"): re.compile(r"^ARG VERSION=(.*)$", re.MULTILINE),
    Path("docker-compose.yml"): re.compile(r"^  image: kdb:(.*)$", re.MULTILINE),
    Path("docs/runner.md"): re.compile(r"git checkout v(\S+)"),
    Path("kdb/api/examples.json"): re.compile(r'^ *"version": "(\d+\.\d+\.\d+)",$', re.MULTILINE),
}
DATABASE = Path("tests/data/release.sqlite3.gz")

FILL = """
from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import connection
from django.test import Client
from experiments.case_studies import lifecycle
from modelling.answer_store.subscriptions import followers
from modelling.answer_store import snapshots
from modelling.evidence.question import Question
from tests import factories

def ask(address, **query):
    response = client.get(address, query)
    assert response.status_code == 200, (address, query, response.status_code)
    return response

def ask_all():
    for axis in ask("/api/v1/rankings/").json()["axes"]:
        for workload in ("varmail", "fileserver"):
            address = f"/api/v1/rankings/{axis['axis']}/?workload={workload}"
            handed_out(ask(address).json()["permanent"])
    ask("/feed/", axis="fs-pair", workload="varmail")

def handed_out(permanent):
    answer = ask(permanent)
    if answer.json()["pinned"]:
        with connection.cursor() as cursor:
            cursor.execute("INSERT OR REPLACE INTO handed_out VALUES (%s, %s)", [permanent, answer.content.decode()])

settings.KDB_CPU_SECONDS_A_REQUEST = settings.KDB_CPU_SECONDS_A_MINUTE = 0  # nothing is left to a worker, however slow
client = Client(SERVER_NAME="localhost")
call_command("migrate", verbosity=0)
with connection.cursor() as cursor:
    cursor.execute("CREATE TABLE handed_out (address text PRIMARY KEY, body text)")
call_command("load_evidence", papers=True, verbosity=0)
ask_all()
followers.follow(get_user_model().objects.create_user("reader"), Question("fs-pair", "varmail"))
study = factories.make_case_study("ours")
for pair, value in (("ext4-on-ext4", 100.0), ("xfs-on-ext4", 320.0), ("btrfs-on-xfs", 20.0)):
    guest, host = pair.split("-on-")
    factories.make_measurement(value, case_study=study, guest_fs=guest, host_fs=host)
lifecycle.publish([study], reason="measured here")
snapshots.answer_waiting_questions(lambda done, total: None)
followers.tell_followers(lambda done, total: None)
ask_all()
"""


class CannotReleaseError(Exception):
    """The text says why."""


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True).stdout.strip()


def numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def check(version: str) -> None:
    """Raise CannotReleaseError where this cannot be released as `version`."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise CannotReleaseError(f"{version!r} is no version; write it as 1.2.3.")
    if git("status", "--porcelain"):
        raise CannotReleaseError("there are changes that are not committed.")
    released = [tag[1:] for tag in git("tag", "--list", "v*").split() if re.fullmatch(r"v\d+\.\d+\.\d+", tag)]
    newest = max(released, key=numbers, default="")
    if newest and numbers(version) <= numbers(newest):
        raise CannotReleaseError(f"{newest} has been released; {version} is not after it.")
    if not re.search(r"^- ", unreleased(CHANGELOG.read_text()), re.MULTILINE):
        raise CannotReleaseError("the changelog says nothing of what is new.")


def unreleased(changelog: str) -> str:
    """Return the changelog's section of changes not released yet."""
    if not (head := UNRELEASED.search(changelog)):
        raise CannotReleaseError("the changelog has no section of what is not released.")
    return re.split(r"^## ", changelog[head.end() :], maxsplit=1, flags=re.MULTILINE)[0].strip()


def write_database(target: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        places = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "REDIS_URL")}
        places |= {"DATA_DIR": folder, "DJANGO_SETTINGS_MODULE": "kdb.settings.local"}
        subprocess.run([sys.executable, "manage.py", "shell", "--no-imports", "-c", FILL], env=places, check=True)
        whole = Path(folder) / "whole.sqlite3"  # what is in the WAL, too
        with (
            closing(sqlite3.connect(Path(folder) / "kdb.sqlite3")) as database,
            closing(sqlite3.connect(whole)) as copy,
        ):
            database.backup(copy)
        target.write_bytes(gzip.compress(whole.read_bytes(), mtime=0))


def main() -> int:
    parser = argparse.ArgumentParser(prog="script/release", description=__doc__.split("\n\n")[0])
    parser.add_argument("version")
    parser.add_argument("--make", action="store_true", help="do it; without, only say what would be done")
    parser.add_argument("--without-ci", action="store_true", help="do not run .ci/run, which has passed on this commit")
    parser.add_argument("--database-only", type=Path, metavar="FILE", help=f"only write what {DATABASE} is to FILE")
    options = parser.parse_args()
    if options.database_only:
        write_database(options.database_only)
        return 0
    try:
        check(options.version)
    except CannotReleaseError as error:
        sys.exit(f"No release: {error}")
    tag, today = f"v{options.version}", datetime.now(UTC).date().isoformat()
    changelog = CHANGELOG.read_text()
    notes = unreleased(changelog)
    if not options.make:
        print(f"Would {'not ' if options.without_ci else ''}run .ci/run, write {DATABASE},")
        print(f"set the version in {', '.join(map(str, VERSIONS))}, commit and tag {tag} with:\n\n{notes}")
        return 0
    if not options.without_ci and subprocess.run(["bash", ".ci/run"]).returncode:
        sys.exit("No release: .ci/run fails.")
    for path, pattern in VERSIONS.items():
        old = path.read_text()
        match = pattern.search(old)
        path.write_text(old[: match.start(1)] + options.version + old[match.end(1) :])
    CHANGELOG.write_text(UNRELEASED.sub(f"## [Unreleased]\n\n## [{options.version}] - {today}", changelog, count=1))
    write_database(DATABASE)
    git("add", "--", str(CHANGELOG), str(DATABASE), *map(str, VERSIONS))
    git("commit", "--quiet", "--message", f"release: {options.version}.")
    git("tag", "--annotate", "--cleanup=verbatim", tag, "--message", f"KDB {options.version}\n\n{notes}")
    print(f"{tag} is made; git push --follow-tags publishes it.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
