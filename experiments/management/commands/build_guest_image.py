"""Build the guest image that campaigns boot their virtual machines from."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError

from experiments.laboratory.images import debian, filebench_tree, guest_image
from experiments.management import arguments


class Command(BaseCommand):
    help = (
        "Build a guest image of Debian packages only: kernel, initrd, a read-only root disk, and image.json. Needs "
        "mmdebstrap and squashfs-tools, no root, and one to two minutes. Copy the folder to each host that makes "
        "virtual machines and name it in the host's record."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path)
        arguments.add_authorized_key(parser)
        parser.add_argument(
            "--filebench",
            type=Path,
            metavar="FOLDER",
            help="Made by build_filebench, or the prefix that Filebench was installed with.",
        )
        parser.add_argument(
            "--kernel",
            default=guest_image.KERNEL,
            metavar="PACKAGE",
            help="%(default)s has no SATA; linux-image-amd64 is larger and has.",
        )
        parser.add_argument(
            "--release", choices=list(debian.SUITES), default=debian.RELEASE, help="Of Debian (%(default)s)."
        )
        parser.add_argument("--mirror", default=debian.MIRROR, help="Debian mirror (%(default)s).")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            keys = guest_image.public_keys(options["authorized_key"])
            about = guest_image.build(
                options["folder"].resolve(),
                keys,
                filebench=options["filebench"],
                kernel=options["kernel"],
                mirror=options["mirror"],
                release=options["release"],
                tell=self.stdout.write,
            )
        except (debian.BuildError, filebench_tree.TreeError, OSError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{options['folder']}: kernel {about['kernel']}, {about['distribution']}")
