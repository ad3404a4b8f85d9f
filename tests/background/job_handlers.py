"""Handlers for tests."""

import time
from contextlib import suppress
from pathlib import Path

from kdb.jobs import jobs


@jobs.handler("count_slowly")
def count_slowly(run: jobs.JobRun, *, steps: int, seconds: float, file: str) -> None:
    """Note each step in the file, going on where an earlier attempt stopped."""
    for step in range(run.progress, steps):
        time.sleep(seconds)
        with Path(file).open("a") as notes:
            notes.write(f"{run.attempt} {step}\n")
        run.step(step + 1, steps)


@jobs.handler("lose_interruptions")
def lose_interruptions(run: jobs.JobRun, *, file: str) -> None:
    """Go on whatever is raised, as where it is raised in a finalizer."""
    while True:
        with suppress(SystemExit):
            Path(file).write_text("begun")
            time.sleep(1)
