"""Watch the disks of a host's virtual machines here, in the foreground."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.core.management.base import CommandParser as ArgumentParser

from experiments.fleet import selectors, watching
from experiments.management import arguments
from experiments.models import ObservedMachine


class Command(BaseCommand):
    help = "Watch what the disks of a host's virtual machines do, for a minute, and print the sums."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("host", help="its short name")
        parser.add_argument("--seconds", type=int, default=60, help="for how long (%(default)s)")

    def handle(self, *args: Any, **options: Any) -> None:
        host = arguments.find_host(options["host"])
        if options["seconds"] < 1:
            raise CommandError(f"--seconds {options['seconds']}: at least 1.")
        if not watching.watch_for(host, options["seconds"]):
            host.refresh_from_db()
            raise CommandError(host.observation_error)
        for row in selectors.machine_rows(ObservedMachine.objects.filter(host=host)):
            self.stdout.write(
                f"{row.machine.name}: {row.pool or 'no pool'}, {row.machine.guest_fs or 'file system not known'}, "
                f"{row.load_words}"
            )
