"""Check a registered host and print what was found."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management import BaseCommand, CommandError

from experiments.campaigns import hosts
from experiments.management import arguments


class Command(BaseCommand):
    help = "Check a registered host from this machine and print what was found, as JSON."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug")
        parser.add_argument("--limits", action="store_true", help="Measure the disks, too: 20 s a pool.")

    def handle(self, *args: Any, **options: Any) -> None:
        host = arguments.find_host(options["slug"])
        try:
            hosts.request_check(host, with_limits=options["limits"])
        except hosts.HostError as error:
            raise CommandError(str(error)) from error
        arguments.finish_host_job(host)
        self.stdout.write(json.dumps(host.facts, indent=1))
