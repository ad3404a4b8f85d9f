"""A worker and its tick in one process, for tests that kill it; it does what is asked of placement.

Run as a program with DATA_DIR and the folder of keys in the environment. Where this has ENOUGH, it asks for a move by
itself whenever none is open, until there is a file of that name.
"""

import contextlib
import os
import time
from datetime import timedelta
from pathlib import Path

import django

django.setup()


from django.db.models import Q  # noqa: E402

from experiments.models import ObservedDisk, ObservedPool  # noqa: E402
from kdb.jobs import jobs  # noqa: E402
from kdb.models import Job  # noqa: E402
from modelling.fleet.moving import moves  # noqa: E402
from modelling.fleet.moving.plans import PlacementError  # noqa: E402
from modelling.models import PlacementMove  # noqa: E402


def ask() -> None:
    """Ask for the disk to be moved to the other pool, and for old images to be removed."""
    for kept in PlacementMove.objects.filter(Q(state="kept") | ~Q(left_over="")):
        with contextlib.suppress(PlacementError):
            moves.remove_old(kept, user=None)
    is_busy = PlacementMove.objects.filter(Q(state__in=moves.OPEN) | Q(state="kept", left_over="")).exists()
    if is_busy or Path(os.environ["ENOUGH"]).exists():
        return
    disk = ObservedDisk.objects.select_related("machine__host", "pool").get()
    moves.request_move(disk, ObservedPool.objects.exclude(pk=disk.pool_id).get(), user=None, revision=0)
    moves.start_next(disk.machine.host_id)


if __name__ == "__main__":
    moves.RETRY_AFTER = timedelta(seconds=1)
    while True:
        jobs.reap()
        moves.resume()
        if "ENOUGH" in os.environ:
            ask()
        for job in Job.objects.filter(kind__startswith="placement_", state="queued"):
            jobs.run(job.pk)
        time.sleep(0.2)
