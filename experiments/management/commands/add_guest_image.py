"""Make a guest image for campaigns from a disk that an operator brings."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError

from experiments.laboratory.images import brought_image, debian, filebench_tree, guest_image
from experiments.management import arguments


class Command(BaseCommand):
    help = (
        "Make a guest image of a disk image with cloud-init and an SSH server, such as a distribution's cloud image "
        "(qcow2 or raw, starts by BIOS). fio and the programs that make file systems must be in it. Copy the folder "
        "to each host, name it in the host's record, and check the host: that starts a guest and says what is missing."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("disk", type=Path, help="It is copied, and stays as it is.")
        parser.add_argument("folder", type=Path)
        arguments.add_authorized_key(parser)
        parser.add_argument(
            "--filebench",
            type=Path,
            metavar="FOLDER",
            help="Made by build_filebench: guests unpack it when they start. It asks for glibc 2.34.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            keys = guest_image.public_keys(options["authorized_key"])
            about = brought_image.add(
                options["disk"], options["folder"].resolve(), keys, filebench=options["filebench"]
            )
        except (debian.BuildError, filebench_tree.TreeError, OSError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{options['folder']}: {about['disk']} with SHA-256 {about['sha256'][about['disk']]}")
