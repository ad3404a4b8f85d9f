"""Record the key that signs the releases of another installation."""

import logging
import re
from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.management import BaseCommand, CommandError

from experiments.models import Origin
from experiments.published_evidence.releases.signing import KEY

logger = logging.getLogger(__name__)


class Command(BaseCommand):
    help = (
        "Take releases of an origin from now on by this key alone: before its first release is loaded, whose key is "
        "kept else, or when its publisher says, not by the release, that the key is another now."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("origin", type=UUID, help="The UUID of the installation.")
        parser.add_argument("key", help="Its public key: 64 hexadecimal digits, as its release_data tells.")

    def handle(self, *args: Any, origin: UUID, key: str, **options: Any) -> None:
        if not re.fullmatch(KEY, key):
            raise CommandError(f"{key!r}: a key has 64 hexadecimal digits, 0 to 9 and a to f.")
        before = Origin.objects.filter(identity=origin).values_list("key", flat=True).first()
        row, _ = Origin.objects.update_or_create(
            identity=origin, defaults={"key": key}, create_defaults={"key": key, "name": str(origin)}
        )
        logger.info("trusted key origin=%s key=%s before=%s", origin, key, before)
        self.stdout.write(f"{row.name}: releases signed with {key} are taken; the key before: {before or 'none'}.")
