"""Nothing that KDB keeps is a pickle: whoever can write where data lies must not have his code run by the server."""

import ast
import os
import pickle
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.cache.backends.filebased import FileBasedCache
from django.utils.module_loading import import_string

from kdb.celery import app
from kdb.database.files_of_bytes import BytesInFiles
from kdb.jobs.beat import Scheduler
from kdb.settings import base

ROOT = Path(__file__).resolve().parent.parent
PICKLING = {"pickle", "shelve", "marshal", "joblib", "dill", "cloudpickle"}


class Command:
    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.target),)


@pytest.mark.parametrize("package", ["kdb", "experiments", "modelling"])
def test_no_module_pickles(package):
    for path in (ROOT / package).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            modules = {alias.name.split(".")[0] for alias in node.names} if isinstance(node, ast.Import) else set()
            if isinstance(node, ast.ImportFrom):
                modules = {(node.module or "").split(".")[0]}
            assert not modules & PICKLING, path
            assert not (
                isinstance(node, ast.keyword) and node.arg == "allow_pickle" and ast.unparse(node.value) != "False"
            )


def test_what_keeps_something_in_files_keeps_no_pickles():
    in_files = [import_string(cache["BACKEND"]) for cache in base.CACHES.values() if "LOCATION" in cache]
    assert not any(issubclass(kind, FileBasedCache) and not issubclass(kind, BytesInFiles) for kind in in_files)
    assert import_string(settings.CELERY_BEAT_SCHEDULER) is Scheduler
    assert settings.SESSION_SERIALIZER.endswith("JSONSerializer")


def test_a_pickle_that_was_put_among_the_kept_files_is_not_run(tmp_path):
    cache = BytesInFiles(str(tmp_path / "kept"), {})
    cache.set("a", b"bytes")
    assert cache.get("a") == b"bytes"
    (file,) = (tmp_path / "kept").iterdir()
    file.write_bytes(pickle.dumps(Command(tmp_path / "target")) * 2)
    cache.get("a")
    cache.has_key("a")
    assert not (tmp_path / "target").exists()


def test_bytes_are_kept_until_they_expire(tmp_path):
    cache = BytesInFiles(str(tmp_path), {})
    cache.set("a", b"for ever", timeout=None)
    cache.set("b", b"until now", timeout=0)
    assert (cache.get("a"), cache.get("b", "nothing"), cache.get("c")) == (b"for ever", "nothing", None)


def test_beat_leaves_a_sign_of_life_and_no_schedule(tmp_path):
    scheduler = Scheduler(app=app, schedule_filename=str(tmp_path / "beat-schedule"), lazy=True)
    scheduler.setup_schedule()
    assert scheduler.schedule["tick"].task == "experiments.tick"
    scheduler.sync()
    assert [path.name for path in tmp_path.iterdir()] == ["beat-schedule"]
    assert (tmp_path / "beat-schedule").read_bytes() == b""
