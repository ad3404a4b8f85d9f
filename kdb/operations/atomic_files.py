"""Write files completely or not at all, also on a full disk."""

import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def atomic_file(path: Path, *, replaces: bool = True, mode: int = 0o666) -> Iterator[IO[bytes]]:
    """Open a file for writing that gets the name `path` once it is complete and on the disk.

    replaces : whether it may replace an existing file; otherwise that raises FileExistsError
    Raises OSError, after which `path` is as it was.
    """
    if not replaces and path.exists():
        raise FileExistsError(path)
    part = path.with_name(f".{path.name}.part")
    try:
        part.unlink(missing_ok=True)  # of a process that died
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if replaces:
            os.replace(part, path)
        else:
            os.link(part, path)  # unlike rename, link never replaces a file
    except OSError as error:
        traceback.clear_frames(error.__traceback__)  # ends iterators over the database before its connection closes
        raise
    finally:
        part.unlink(missing_ok=True)
