"""Prepare database, evidence and static files, so that the processes may start."""

from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, call_command
from django.db import connection

from experiments.models import CaseStudy, Claim, Measurement, OrdinalFinding
from experiments.published_evidence import load as evidence
from experiments.published_evidence import signatures
from experiments.published_evidence.corrections import apply_corrections
from experiments.published_evidence.files import EvidenceError
from kdb import __version__
from kdb.operations import metrics
from kdb.signals import database_prepared


class Command(BaseCommand):
    help = (
        "Migrate the database, bring the published evidence that this release has and the database lacks, collect "
        "static files if needed. RELEASE_EVIDENCE=0 leaves a database that has evidence as it is."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        metrics.delete_earlier()
        if not connection.introspection.table_names():
            self.stdout.write("Making the database.")
        call_command("migrate", interactive=False, verbosity=0)
        if not CaseStudy.objects.exists():
            call_command("load_evidence", verbosity=0)
            counts = ", ".join(
                f"{model._default_manager.count()} {model._meta.verbose_name_plural}"
                for model in (CaseStudy, Measurement, OrdinalFinding, Claim)
            )
            self.stdout.write(f"Loaded the published evidence: {counts}.")
        elif settings.KDB_RELEASE_EVIDENCE:
            self._load_new_evidence()
        database_prepared.send_robust(sender=Command)
        if not getattr(settings, "WHITENOISE_USE_FINDERS", False):
            call_command("collectstatic", interactive=False, verbosity=0)

    def _load_new_evidence(self) -> None:
        """Publish the evidence that this release adds. A fault is reported; the processes start all the same."""
        try:
            reason = f"The evidence of KDB {__version__}"
            report = evidence.load_new(evidence.DIRECTORY, settings.KDB_OUTSIDE, reason=reason)
            ended = apply_corrections()
            if settings.KDB_SIGNATURES:
                signatures.load(settings.KDB_SIGNATURES)
        except EvidenceError as error:
            self.stderr.write(f"The evidence of this release was not brought, and nothing was changed: {error}")
            return
        for slug in report.passed_over:
            self.stderr.write(f"Case study {slug} of this release was not brought: a draft has its slug.")
        if report.published:
            self.stdout.write("Bringing the evidence of this release; case studies that are there stay as they are.")
            for line in report.lines():
                self.stdout.write(line)
        for line in ended:
            self.stdout.write(line)
