"""Run a worker without Redis."""

from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError, CommandParser

from kdb.jobs.worker import Worker


class Command(BaseCommand):
    help = "Do the jobs of the database until told to stop, where REDIS_URL is not set. script/server runs it."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--queue", action="append", help="Only this one, such as lab-NAME; may be repeated.")

    def handle(self, *args: Any, queue: list[str] | None, **options: Any) -> None:
        if settings.REDIS_URL:
            raise CommandError("REDIS_URL is set, so workers are woken by it: run `celery --app kdb worker`.")
        Worker(queue or ()).run()
