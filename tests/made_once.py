"""Files and databases that take long to make: made once and kept in pytest's cache until their recipe changes."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

ROOT = Path(__file__).resolve().parents[1]


def digest(*patterns: str) -> str:
    """Return the digest of the checkout's files that match, with their names, and of this Python."""
    paths = sorted({path for pattern in patterns for path in ROOT.glob(pattern)})
    content = hashlib.sha256(sys.version.encode())
    for path in paths:
        content.update(f"\0{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return content.hexdigest()[:16]


def made_once(cache: Path, name: str, recipe: str, make: Callable[[Path], object]) -> Path:
    """Return a folder that `make` filled, for this digest of its recipe.

    Whoever else asks meanwhile waits; what a maker that failed or was killed left is made anew.
    """
    place = cache / name
    place.mkdir(exist_ok=True)
    kept, unfinished = place / recipe, place / "unfinished"
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            for stale in place.glob("*/"):
                shutil.rmtree(stale)
            unfinished.mkdir()
            make(unfinished)
            unfinished.rename(kept)
    return kept


def made_by(cache: Path, name: str, script: str, *words: str) -> Path:
    """Return the folder that a script of sh makes, once for itself and its words: FOLDER WORD ...

    What it mounts goes with it. Fails with the end of what it said.
    """

    def make(folder: Path) -> None:
        command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "make", str(folder), *words]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert done.returncode == 0, done.stdout[-3000:]

    return made_once(cache, name, hashlib.sha256("\0".join([script, *words]).encode()).hexdigest()[:16], make)


# Databases


def migrations() -> str:
    """Return the digest of what an empty database rests on."""
    return digest("*/migrations/*.py", "*/models.py", "*/models/*.py", "kdb/accounts/roles.py", "requirements.txt")


def migrate(**environment: str) -> None:
    places = {"PATH": os.environ["PATH"], "DJANGO_SETTINGS_MODULE": "kdb.settings.test"} | environment
    subprocess.run([sys.executable, "-m", "django", "migrate", "--verbosity=0"], cwd=ROOT, env=places, check=True)


def migrated_sqlite(cache: Path) -> Path:
    """Return an empty database with all migrations, to copy."""
    return made_once(cache, "sqlite", migrations(), lambda folder: migrate(DATA_DIR=str(folder))) / "kdb.sqlite3"


def migrated_postgresql(url: str) -> str:
    """Return the name of an empty database with all migrations, as a template; it stays on the server of `url`."""
    name = f"test_migrated_{migrations()}"
    with psycopg.connect(url, autocommit=True) as server:
        server.execute("SELECT pg_advisory_lock(hashtext('kdb: test_migrated'))")
        if not server.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone():
            server.execute("DROP DATABASE IF EXISTS test_unfinished")
            server.execute("CREATE DATABASE test_unfinished")
            migrate(DATABASE_URL=urlsplit(url)._replace(path="/test_unfinished").geturl())
            server.execute(f"ALTER DATABASE test_unfinished RENAME TO {name}")
    return name
