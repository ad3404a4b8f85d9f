"""As script/server runs, with slow jobs to interrupt and a clock that does not keep tests waiting."""

from kdb.env import env
from kdb.settings.local import *  # noqa: F403
from kdb.settings.local import CELERY_BEAT_SCHEDULE, INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.background"]
CELERY_TASK_DEFAULT_QUEUE = env.str("TEST_QUEUE", "kdb")  # tests that share a Redis keep apart
KDB_TICK_SECONDS = 0.5
CELERY_BEAT_SCHEDULE["tick"].update(schedule=KDB_TICK_SECONDS)
