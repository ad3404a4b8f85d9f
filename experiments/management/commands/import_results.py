"""Import result files into a draft."""

import json
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management import BaseCommand, CommandError

from experiments import permissions
from experiments.case_studies import bundles
from experiments.imports import pipeline
from experiments.imports.words import report_lines
from experiments.management import arguments
from experiments.models import CaseStudy, ImportBatch
from experiments.readers.bundle import BundleError
from experiments.records.files import raw_files


class Command(BaseCommand):
    help = (
        "Read result files (or ZIPs of them) into a draft case study: the same pipeline as the pages and the API. "
        "Without --confirm it shows what would come in, and the import waits to be confirmed: here, or on its page. "
        "Where there are errors, nothing is kept."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("files", nargs="+", metavar="FILE", type=Path)
        parser.add_argument("--into", metavar="SLUG", help="The draft; left out, the files are case-study bundles.")
        parser.add_argument(
            "--set",
            action="append",
            default=[],
            metavar="FIELD=TEXT",
            help='What the files do not say, for all of them: "configuration=kvm-xfs-on-ext4", "vm_count=2".',
        )
        parser.add_argument(
            "--name",
            action="append",
            default=[],
            metavar="KIND:NAME=SLUG",
            help='A name in the files and the entry of the catalogue it stands for: "workload:mymail=varmail".',
        )
        parser.add_argument("--confirm", action="store_true", help="File the rows where there is no error.")
        parser.add_argument("--user", help="In whose name; without it, the server's own.")
        parser.add_argument("--json", action="store_true", help="Print the import as the API gives it.")

    def handle(self, *args: Any, **options: Any) -> None:
        user = arguments.find_user(options["user"])
        if not options["into"]:
            self._import_bundles(options["files"], user)
            return
        case_study = CaseStudy.objects.filter(slug=options["into"]).first()
        if case_study is None or not permissions.may_see(user, case_study):
            raise CommandError(f"There is no draft {options['into']!r}.")
        if not permissions.may_edit(user, case_study):
            raise CommandError(f"{options['into']} is not a draft that {options['user'] or 'this command'} may edit.")
        answers = {"context": dict(map(_pair, options["set"])), "names": _names(options["name"])}
        try:
            uploads = [arguments.take_file(path) for path in options["files"]]
            batch, is_new = pipeline.receive(
                case_study,
                uploads,
                user=user,
                door=ImportBatch.Door.COMMAND,
                answers=answers,
                is_confirmed=options["confirm"],
            )
            pipeline.finish(
                batch, tell=lambda job: self.stderr.write(f"{job.get_state_display()}: {job.progress:,} rows")
            )
        except (pipeline.ImportRefused, raw_files.UploadError) as error:
            raise CommandError(str(error)) from error
        self._print(batch, is_new, as_json=options["json"])
        if batch.state == ImportBatch.State.FAULTY:
            if is_new:
                pipeline.discard(batch, user=user)
            sys.exit(1)

    def _import_bundles(self, paths: list[Path], user: User | None) -> None:
        if not permissions.may_create(user):
            raise CommandError(f"{user} may not create case studies.")
        for path in paths:
            try:
                data = path.read_bytes()
                draft, is_new = bundles.import_bundle(data, user=user, door=ImportBatch.Door.COMMAND)
            except (BundleError, OSError) as error:
                raise CommandError(f"{path}: {error}") from error
            self.stdout.write(f"{path}: {'draft' if is_new else 'nothing new for'} {draft.slug}")

    def _print(self, batch: ImportBatch, is_new: bool, *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps({"import": batch.pk, "state": batch.state, "is_new": is_new, **batch.report}))
            return
        if not is_new:
            self.stdout.write(f"The same bytes came in with {batch} before.")
        for line in report_lines(batch):
            self.stdout.write(line)


def _pair(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign:
        raise CommandError(f"{text!r}: FIELD=TEXT is expected.")
    return name, value


def _names(texts: list[str]) -> dict[str, dict[str, str]]:
    names: dict[str, dict[str, str]] = {}
    for text in texts:
        kind, colon, rest = text.partition(":")
        name, sign, slug = rest.rpartition("=")
        if not colon or not sign:
            raise CommandError(f"{text!r}: KIND:NAME=SLUG is expected.")
        names.setdefault(kind, {})[name] = slug
    return names
