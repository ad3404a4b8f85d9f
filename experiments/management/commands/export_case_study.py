"""Write a case study to a bundle."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError

from experiments.case_studies import bundles
from experiments.models import CaseStudy
from kdb.operations.atomic_files import atomic_file


class Command(BaseCommand):
    help = "Write a case study, published or not, as a bundle: a ZIP with everything known of it and its raw files."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug")
        parser.add_argument("file", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        case_study = CaseStudy.objects.filter(slug=options["slug"]).first()
        if case_study is None:
            raise CommandError(f"There is no case study {options['slug']!r}.")
        try:
            with atomic_file(options["file"]) as file:
                bundles.export(case_study, file)
        except OSError as error:
            raise CommandError(f"{options['file']}: {error.strerror}") from error
        self.stdout.write(f"{options['file']}: {options['file'].stat().st_size:,} bytes")
