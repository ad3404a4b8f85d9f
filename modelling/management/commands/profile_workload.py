"""manage.py profile_workload: print the profiles of Filebench personalities as JSON lines."""

import json
from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from modelling.workloads import profiles, wml


class Command(BaseCommand):
    help = (
        "Read Filebench personalities (WML) and print one JSON line a file: its access "
        "profile, or line, column and reason where it is not understood. A file that cannot be opened has a "
        "reason and no line. Nothing in a file is executed. A refusal is an answer: the exit status is 0."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("files", nargs="+", metavar="FILE.f", help="Personalities.")

    def handle(self, *args: Any, files: list[str], **options: Any) -> None:
        for name in files:
            self.stdout.write(json.dumps({"file": name, **_answer(Path(name))}, allow_nan=False))


def _answer(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            content = file.read(4 * wml.LONGEST_TEXT + 1)  # a character has at most four bytes
        profile = profiles.profile(wml.parse(content.decode("utf-8", errors="replace")))
    except OSError as error:
        return {"ok": False, "line": None, "column": None, "reason": error.strerror or str(error)}
    except wml.WmlError as error:
        return {"ok": False, "line": error.line, "column": error.column, "reason": error.reason}
    return {"ok": True, "profile": asdict(profile)}
