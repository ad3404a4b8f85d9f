"""manage.py clear_host: take away what runs left on a host and no area there knows any more."""

from argparse import ArgumentParser
from typing import Any

from django.core.management import BaseCommand, CommandError

from experiments.campaigns import cleanup, hosts
from experiments.campaigns.troubleshooting import with_diagnosis
from experiments.models import Host


class Command(BaseCommand):
    help = (
        "Take away what runs left on a host: virtual machines, mounts and loop devices in KDB's folder of its storage "
        "pools, also where that folder was removed. Nothing else is touched."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug")

    def handle(self, *args: Any, **options: Any) -> None:
        host = Host.objects.filter(slug=options["slug"]).first()
        if host is None:
            raise CommandError(f"There is no host {options['slug']!r}.")
        try:
            cleanup.request_cleanup(host)
        except hosts.HostError as error:
            raise CommandError(str(error)) from error
        if why := hosts.wait_for_job(host):
            raise CommandError(with_diagnosis(why, host))
        self.stdout.write(f"Nothing of KDB's is left on {host}.")
