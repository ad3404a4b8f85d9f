"""manage.py check_sources: look again at the addresses of sources, at once."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from experiments.models import SourceCheck
from experiments.sources import checking


class Command(BaseCommand):
    help = (
        "Look at the addresses of published sources and say which changed or vanished. At most one request a host in "
        "ten seconds; robots.txt is obeyed. What is found opens tasks for reviewers and changes no evidence."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "publications", nargs="*", metavar="SLUG", help="Only these; else all that have an address."
        )

    def handle(self, *args: Any, publications: list[str], verbosity: int, **options: Any) -> None:
        chosen = checking.every()
        if publications:
            chosen = chosen.filter(slug__in=publications)
            if missing := set(publications) - set(chosen.values_list("slug", flat=True)):
                raise CommandError(f"no published source with an address: {', '.join(sorted(missing))}")
        checks = checking.check(chosen, lambda done, total: None)
        if verbosity:
            for check in checks:
                if check.outcome != SourceCheck.Outcome.SAME:
                    self.stdout.write(f"{check.publication.slug}: {check.get_outcome_display()}. {check.detail}")
            self.stdout.write(f"looked at {len(checks)} sources")
