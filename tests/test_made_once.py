"""A file that takes long to make is made once, whoever asks and however often it had failed."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests import made_once


def test_of_many_who_ask_at_once_one_makes_it(tmp_path):
    start, makers = threading.Barrier(4), []

    def make(folder):
        makers.append(folder)
        (folder / "a").write_text("made")

    def ask(_):
        start.wait()
        return (made_once.made_once(tmp_path, "thing", "1", make) / "a").read_text()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ask, range(4))) == ["made"] * 4
    assert len(makers) == 1


def test_what_a_failure_left_is_made_anew(tmp_path):
    def fail(folder):
        (folder / "half").touch()
        raise InterruptedError

    with pytest.raises(InterruptedError):
        made_once.made_once(tmp_path, "thing", "1", fail)
    made = made_once.made_once(tmp_path, "thing", "1", lambda folder: (folder / "whole").touch())
    assert [path.name for path in made.iterdir()] == ["whole"]


def test_another_recipe_takes_the_place_of_the_last(tmp_path):
    first, other, second = (
        made_once.made_once(tmp_path, name, recipe, lambda folder: None)
        for name, recipe in (("thing", "1"), ("another", "1"), ("thing", "2"))
    )
    assert (first.exists(), other.exists(), second.exists()) == (False, True, True)


def test_a_digest_changes_with_the_bytes_and_the_names_of_its_files(tmp_path, monkeypatch):
    monkeypatch.setattr(made_once, "ROOT", tmp_path)
    digests = set()
    for name, text in (("a.py", "1"), ("a.py", "2"), ("b.py", ""), ("c.txt", "")):
        (tmp_path / name).write_text(text)
        digests.add(made_once.digest("*.py"))
    assert len(digests) == 3  # the last is no file of the recipe
