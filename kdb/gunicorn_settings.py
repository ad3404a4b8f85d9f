"""The settings of gunicorn, which serves KDB here and in docker-compose.yml: it reads this module.

What is loaded is loaded once, in the parent, and shared by the processes that it forks.
"""

import gc
from typing import Any

from kdb.jobs import memory

workers = 2
threads = 32  # a slow client holds one until it is done; they are made as they are needed
loglevel = "warning"
control_socket_disable = True  # it would lie in HOME
preload_app = True

memory.share_between_threads()


def when_ready(server: Any) -> None:
    """Do once what each process would do at its first requests, and leave all that is loaded to the kernel to share:
    the collector would write to each of its pages. The imports are late, as gunicorn reads this before it loads KDB."""
    import scipy.stats  # noqa: F401 - a third of a second of each process's first answer

    from kdb import wsgi
    from kdb.api import schema

    schema.prepare()
    wsgi.answer_nobody()
    gc.collect()
    gc.freeze()


def post_fork(server: Any, worker: Any) -> None:
    from kdb import wsgi

    wsgi.make_room_for_metrics()
