"""Remove from a host what earlier runs left there."""

from argparse import ArgumentParser
from typing import Any

from django.core.management import BaseCommand, CommandError

from experiments.campaigns import cleanup, hosts
from experiments.management import arguments


class Command(BaseCommand):
    help = (
        "Take away what runs left on a host: virtual machines, mounts and loop devices in KDB's folder of its storage "
        "pools, also where that folder was removed. Nothing else is touched."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug")

    def handle(self, *args: Any, **options: Any) -> None:
        host = arguments.find_host(options["slug"])
        try:
            cleanup.request_cleanup(host)
        except hosts.HostError as error:
            raise CommandError(str(error)) from error
        arguments.finish_host_job(host)
        self.stdout.write(f"Nothing of KDB's is left on {host}.")
