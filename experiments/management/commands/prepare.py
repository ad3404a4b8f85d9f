"""manage.py prepare: everything between an empty place and processes that may start."""

from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, call_command

from experiments.models import CaseStudy
from kdb.operating import metrics


class Command(BaseCommand):
    help = "Migrate the database, load the published evidence when there is none, collect static files if needed."

    def handle(self, *args: Any, **options: Any) -> None:
        metrics.forget_earlier()
        call_command("migrate", interactive=False, verbosity=0)
        if not CaseStudy.objects.exists():
            self.stdout.write("Loading the published evidence.")
            call_command("load_evidence", stdout=self.stdout)
        if not getattr(settings, "WHITENOISE_USE_FINDERS", False):
            call_command("collectstatic", interactive=False, verbosity=0)
