"""manage.py profile_workload: one JSON line a file, and a refusal is an answer."""

import json
from io import StringIO
from pathlib import Path

from django.core.management import call_command

DATA = Path(__file__).parents[2] / "data" / "wml"


def answers(*files: Path, **options) -> list[dict]:
    out = StringIO()
    call_command("profile_workload", *map(str, files), stdout=out, **options)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_a_line_has_the_whole_profile():
    (line,) = answers(DATA / "varmail-1.4.f")

    assert line["ok"]
    assert line["profile"]["bytes"] == {
        "random_read": 0.8,
        "sequential_read": 0.0,
        "random_write": 0.2,
        "sequential_write": 0.0,
    }
    assert set(line["profile"]) == {
        *("operations", "bytes", "metadata_share", "flush_share", "sync_share", "concurrency", "files"),
        *("mean_file_bytes", "working_set_bytes", "mean_io_bytes", "directory_width", "requests"),
        *("think_seconds", "notes"),
    }


def test_a_refusal_says_where_and_why(tmp_path):
    broken = tmp_path / "broken.f"
    broken.write_text("set $a=1\n  defin file name=x\n")

    assert answers(broken) == [
        {
            "file": str(broken),
            "ok": False,
            "line": 2,
            "column": 3,
            "reason": "unknown command 'defin'; did you mean 'define'?",
        }
    ]


def test_a_file_that_cannot_be_read_is_refused_and_the_next_is_answered(tmp_path):
    missing, directory, good = answers(tmp_path / "none.f", tmp_path, DATA / "varmail-1.4.f")

    assert (missing["ok"], missing["line"], missing["reason"]) == (False, None, "No such file or directory")
    assert (directory["ok"], directory["column"], directory["reason"]) == (False, None, "Is a directory")
    assert good["ok"]


def test_bytes_that_are_no_text_are_refused(tmp_path):
    binary, comment, huge = tmp_path / "binary.f", tmp_path / "comment.f", tmp_path / "huge.f"
    binary.write_bytes(b"set $a=\xff\x00\x01")
    comment.write_bytes(b"# caf\xe9\n" + (DATA / "varmail-1.4.f").read_bytes())
    huge.write_bytes(b"#" * (5 * 2**20))

    lines = answers(binary, comment, huge)

    assert [line["ok"] for line in lines] == [False, True, False]
    assert "does not have" in lines[0]["reason"]
    assert "longer than" in lines[2]["reason"]
