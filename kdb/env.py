"""Read environment variables. A faulty one raises ImproperlyConfigured with one sentence that has no secret."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import environ
from django.core.exceptions import ImproperlyConfigured
from django.core.management.utils import get_random_secret_key

env = environ.Env()


def text(name: str) -> str:
    """Return a variable as it is, empty where it is not set; `env.str` would replace `$x` by another variable."""
    return os.environ.get(name, "")


def database(default: Path) -> dict[str, Any]:
    """Return the entry of DATABASES for DATABASE_URL; without it, an SQLite file at `default`."""
    url = text("DATABASE_URL")
    if not url:
        return {"ENGINE": "django.db.backends.sqlite3", "NAME": str(default)}
    if url.partition("://")[0] not in ("postgres", "postgresql", "sqlite"):
        raise ImproperlyConfigured("DATABASE_URL must look like postgres://USER:PASSWORD@HOST:PORT/NAME.")
    try:
        urlsplit(url).port  # noqa: B018 - reading it checks it
        config: dict[str, Any] = env.db_url_config(url)
    except ValueError:  # its message would quote the URL, which has a password
        raise ImproperlyConfigured("DATABASE_URL cannot be read; is its port a number?") from None
    if not config["NAME"]:
        raise ImproperlyConfigured("DATABASE_URL names no database after the host.")
    return config


def redis_url() -> str:
    """Return REDIS_URL; empty where workers poll the database instead."""
    url = text("REDIS_URL")
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018
    except ValueError:
        raise ImproperlyConfigured("REDIS_URL cannot be read; is its port a number?") from None
    if url and parts.scheme not in ("redis", "rediss"):
        raise ImproperlyConfigured("REDIS_URL must look like redis://:PASSWORD@HOST:PORT/0.")
    return url


def log_level(default: str) -> str:
    """Return LOG_LEVEL, the lowest level of KDB's own log messages."""
    level = text("LOG_LEVEL") or default
    if level not in ("DEBUG", "INFO", "WARNING", "ERROR"):
        raise ImproperlyConfigured(f"LOG_LEVEL must be DEBUG, INFO, WARNING or ERROR, not {level!r}.")
    return level


def required(name: str) -> str:
    value = text(name)
    if not value:
        raise ImproperlyConfigured(f"{name} must be set in the environment.")
    return value


def integer(name: str, default: int, lowest: int, highest: int) -> int:
    number = text(name) or str(default)
    if not number.isascii() or not number.isdigit() or not lowest <= int(number) <= highest:
        raise ImproperlyConfigured(f"{name} must be a whole number from {lowest} to {highest}, not {number!r}.")
    return int(number)


def kept_secret(path: Path, make: Callable[[], str] = get_random_secret_key) -> str:
    """Return the secret in the file, which is made on first use. Processes that start together agree on one."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            mine = path.with_name(f".{path.name}-{uuid4().hex}")
            try:
                mine.touch(mode=0o600)
                mine.write_text(make())
                os.link(mine, path)
            except FileExistsError:
                pass  # the other process was faster
            finally:
                mine.unlink(missing_ok=True)
        return path.read_text()
    except OSError as error:
        raise ImproperlyConfigured(f"DATA_DIR cannot be used: {error.strerror}: {error.filename}") from None
