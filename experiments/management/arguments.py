"""Arguments that several commands take."""

from argparse import ArgumentParser
from pathlib import Path


def add_authorized_key(parser: ArgumentParser) -> None:
    """Add the option for the keys that a guest image lets in; guest_image.public_keys reads them."""
    parser.add_argument(
        "--authorized-key",
        type=Path,
        action="append",
        required=True,
        metavar="FILE",
        help="Public key of the worker that will log in; may be given several times.",
    )
