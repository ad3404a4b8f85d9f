"""Reading in a process of its own, with limits of time and memory: whatever a file does to a reader ends in a sentence.

The process gets the bytes of a file in one unnamed file; the line that asks for it to be read has what is said of
foreign columns, or the schema of a bundle. It leaves what it found in another file, a part at a time, so that neither
side holds a large table. It is started when it is needed, again after it was stopped, and ends with whoever started it.
It knows no database and none of the settings.
"""

import io
import json
import os
import pickle
import resource
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from experiments import readers

from . import bundle, table
from .base import Reading
from .bundle import Bundle, BundleError
from .table import Table

SECONDS = 60  # of a processor, for one file; 64 MiB of the slowest format take a third of it
MEMORY_BYTES = 3 * 2**30
FOUND_BYTES = 4 * 2**30  # what is found in all files of an import
_ROWS_AT_ONCE = 5_000
_LENGTH = 8  # bytes before each part

_WHERE = Path(__file__).resolve().parents[2]
_PASSED_ON = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "LANG", "LC_ALL")


class NotRead(Exception):  # noqa: N818 - the file's matter, not a failure of ours
    """A file was not read to its end; its arguments, found and expected, say why and are fit to show."""


class ProcessEndedError(RuntimeError):
    """The process ended by itself, or somebody ended it."""


class ReadingProcess:
    """A process that reads files one after the other. Used as a context; with it end the process and what it found."""

    def __init__(self, seconds: int = SECONDS, memory_bytes: int = MEMORY_BYTES) -> None:
        self.seconds, self.memory_bytes = seconds, memory_bytes

    def __enter__(self) -> "ReadingProcess":
        self._given, self._found = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        self._process: subprocess.Popen[bytes] | None = None
        self._end = 0  # where the results found so far end
        return self

    def __exit__(self, *error: Any) -> None:
        self._stop()
        self._given.close()
        self._found.close()

    def read(
        self,
        chunks: Iterable[bytes],
        wait: Callable[[], None],
        columns: Mapping[str, str] | None = None,
        *,
        schema: Mapping[str, Any] | None = None,
    ) -> int:
        """Have a file read; returns where `content` finds what it holds.

        columns : what is said of columns that are none of ours (table.read_table)
        schema : of a case-study bundle's document, where it is to be read as one
        wait : called each second; what it raises stops the process
        Raises NotRead where a limit was met, BundleError, ProcessEndedError.
        """
        self._given.seek(0)
        self._given.truncate()
        for chunk in chunks:
            self._given.write(chunk)
        self._given.flush()
        process = self._process or self._start()
        assert process.stdin
        assert process.stdout
        try:
            process.stdin.write(f"{self._end} {json.dumps([columns or {}, schema])}\n".encode())
            answers = select.poll()
            answers.register(process.stdout, select.POLLIN)
            while not answers.poll(1000):  # ms
                wait()
            answer = process.stdout.read(1)
        except BrokenPipeError:
            answer = b""
        except BaseException:
            self._stop()
            raise
        if not answer:
            process.wait()
            status = self._stop()
            if status == -signal.SIGXCPU:
                raise NotRead(f"more than {self.seconds} s of work", "a file that is read in that time: split it")
            raise ProcessEndedError(f"the process that reads results ended with status {status}")
        place, self._end = self._end, os.fstat(self._found.fileno()).st_size
        outcome, _ = _get(self._found.fileno(), place)
        if isinstance(outcome, NotRead | BundleError):
            raise outcome
        return place

    def forget(self) -> None:
        """Give back the space of all that was found: its places mean nothing any more."""
        self._end = 0
        self._found.truncate(0)

    def content(self, place: int) -> Reading | Table:
        """Return what the file that was read to `place` holds; the rows of a table are streamed."""
        outcome, first = _get(self._found.fileno(), place)
        if isinstance(outcome, Reading):
            return outcome
        kind, fields, faults, unknown = outcome
        return Table(kind, fields, faults, unknown, lambda: self._rows(first))

    def bundle(self, place: int) -> "LaidOut":
        """Return the bundle that was read to `place`."""
        (bundle_read, sizes), after = _get(self._found.fileno(), place)
        places = {}
        for name, size in sizes.items():
            places[name] = (after, size)
            after += size
        return LaidOut(bundle_read, self._found.fileno(), places)

    def _rows(self, place: int) -> Iterator[Any]:
        while True:
            rows, place = _get(self._found.fileno(), place)
            if not rows:
                return
            yield from rows

    def _start(self) -> subprocess.Popen[bytes]:
        files = [self._given.fileno(), self._found.fileno()]
        arguments = ", ".join(map(str, (*files, self.seconds, self.memory_bytes)))
        # OpenBLAS, which openpyxl may bring along, sets memory aside for each processor.
        environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        self._process = subprocess.Popen(  # noqa: S603 - Python and a module of ours
            [sys.executable, "-c", f"from {__name__} import main; main({arguments})"],
            cwd=_WHERE,
            env={**environment, "OPENBLAS_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            pass_fds=files,
            process_group=0,  # a signal to the worker's group is the worker's matter; it ends with the worker's session
        )
        return self._process

    def _stop(self) -> int | None:
        """End the process, if there is one; returns its status."""
        if self._process is None:
            return None
        process, self._process = self._process, None
        with process:  # closes the pipes and waits
            process.kill()
        return process.returncode


class LaidOut:
    """A bundle whose members stay in the file that its process wrote."""

    def __init__(self, bundle_read: Bundle, file: int, places: dict[str, tuple[int, int]]) -> None:
        """bundle_read : the bundle without its members"""
        self.document, self.digest, self.lines = bundle_read.document, bundle_read.digest, bundle_read.lines
        self._file, self._places = file, places

    def open(self, name: str) -> io.BufferedReader:
        return io.BufferedReader(_Part(self._file, *self._places[name]))


class _Part(io.RawIOBase):
    """A stretch of a file: so many bytes from a place on."""

    def __init__(self, file: int, place: int, size: int) -> None:
        self.file, self.place, self.end = file, place, place + size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = os.pread(self.file, min(len(buffer), self.end - self.place), self.place)
        buffer[: len(data)] = data
        self.place += len(data)
        return len(data)


def _put(file: int, place: int, value: Any) -> int:
    data = pickle.dumps(value)
    return _write(file, place, len(data).to_bytes(_LENGTH, "big") + data)


def _write(file: int, place: int, data: bytes) -> int:
    while data:
        written = os.pwrite(file, data, place)
        place, data = place + written, data[written:]
    return place


def _get(file: int, place: int) -> tuple[Any, int]:
    length = int.from_bytes(os.pread(file, _LENGTH, place), "big")
    data = os.pread(file, length, place + _LENGTH)
    return pickle.loads(data), place + _LENGTH + length  # noqa: S301 - from a process of ours, by an unnamed file


# In the process


def _read(data: bytes, columns: Mapping[str, str], file: int, place: int) -> None:
    """Put what the file holds: a Reading, or a table without its rows and then these."""
    if not table.recognises(data):
        _put(file, place, readers.read(data))
        return
    table_read = table.read_table(data, columns)
    place = _put(file, place, (table_read.format, table_read.fields, table_read.faults, table_read.unknown))
    rows = table_read.rows()
    while chunk := list(islice(rows, _ROWS_AT_ONCE)):
        place = _put(file, place, chunk)
    _put(file, place, [])


def _read_bundle(data: bytes, schema: dict[str, Any], file: int, place: int) -> None:
    """Put the bundle without its members, with their sizes, and then these; or the BundleError."""
    try:
        bundle_read = bundle.read(data, schema)
    except BundleError as error:
        _put(file, place, error)
        return
    sizes = {name: len(content) for name, content in bundle_read.members.items()}
    place = _put(file, place, (bundle_read._replace(members={}), sizes))
    for content in bundle_read.members.values():
        place = _write(file, place, content)


def main(given: int, out_file: int, seconds: int, memory_bytes: int) -> None:
    """Read the file in `given` for each line that comes in, which says where in `out_file` to put what it holds."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _limit(resource.RLIMIT_AS, memory_bytes)
    _limit(resource.RLIMIT_FSIZE, FOUND_BYTES)
    for line in sys.stdin.buffer:
        at, _, request = line.partition(b" ")
        place, (columns, schema) = int(at), json.loads(request)
        used = resource.getrusage(resource.RUSAGE_SELF)
        _limit(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime) + 1 + seconds)
        wrong: NotRead | None = None
        try:
            data = os.pread(given, os.fstat(given).st_size, 0)
            if schema is None:
                _read(data, columns, out_file, place)
            else:
                _read_bundle(data, schema, out_file, place)
        except MemoryError:
            wrong = NotRead(f"more than {memory_bytes // 2**20:,} MiB of memory", "a file that needs less: split it")
        except OSError as error:  # the limit, or the disk is full
            wrong = NotRead(f"more than can be put aside ({error.strerror})", "less in one import: split it")
        if wrong:
            os.truncate(out_file, place)
            _put(out_file, place, wrong)
        sys.stdout.buffer.write(b".")
        sys.stdout.buffer.flush()


def _limit(what: int, value: int) -> None:
    """Set the soft limit, within what the system allows."""
    _, most = resource.getrlimit(what)
    resource.setrlimit(what, (value if most == resource.RLIM_INFINITY else min(value, most), most))
