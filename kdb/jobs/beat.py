"""Celery's scheduler without its file, which would be a pickle: the one task is sent at once after a start anyway."""

from pathlib import Path
from typing import Any

from celery import beat


class Scheduler(beat.Scheduler):  # type: ignore[misc]
    """A scheduler that touches the schedule's file, for the health check, and writes nothing into it."""

    def __init__(self, *args: Any, schedule_filename: str, **kwargs: Any) -> None:
        self.sign_of_life = Path(schedule_filename)
        super().__init__(*args, **kwargs)

    def sync(self) -> None:
        self.sign_of_life.touch()
