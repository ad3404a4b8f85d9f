"""Checks of KDB's settings for `manage.py check`, with `--deploy` also those for production only."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register


@register("kdb")
def check_default_spread(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    share = settings.KDB_DEFAULT_COEFFICIENT_OF_VARIATION
    if isinstance(share, float) and 0 < share < 1:
        return []
    return [
        Error(
            f"KDB_DEFAULT_COEFFICIENT_OF_VARIATION is {share!r}.",
            hint="It is a share of the mean: a float between 0 and 1, 0.05 for 5 %.",
            id="kdb.E001",
        )
    ]


@register("kdb")
def check_ticks_and_leases(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    interval = settings.KDB_TICK_SECONDS
    if interval < settings.KDB_JOB_LEASE_SECONDS:
        return []
    return [
        Warning(
            f"A job's lease ({settings.KDB_JOB_LEASE_SECONDS} s) is not longer than a tick ({interval} s).",
            hint="A silent worker's job is then found late; raise JOB_LEASE_SECONDS.",
            id="kdb.W001",
        )
    ]


@register("kdb", deploy=True)
def check_production_database(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    if settings.DATABASES["default"]["ENGINE"] != "django.db.backends.sqlite3":
        return []
    return [
        Warning(
            "SQLite serves one machine, and one writer at a time.",
            hint="Set DATABASE_URL to postgres://USER:PASSWORD@HOST:PORT/NAME.",
            id="kdb.W002",
        )
    ]
