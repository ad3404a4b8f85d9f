"""Settings for one machine without other services, which script/server uses by default."""

from kdb.env import env, kept_secret, log_level

from .base import *  # noqa: F403
from .base import DATA_DIR, LOGGING

SECRET_KEY = kept_secret(DATA_DIR / "secret_key")
DEBUG = env.bool("DEBUG", False)
ALLOWED_HOSTS = ["127.0.0.1", "localhost", "[::1]"]
WHITENOISE_USE_FINDERS = True  # so that neither collectstatic
STATIC_ROOT = None  # nor a folder for it is needed
KDB_AUTHORS_MAY_PUBLISH = env.bool("AUTHORS_MAY_PUBLISH", True)
for _name in ("kdb", "experiments", "modelling"):  # as it is read on a terminal, only warnings
    LOGGING["loggers"][_name]["level"] = log_level("WARNING")
