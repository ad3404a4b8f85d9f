"""What the tests run on. DATABASE_URL and REDIS_URL choose the services, as everywhere."""

from .base import *  # noqa: F403

SECRET_KEY = "not a secret: tests only"  # noqa: S105
DEBUG = False
ALLOWED_HOSTS = ["testserver", "127.0.0.1", "localhost"]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
WHITENOISE_USE_FINDERS = True
CELERY_TASK_ALWAYS_EAGER = False
