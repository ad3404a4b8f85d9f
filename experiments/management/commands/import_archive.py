"""Import a folder of result files, whose paths say the settings, as its manifest reads them."""

from argparse import ArgumentParser
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management import BaseCommand, CommandError

from experiments import permissions
from experiments.case_studies import lifecycle
from experiments.imports import manifest, pipeline
from experiments.imports.tables import drafting
from experiments.imports.tables.conditions import Conditions, ConditionsError
from experiments.imports.words import report_lines
from experiments.management import arguments
from experiments.models import CaseStudy, ImportBatch
from experiments.records.files import raw_files


class Command(BaseCommand):
    help = (
        "Make a draft of a folder of result files, whose paths say what a manifest reads in them (docs/imports.md). "
        "All files come in, or none. Given again, only files that the draft does not have come in; of a published "
        "case study a later state becomes a draft of its own."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", metavar="FOLDER", type=Path)
        parser.add_argument("manifest", metavar="MANIFEST.toml", type=Path)
        parser.add_argument("--into", metavar="SLUG", help="A draft that is there already.")
        parser.add_argument("--dry-run", action="store_true", help="Show what the paths say, and change nothing.")
        parser.add_argument("--user", help="In whose name; without it, the server's own.")

    def handle(self, *args: Any, folder: Path, **options: Any) -> None:
        user = arguments.find_user(options["user"])
        if not folder.is_dir():
            raise CommandError(f"{folder} is no folder.")
        try:
            text = options["manifest"].read_bytes()
            paths = sorted(path for path in folder.rglob("*") if path.is_file())
            paths = [path for path in paths if not path.samefile(options["manifest"])]
            names = [path.relative_to(folder).as_posix() for path in paths]
            stated = manifest.read_manifest(text.decode("utf-8-sig"))
            explained = manifest.explain(stated, list(map(pipeline.file_name, names)))
        except (OSError, UnicodeDecodeError, ConditionsError) as error:
            raise CommandError(f"{options['manifest']}: {error}") from error
        if options["dry_run"] or explained.unexplained:
            self.stdout.write("\n".join(manifest.lines_of(explained)))
        if explained.unexplained:
            raise CommandError("Nothing was imported: give each file a pattern, or leave it out with a reason.")
        if not options["dry_run"]:
            files = [raw_files.take(manifest.NAME, [text]), *map(arguments.take_file, paths, names)]
            self._import(files, stated, options["into"], user)

    def _import(
        self, files: list[raw_files.Upload], stated: manifest.Manifest, into: str | None, user: User | None
    ) -> None:
        draft, is_new = _draft(stated, into, user)
        try:
            batch, is_new_batch = pipeline.receive(
                draft, files, user=user, door=ImportBatch.Door.COMMAND, is_confirmed=True
            )
            batch = pipeline.finish(
                batch, tell=lambda job: self.stderr.write(f"{job.get_state_display()}: {job.progress:,} files or rows")
            )
        except (pipeline.ImportRefused, raw_files.UploadError) as error:
            if is_new:
                lifecycle.delete_draft(draft, user=user)
            raise CommandError(str(error)) from error
        for line in report_lines(batch):
            self.stdout.write(line)
        if batch.state != ImportBatch.State.FILED:
            if is_new:
                lifecycle.delete_draft(draft, user=user)
            elif is_new_batch:
                pipeline.discard(batch, user=user)
            imports = sorted({file["import"] for file in batch.report["known"]})
            hint = (
                f" Files that came in with import {imports[-1]} keep the settings of its manifest." if imports else ""
            )
            raise CommandError(f"Nothing was imported.{hint}")
        self.stdout.write(f"draft {draft.slug}" if is_new_batch else f"nothing new for {draft.slug}")


def _draft(stated: manifest.Manifest, into: str | None, user: User | None) -> tuple[CaseStudy, bool]:
    """Return the draft that the files go into, and whether it is new. Raises CommandError."""
    slug = into or (stated.study.case_study["slug"] if stated.study else "")
    known = CaseStudy.objects.filter(slug=slug).first()
    if known is not None and permissions.may_edit(user, known):
        return known, False
    if stated.study and not into and known is not None and known.status == CaseStudy.Status.PUBLISHED:
        return _draft(replace(stated, study=_later_state(stated.study, user)), None, user)
    if into or stated.study is None:
        raise CommandError(f"There is no draft {slug or 'here: --into names one, or the manifest has [case_study]'}.")
    if not permissions.may_create(user):
        raise CommandError(f"{user} may not create case studies.")
    try:
        return drafting.make_empty_draft(stated.study, user=user), True
    except drafting.TableRefused as error:
        raise CommandError("\n".join(map(str, error.faults))) from error


def _later_state(study: Conditions, user: User | None) -> Conditions:
    """Return the study for files that came after it was published: under the next free short name, or that of a draft
    that they go into already."""
    slug = study.case_study["slug"]
    rows = {row.slug: row for row in CaseStudy.objects.filter(slug__startswith=f"{slug}-")}
    names = (f"{slug}-{number}" for number in count(2))
    later = next(name for name in names if name not in rows or permissions.may_edit(user, rows[name]))
    note = f"A later state of {slug}: once it is published, {slug} is to be marked as superseded by it."
    return replace(
        study, case_study={**study.case_study, "slug": later, "notes": [*study.case_study.get("notes", []), note]}
    )
