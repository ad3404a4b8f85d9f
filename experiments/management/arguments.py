"""Options that several commands share, and look-ups of the rows that arguments name."""

from argparse import ArgumentParser
from functools import partial
from pathlib import Path

from django.contrib.auth.models import User
from django.core.management import CommandError

from experiments.campaigns import hosts
from experiments.campaigns.troubleshooting import with_diagnosis
from experiments.models import Host
from experiments.records.files import raw_files


def add_authorized_key(parser: ArgumentParser) -> None:
    """Add the option for the public keys that may log in to a guest image; guest_image.public_keys reads it."""
    parser.add_argument(
        "--authorized-key",
        type=Path,
        action="append",
        required=True,
        metavar="FILE",
        help="Public key of the worker that will log in; may be given several times.",
    )


def find_host(slug: str) -> Host:
    """Return the registered host. Raises CommandError."""
    host = Host.objects.filter(slug=slug).first()
    if host is None:
        known = ", ".join(Host.objects.values_list("slug", flat=True)) or "none"
        raise CommandError(f"There is no host {slug!r}; there are {known}.")
    return host


def find_user(name: str | None) -> User | None:
    """Return the active account of this name, None without a name. Raises CommandError."""
    user = User.objects.filter(username=name, is_active=True).first() if name is not None else None
    if user is None and name is not None:
        raise CommandError(f"There is no user {name!r}.")
    return user


def take_file(path: Path, name: str = "") -> raw_files.Upload:
    """Return a file of this machine as an upload. name : as it is to be called. Raises CommandError."""
    try:
        with path.open("rb") as file:
            return raw_files.take(name or path.name, iter(partial(file.read, raw_files.CHUNK_BYTES), b""))
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}") from error


def finish_host_job(host: Host) -> None:
    """Run the host's job here, or wait for the worker that has it. Raises CommandError."""
    if why := hosts.wait_for_job(host):
        raise CommandError(with_diagnosis(why, host))
