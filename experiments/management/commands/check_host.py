"""manage.py check_host: find out what a registered host is and has."""

import json
from argparse import ArgumentParser
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError

from experiments.campaigns import hosts
from experiments.campaigns.troubleshooting import with_diagnosis
from experiments.laboratory.transport.recording import recorded
from experiments.models import Host


class Command(BaseCommand):
    help = "Check a registered host from this machine and print what was found, as JSON."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug")
        parser.add_argument("--limits", action="store_true", help="Measure the disks, too: 20 s a pool.")

        parser.add_argument(
            "--record",
            type=Path,
            metavar="FILE",
            help="Write every command and answer of this process to a new file, without addresses and secrets.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        host = Host.objects.filter(slug=options["slug"]).first()
        if host is None:
            raise CommandError(f"There is no host {options['slug']!r}.")
        if options["record"] and options["record"].exists():
            raise CommandError(f"{options['record']} is there already.")
        try:
            hosts.request_check(host, with_limits=options["limits"])
        except hosts.HostError as error:
            raise CommandError(str(error)) from error
        with recorded(options["record"]) if options["record"] else nullcontext():
            why = hosts.wait_for_job(host)
        if why:
            raise CommandError(with_diagnosis(why, host))
        self.stdout.write(json.dumps(host.facts, indent=1))
