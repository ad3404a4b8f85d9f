"""The three long-running processes of KDB. docker-compose.yml starts the same commands one by one."""

WEB = [
    *("gunicorn", "kdb.wsgi", "--workers", "2", "--threads", "4"),
    *("--log-level", "warning", "--no-control-socket"),  # its socket would lie in HOME
]
WORKER = [
    *("celery", "--app", "kdb", "--quiet", "worker", "--concurrency", "2", "--hostname", "kdb@%h"),
    *("--without-gossip", "--without-mingle", "--without-heartbeat"),  # nobody listens to its events
]
BEAT = ["celery", "--app", "kdb", "--quiet", "beat"]
