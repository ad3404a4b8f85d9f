"""Build Filebench, which no distribution ships, from the source of a release."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from experiments.laboratory.images import debian, filebench_build


class Command(BaseCommand):
    help = (
        "Build a release of Filebench, unmodified, from its source that you bring, in a Debian made for it, and try "
        "it. Needs root and mmdebstrap, and takes about two minutes. The folder then goes to hosts with "
        "install_filebench and into guest images with build_guest_image --filebench."
    )
    requires_system_checks = ()

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        return super().create_parser(prog_name, subcommand, conflict_handler="resolve", **kwargs)  # --version is ours

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--source", type=Path, required=True, help="Folder or tarball of the release.")
        parser.add_argument("--version", choices=filebench_build.RELEASES, default="1.5-alpha3", help="(%(default)s)")
        parser.add_argument("--out", type=Path, required=True, help="Folder to make, or an earlier build.")
        parser.add_argument("--mirror", default=debian.MIRROR, help="Debian mirror (%(default)s).")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            manifest = filebench_build.build(
                options["source"].resolve(),
                options["version"],
                options["out"].resolve(),
                mirror=options["mirror"],
                tell=self.stdout.write,
            )
        except (debian.BuildError, OSError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(
            f"{options['out']}: Filebench {manifest['filebench']}, {manifest['compiler']}, runs with glibc "
            f"{manifest['least_glibc']} and newer"
        )
