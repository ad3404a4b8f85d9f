"""Write the published evidence to one file, to be cited and loaded elsewhere."""

import tempfile
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError

from experiments.published_evidence.releases import ReleaseError, signing, writing


class Command(BaseCommand):
    help = (
        "Write the published evidence as a release: an RO-Crate in a ZIP with tables, schemas, digests, licences and "
        "the record for a DOI. Names of machines, addresses and serial numbers are dropped from its texts; --preview "
        "lists them, and what else would go out, and writes nothing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="The ZIP to write.")
        parser.add_argument("--preview", action="store_true", help="Say what would go out; write nothing.")
        parser.add_argument("--only", nargs="+", default=[], metavar="SLUG", help="These case studies alone.")
        parser.add_argument(
            "--drop", nargs="+", default=[], metavar="WORD", help="Further words that no text may tell."
        )
        parser.add_argument("--with-files", action="store_true", help="Also the raw files, as they came.")
        parser.add_argument("--name", default="", help="Who publishes it: the name of this installation.")
        parser.add_argument("--address", default="", help="Where this installation can be read.")
        parser.add_argument("--creator", nargs="+", default=[], metavar="NAME", help="People who answer for it.")
        parser.add_argument(
            "--licence", default="CC-BY-4.0", help="Of the collection, by its SPDX identifier (default: CC-BY-4.0)."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            chosen = writing.ReleaseOptions(
                name=options["name"],
                address=options["address"],
                licence=options["licence"],
                creators=tuple(options["creator"]),
                only=tuple(options["only"]),
                drop=tuple(options["drop"]),
                with_files=options["with_files"],
            )
            summary = writing.preview(chosen) if options["preview"] else writing.write(options["file"], chosen)
        except ReleaseError as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(
                f"{options['file']}: {error.strerror}. Nothing was written. A release takes its size twice: there "
                f"and in {tempfile.gettempdir()} (TMPDIR)."
            ) from error
        self._print(summary)
        if options["preview"]:
            self.stdout.write("Nothing was written.")
        else:
            self.stdout.write(f"signed with the key {signing.public_key()}")
            self.stdout.write(f"{options['file']}: {summary.size_bytes:,} bytes")

    def _print(self, summary: writing.Summary) -> None:
        self.stdout.write(
            f"Knowledge revision {summary.number}: {len(summary.case_studies):,} case studies, "
            f"{summary.measurements:,} measurements"
        )
        for licence, count in sorted(summary.licences.items()):
            self.stdout.write(f"  licence {licence}: {count} case studies")
        for slug, redacted in summary.redacted.items():
            for text, instead in redacted.items():
                self.stdout.write(f"  dropped in {slug}: {text} is {instead}")
        left_out = summary.files_left_out.total()
        if left_out:
            self.stdout.write(f"  left out: {left_out} raw files (--with-files takes them along, as they came)")
