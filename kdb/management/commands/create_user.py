"""Make an account with a role. The password is never an argument, as these are visible to other processes."""

import getpass
import sys
from argparse import ArgumentParser
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management import BaseCommand, CommandError
from django.db import transaction

from kdb.accounts.roles import ROLES


class Command(BaseCommand):
    help = "Make an account. The password is asked for, or read from standard input with --password-stdin."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--role", required=True, action="append", choices=list(ROLES))
        parser.add_argument("--email", default="", help="For a password reset.")
        parser.add_argument("--password-stdin", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        users = get_user_model()
        if users.objects.filter(username=options["name"]).exists():
            raise CommandError(f"There is a user {options['name']} already.")
        password = sys.stdin.readline().rstrip("\n") if options["password_stdin"] else self._ask()
        user = users(username=options["name"], email=options["email"], is_staff="administrators" in options["role"])
        try:
            user.full_clean(exclude=["password"])
            validate_password(password, user)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        user.set_password(password)
        with transaction.atomic():
            user.save()
            user.groups.set(Group.objects.filter(name__in=options["role"]))
        self.stdout.write(f"{user} may sign in, as one of the {' and '.join(options['role'])}.")

    def _ask(self) -> str:
        try:
            password = getpass.getpass("Password: ")
            if password != getpass.getpass("Once more: "):
                raise CommandError("The two are not the same.")
        except EOFError:
            raise CommandError("Nobody is there to be asked for a password: use --password-stdin.") from None
        return password
