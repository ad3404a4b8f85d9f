"""manage.py health web|worker|laboratory|beat: a container's health check."""

from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from kdb import health
from kdb.env import integer

CHECKS = {
    "web": lambda: health.answers(integer("PORT", 8000, lowest=1, highest=65535), timeout=3),
    "worker": lambda: health.worker_is_alive(within_seconds=60),
    "laboratory": health.laboratory_is_alive,
    "beat": lambda: health.beat_is_alive(within_seconds=60),
}


class Command(BaseCommand):
    help = "Whether the process of this name lives on this machine; the exit status tells."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("process", choices=CHECKS)

    def handle(self, *args: Any, process: str, **options: Any) -> None:
        if not CHECKS[process]():
            raise CommandError(f"no sign of life of the {process}")
        self.stdout.write("ok")
