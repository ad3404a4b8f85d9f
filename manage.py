#!/usr/bin/env python
"""Django's command line for KDB."""

import os
import sys

OURS = ("kdb", "experiments", "modelling", "tests")
HINT = "remove .venv and run script/server, which makes it anew, or pip install -r requirements.txt."


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kdb.settings.local")
    try:
        from django.core.exceptions import ImproperlyConfigured
        from django.core.management import execute_from_command_line
    except ModuleNotFoundError as error:
        sys.exit(f"The Python module {error.name} is missing: {HINT}")
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(f"KDB is not configured: {error}")
    except ModuleNotFoundError as error:
        if error.name and error.name.partition(".")[0] in OURS:
            raise
        sys.exit(f"The Python module {error.name} is missing: {HINT}")
    except Exception as error:
        from kdb.operations.failures import Failure, failure_behind, free_bytes, is_without_tables

        if "--traceback" in sys.argv:
            raise
        if is_without_tables(error):
            sys.exit(f"There is no knowledge base here ({error}). {_where()}")
        if failure_behind(error) is not Failure.DISK_FULL:
            raise
        free = ", ".join(f"{size // 1024:,} KiB for {place}" for place, size in free_bytes().items())
        sys.exit(f"A disk is full, so nothing was stored ({error}). Free: {free}.")
    except KeyboardInterrupt:
        sys.exit(130)


def _where() -> str:
    from django.conf import settings

    return (
        f"DATA_DIR is {settings.DATA_DIR}: set DATA_DIR and DATABASE_URL as for your server, whose first start makes "
        "what is missing."
    )


if __name__ == "__main__":
    main()
