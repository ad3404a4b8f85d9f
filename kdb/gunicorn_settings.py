"""Configure gunicorn, for script/server and for docker-compose.yml.

The application is loaded once, in the parent, and its memory is shared by the processes that it forks.
"""

import gc
from typing import Any

from kdb.jobs import memory

workers = 2
threads = 32  # a slow client occupies one until it is done; threads are started as they are needed
loglevel = "warning"
control_socket_disable = True  # it would be made in HOME
preload_app = True

memory.share_between_threads()


def when_ready(server: Any) -> None:
    """Warm up the parent, and freeze what is loaded, as the garbage collector would write to pages that are shared.

    Gunicorn reads this module before it loads KDB, so the imports are inside.
    """
    import scipy.stats  # noqa: F401 - else each process imports it for its first answer, which takes 0.3 s

    from kdb import wsgi
    from kdb.api import schema

    schema.prepare()
    wsgi.warm_up()
    gc.collect()
    gc.freeze()


def post_fork(server: Any, worker: Any) -> None:
    from kdb import wsgi

    wsgi.reserve_metrics_space()
