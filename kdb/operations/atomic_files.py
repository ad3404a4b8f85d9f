"""Files that commands write for people: whole or not at all, also where the disk is full."""

import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def atomic_file(path: Path, *, replaces: bool = True, mode: int = 0o666) -> Iterator[IO[bytes]]:
    """Open a file for writing that gets the name `path` once it is whole and on the disk.

    replaces : whether it may take the place of another file; if not, that raises FileExistsError
    Raises OSError; what was at `path` is there then, and nothing else.
    """
    if not replaces and path.exists():
        raise FileExistsError(path)
    part = path.with_name(f".{path.name}.part")
    try:
        part.unlink(missing_ok=True)  # of an attempt that died
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if replaces:
            os.replace(part, path)
        else:
            os.link(part, path)  # unlike a rename it never takes the place of another
    except OSError as error:
        traceback.clear_frames(error.__traceback__)  # what reads the database ends before its connection does
        raise
    finally:
        part.unlink(missing_ok=True)
