"""Commands of KDB's long-running processes. docker-compose.yml starts the same ones."""

WEB = ["gunicorn", "kdb.wsgi", "--config", "python:kdb.gunicorn_settings"]
# With Redis: Celery's workers, which messages wake.
WORKER = [
    *("celery", "--app", "kdb", "--quiet", "worker", "--concurrency", "2", "--hostname", "kdb@%h"),
    *("--without-gossip", "--without-mingle", "--without-heartbeat"),  # nobody listens to its events
]
# Runs of campaigns take hours, so they have a worker of their own; a laboratory elsewhere has its own queue.
LABORATORY = [
    *("celery", "--app", "kdb", "--quiet", "worker", "--concurrency", "2", "--hostname", "lab@%h"),
    *("--queues", "lab-local", "--without-gossip", "--without-mingle", "--without-heartbeat"),
]
BEAT = ["celery", "--app", "kdb", "--quiet", "beat"]
# Without Redis: one worker with a clock of its own, which polls the database.
POLLING_WORKER = ["django", "work"]
