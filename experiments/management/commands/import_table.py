"""Make drafts from published tables and the files of their conditions."""

from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management import BaseCommand, CommandError
from django.db.models import Count

from experiments import permissions
from experiments.case_studies import reviews
from experiments.case_studies.lifecycle import CaseStudyError
from experiments.imports import words
from experiments.imports.tables import drafting
from experiments.imports.tables.conditions import ConditionsError, read_conditions
from experiments.imports.tables.parsing import Refused, read_tables, table_of_csv
from experiments.management import arguments
from experiments.models import CaseStudy, Measurement
from experiments.readers.base import text_of

TABLE, CONDITIONS = "table.*", "conditions.toml"


class Command(BaseCommand):
    help = (
        "Make a draft case study of each published table and the conditions said beside it (docs/imports.md). "
        "A table that is wrong is told line by line and stops no other; then the exit code is 1. Given again after a "
        "correction, a table replaces the draft that it became, unless that was changed by hand."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "paths",
            nargs="+",
            metavar="FILE.csv CONDITIONS.toml",
            type=Path,
            help=f"Pairs of files, or a folder with {TABLE} and {CONDITIONS}, or a folder of such folders.",
        )
        parser.add_argument("--user", help="In whose name; without it, the server's own.")
        step = parser.add_mutually_exclusive_group()
        step.add_argument("--submit", action="store_true", help="Ask for review of each draft.")
        step.add_argument("--publish", action="store_true", help="Publish each draft, as a revision of its own.")

    def handle(self, *args: Any, paths: list[Path], **options: Any) -> None:
        user = arguments.find_user(options["user"])
        if not permissions.may_create(user):
            raise CommandError(f"{user} may not create case studies.")
        refused = 0
        for table, conditions in _pairs(paths):
            try:
                draft, has_replaced = self._make_draft(table, conditions, user)
                state = self._advance(draft, user, is_submitted=options["submit"], is_published=options["publish"])
            except (
                ConditionsError,
                Refused,
                OSError,
                UnicodeDecodeError,
                drafting.TableRefused,
                CaseStudyError,
            ) as error:
                refused += 1
                for line in _fault_lines(error, table, conditions):
                    self.stderr.write(line)
                continue
            again = ", in place of the earlier draft" if has_replaced else ""
            self.stdout.write(f"{table}: {state} {draft.slug}{again}")
            for line in _summary_lines(draft):
                self.stdout.write(f"  {line}")
        if refused:
            raise CommandError(f"{refused} of {len(list(_pairs(paths)))} tables were not taken in.")

    def _make_draft(self, table: Path, conditions: Path, user: User | None) -> tuple[CaseStudy, bool]:
        """Return the draft, and whether it replaced one that this command made before."""
        stated_conditions = read_conditions(conditions.read_text(encoding="utf-8-sig"))
        content = table.read_bytes()
        as_csv = table_of_csv(text_of(content)) if table.suffix == ".csv" else None
        tables = [as_csv] if as_csv else read_tables(content)
        if len(tables) != 1:
            raise Refused(f"found {len(tables)} tables, allowed is one: put each into a file of its own")
        draft, has_replaced = drafting.replace_draft(table.name, content, tables[0], stated_conditions, user=user)
        for left_out in drafting.read_table(tables[0], stated_conditions).left_out:
            self.stdout.write(f"{table}, line {left_out.line}: left out, {left_out.reason}")
        return draft, has_replaced

    def _advance(self, draft: CaseStudy, user: User | None, *, is_submitted: bool, is_published: bool) -> str:
        """Submit or publish the draft as asked; return its state in words. Raises CaseStudyError; the draft stays."""
        if not (is_submitted or is_published):
            return "draft"
        reviews.submit(draft, user=user)
        if not is_published:
            return "submitted"
        draft.refresh_from_db()
        if not permissions.may_publish(user, draft):
            raise CaseStudyError(
                f"{draft.slug} was submitted; {user} had part in it, or is no reviewer: another one must publish it"
            )
        revision = reviews.publish(draft, seen=None, reason=f"{draft.title}, a published table.", user=user)
        return f"published as revision {revision.number}"


def _pairs(paths: list[Path]) -> Iterator[tuple[Path, Path]]:
    """Yield each table with its conditions. Raises CommandError where one stands alone."""
    table: Path | None = None  # whose conditions are the next path
    for path in paths:
        if table is not None:
            yield table, path
            table = None
        elif path.is_dir():
            conditions_files = sorted(path.glob(CONDITIONS)) or sorted(path.glob(f"*/{CONDITIONS}"))
            if not conditions_files:
                raise CommandError(f"{path}: found no {CONDITIONS}, allowed is one, or folders with one each.")
            for conditions in conditions_files:
                tables = sorted(conditions.parent.glob(TABLE))
                if len(tables) != 1:
                    raise CommandError(f"{conditions.parent}: found {len(tables)} files {TABLE}, allowed is one.")
                yield tables[0], conditions
        else:
            table = path
    if table is not None:
        raise CommandError(f"{table}: found no conditions behind it, allowed are pairs of files, or folders.")


def _summary_lines(draft: CaseStudy) -> Iterator[str]:
    """Yield the report of the draft's import, and the number of measurements of each workload."""
    yield from words.report_lines(draft.imports.latest("pk"))
    rows = Measurement.objects.filter(configuration__case_study=draft).values_list("variant__workload__name")
    yield ", ".join(f"{name} {count}" for name, count in rows.annotate(count=Count("pk")).order_by("-count"))


def _fault_lines(error: Exception, table: Path, conditions: Path) -> list[str]:
    if isinstance(error, drafting.TableRefused):
        return [f"{table}, {fault}" for fault in error.faults]
    return [f"{conditions if isinstance(error, ConditionsError) else table}: {error}"]
