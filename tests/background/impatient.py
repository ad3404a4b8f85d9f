"""The worker without Redis, with a second for what is under way when it is told to stop."""

import django

django.setup()

from kdb.work import supervisor, worker  # noqa: E402

if __name__ == "__main__":
    supervisor.PATIENCE_SECONDS, supervisor.LAST_PATIENCE_SECONDS = 1, 0
    worker.Worker().run()
