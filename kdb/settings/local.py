"""One machine, no other service: what script/server runs by default."""

from kdb.env import env, kept_secret, log_level

from .base import *  # noqa: F403
from .base import DATA_DIR, LOGGING

SECRET_KEY = kept_secret(DATA_DIR / "secret_key")
DEBUG = env.bool("DEBUG", False)
ALLOWED_HOSTS = ["127.0.0.1", "localhost", "[::1]"]
WHITENOISE_USE_FINDERS = True  # no collectstatic needed,
STATIC_ROOT = None  # and no folder for it
KDB_AUTHORS_MAY_PUBLISH = env.bool("AUTHORS_MAY_PUBLISH", True)
for _name in ("kdb", "experiments", "modelling"):  # a person reads along, and wants what is wrong alone
    LOGGING["loggers"][_name]["level"] = log_level("WARNING")
