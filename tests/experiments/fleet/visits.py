"""Visits to a host one after another, as the job does them."""

import time

from experiments.fleet import watching
from experiments.models import Host


def watch_for(host: Host, seconds: float) -> bool:
    """Visit a host until the time is up, at least twice, and once more at its end; stop at a failure."""
    end = time.monotonic() + seconds
    while True:
        is_last = time.monotonic() >= end
        host.refresh_from_db()
        if not watching.visit(host):
            return False
        if is_last:
            return True
        time.sleep(max(min(host.observed_every, end - time.monotonic()), 0))
