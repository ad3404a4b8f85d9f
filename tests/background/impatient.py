"""The worker without Redis, with a second for what is under way when it is told to stop."""

import os

import django

django.setup()

from kdb.jobs import supervisor, worker  # noqa: E402

if __name__ == "__main__":
    supervisor.PATIENCE_SECONDS, supervisor.LAST_PATIENCE_SECONDS = 1, 0
    worker.LOST_AFTER_SECONDS = int(os.environ.get("LOST_AFTER_SECONDS", "300"))
    worker.Worker().run()
