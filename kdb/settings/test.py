"""Settings of the tests. DATABASE_URL and REDIS_URL choose the services, as everywhere."""

import os
from urllib.parse import urlsplit

from .base import *  # noqa: F403
from .base import CACHES, REDIS_URL

SECRET_KEY = "not a secret: tests only"  # noqa: S105
DEBUG = False
ALLOWED_HOSTS = ["testserver", "127.0.0.1", "localhost"]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = True  # else each test's client searches for all files before its first request
STATIC_ROOT = None
KDB_API_REQUESTS_A_MINUTE = 0  # as tests send requests as fast as they can
KDB_WEBHOOK_PRIVATE_HOSTS = ["hooks.example.org", "theirs.org", "x.org"]  # so that tests resolve no names
KDB_CPU_SECONDS_A_MINUTE = KDB_CPU_SECONDS_A_REQUEST = 0  # and may compute as long as they need
KDB_OUTSIDE = None  # loading it takes seconds; tests of it set it
KDB_SIGNATURES = None  # else the first tick trains a model with them
CACHES["arms-in-files"]["BACKEND"] = "django.core.cache.backends.dummy.DummyCache"  # as each test has another database
if REDIS_URL:  # the processes of a test run share Redis, and each clears its own counters after each test
    _number = 1 + int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    CACHES["throttle"]["LOCATION"] = urlsplit(REDIS_URL)._replace(path=f"/{_number}").geturl()
