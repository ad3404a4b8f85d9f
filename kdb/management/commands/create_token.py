"""Make an API token for a user and print its key once."""

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management import BaseCommand, CommandError
from django.db import IntegrityError, transaction
from django.utils.timezone import now

from kdb.accounts import tokens
from kdb.models import ApiToken


class Command(BaseCommand):
    help = "Make an API token in a user's name and print its key, which is kept nowhere."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="Where it is used.")
        parser.add_argument("--user", required=True)
        parser.add_argument("--scope", action="append", choices=list(ApiToken.Scope.values), required=True)
        parser.add_argument("--days", type=int, choices=(30, 365), help="Left out: it is valid until it is revoked.")
        parser.add_argument("--laboratory", default="", help="Which one --scope measure opens: its short name.")

    def handle(self, *args: Any, **options: Any) -> None:
        user = get_user_model().objects.filter(username=options["user"], is_active=True).first()
        if user is None:
            raise CommandError(f"There is no user {options['user']!r}.")
        expires_at = now() + timedelta(days=options["days"]) if options["days"] else None
        try:
            with transaction.atomic():
                _, key = tokens.make(
                    user, options["name"], options["scope"], laboratory=options["laboratory"], expires_at=expires_at
                )
        except ValueError as error:
            raise CommandError(str(error)) from error
        except IntegrityError as error:
            raise CommandError(f"{user} has a token {options['name']!r} already; revoke it first.") from error
        self.stdout.write(key)
