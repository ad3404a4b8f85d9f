"""One machine, no other service: what script/server runs by default."""

from django.core.management.utils import get_random_secret_key

from .base import *  # noqa: F403
from .base import DATA_DIR, env

DATA_DIR.mkdir(parents=True, exist_ok=True)
_secret_file = DATA_DIR / "secret_key"
if not _secret_file.exists():
    _secret_file.touch(mode=0o600)
    _secret_file.write_text(get_random_secret_key())

SECRET_KEY = _secret_file.read_text()
DEBUG = env.bool("DEBUG", False)
ALLOWED_HOSTS = ["127.0.0.1", "localhost", "[::1]"]
WHITENOISE_USE_FINDERS = True  # no collectstatic needed
