"""Read files in processes without rights, so that a hostile file can cause an error message and no more.

    server            forks, and never reads uploaded data; each process of KDB has its own
      |  guard          waits for the reader, and ends it when nobody waits for its result any more
      |  reader         reads one file, without rights and within limits (experiments.readers.lockdown)

The input is one unnamed file, the results are another: a sequence of parts, JSON or plain bytes, so that neither side
holds a large table in memory. The caller trusts no result: each is checked against its dataclass. The
server knows no database and no settings, and ends when it is idle.
"""

import atexit
import encodings
import errno
import io
import json
import logging
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from importlib import import_module
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

from experiments import readers

from . import archives, bundle, json_array, table
from .archives import ArchiveError, Member
from .base import Reading
from .bundle import BundleError
from .lockdown import lock_down
from .table import Fault, Table

SECONDS = 60  # of a processor, for one file; 64 MiB of the slowest format take a third of it
MEMORY_BYTES = 3 * 2**30
RESULT_BYTES = 4 * 2**30  # of all files of an import
SECONDS_OF_A_PAGE, MEMORY_BYTES_OF_A_PAGE, RESULT_BYTES_OF_A_PAGE = 10, 2**30, 2**26  # for a page, whose user waits
MAX_PART_BYTES = 2**27
CLOCK_FACTOR = 10  # times `seconds`, after which a reader is ended, however little processor time it used
MAX_READERS = 4  # at the same time, of one process of KDB
IDLE_SECONDS = 300  # without a request, after which a server ends
_ROWS_AT_ONCE = 5_000
_NUMBER_BYTES = 8  # of a size or status
_JSON, _BYTES, _END = b"J", b"B", b"E"  # the first byte of a part, before its size
_CELLS = frozenset((str, int, float))
_LONGEST_TRACEBACK = 4_000

_ROOT = Path(__file__).resolve().parents[2]
_ENVIRONMENT = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "LANG", "LC_ALL")
_PREPARED = ("openpyxl", "lxml.etree", "jsonschema", "tomllib", "_strptime")  # a reader can import nothing

logger = logging.getLogger(__name__)
Wanted = TypeVar("Wanted")


# The functions below that a process may be asked to run: _result, _bundle, _members, _array.
RESULTS, BUNDLES, ARCHIVES, ARRAYS = (f"{__name__}:_{name}" for name in ("result", "bundle", "members", "array"))


class NotRead(Exception):  # noqa: N818 - the file's matter, not a failure of ours
    """A file was not read to its end; its arguments, found and expected, say why and may be shown to users."""


class ProcessEndedError(RuntimeError):
    """A reader crashed or was killed, or its results have the wrong form."""


class _Exit(IntEnum):
    """How a reader ends. With LIMIT its result is found and expected, with FAILED a traceback."""

    READ, FAILED, LIMIT = range(3)


def keep_waiting() -> None:
    """Do nothing, for callers that never give up waiting."""


class ReadingProcess:
    """Reads files one after the other, each in a process of its own. A context manager, which ends with its results."""

    def __init__(
        self, seconds: int = SECONDS, memory_bytes: int = MEMORY_BYTES, result_bytes: int = RESULT_BYTES
    ) -> None:
        self.seconds, self.memory_bytes, self.result_bytes = seconds, memory_bytes, result_bytes

    def __enter__(self) -> "ReadingProcess":
        self._input, self._results = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        self._end = 0  # of the results so far
        return self

    def __exit__(self, *error: Any) -> None:
        self._input.close()
        self._results.close()

    def read(self, chunks: Iterable[bytes], wait: Callable[[], None], reader: str = RESULTS, **arguments: Any) -> int:
        """Read a file in a process; return the place of its results, for `content`, `bundle`, `members` or `lines`.

        wait : called each second; what it raises ends the reader
        reader : "module:function", of bytes and the arguments to an iterator of parts: bytes, and what JSON can say
        Raises NotRead where a limit was met, ProcessEndedError.
        """
        self._input.seek(0)
        self._input.truncate()
        self._input.write(json.dumps(arguments).encode() + b"\n")
        for chunk in chunks:
            self._input.write(chunk)
        self._input.flush()
        place = self._end
        request = json.dumps([reader, place, self.seconds, self.memory_bytes, self.result_bytes]).encode()
        while not _reader_slots.acquire(timeout=1):
            wait()
        try:
            status = self._run_reader(request, wait)
            if status is None:  # its server had just ended
                status = self._run_reader(request, wait)
        finally:
            _reader_slots.release()
        self._end = os.fstat(self._results.fileno()).st_size
        match status:
            case _Exit.READ:
                return place
            case _Exit.LIMIT:
                raise NotRead(*structured(next(self.parts(place), None), tuple[str, str]))
            case _Exit.FAILED:
                raise ProcessEndedError(f"reading failed: {next(self.parts(place), None)}")
        if status == -signal.SIGXCPU:
            raise NotRead(f"more than {self.seconds} s of work", "a file that is read in that time: split it")
        raise ProcessEndedError(f"the process that reads results ended with status {status}")

    def _run_reader(self, request: bytes, wait: Callable[[], None]) -> int | None:
        """Return the exit status of a reader; None where its server ended before it took the request."""
        ours, other_end = socket.socketpair()
        with ours:
            with other_end:
                _send(request, [other_end.fileno(), self._input.fileno(), self._results.fileno()])
            answers = select.poll()
            answers.register(ours, select.POLLIN)
            until = monotonic() + CLOCK_FACTOR * self.seconds
            try:
                while not answers.poll(1000):  # ms
                    wait()
                    if monotonic() > until:
                        raise NotRead(f"more than {CLOCK_FACTOR * self.seconds} s", "a file that is read in that time")
            except BaseException:
                ours.shutdown(socket.SHUT_WR)
                ours.recv(_NUMBER_BYTES)  # the reader has ended: the files are ours again
                raise
            status = ours.recv(_NUMBER_BYTES)
        return int.from_bytes(status, "big", signed=True) if status else None

    def forget(self) -> None:
        """Free the space of all results, whose places become invalid."""
        self._end = 0
        self._results.truncate(0)

    def parts(self, place: int) -> Iterator[Any]:
        """Yield the parts of a result: bytes, and values of JSON. Raises ProcessEndedError."""
        for kind, start, size in self.places(place):
            data = os.pread(self._results.fileno(), size, start)
            try:
                yield json.loads(data) if kind == _JSON else data
            except (ValueError, RecursionError) as error:
                raise ProcessEndedError(f"a reader's result is no JSON: {error}") from error

    def places(self, place: int) -> Iterator[tuple[bytes, int, int]]:
        """Yield kind, beginning and size of each part. Raises ProcessEndedError."""
        file = self._results.fileno()
        while True:
            head = os.pread(file, 1 + _NUMBER_BYTES, place)
            kind, start, size = head[:1], place + len(head), int.from_bytes(head[1:], "big")
            if kind == _END:
                return
            place = start + size
            if kind not in (_JSON, _BYTES) or size > MAX_PART_BYTES or place > os.fstat(file).st_size:
                raise ProcessEndedError(f"what a reader left has no part at byte {start:,}")
            yield kind, start, size

    def content(self, place: int) -> Reading | Table:
        """Return what the file that was read to `place` holds; the rows of a table are streamed."""
        first = next(self.parts(place), None)
        if isinstance(first, dict) and "runs" in first:
            return structured(first, Reading)
        about = structured(first, _AboutTable)
        return Table(**vars(about), _rows=lambda: self._rows(place, len(about.fields)))

    def _rows(self, place: int, width: int) -> Iterator[Any]:
        for rows in islice(self.parts(place), 1, None):
            for row in structured(rows, list[Any]):
                match row:
                    case [int(line), [*cells]] if len(cells) == width and _CELLS.issuperset(map(type, cells)):
                        yield line, tuple(cells)
                    case _:
                        yield structured(row, Fault)

    def bundle(self, place: int) -> "StoredBundle":
        """Return the bundle that was read to `place`. Raises BundleError."""
        about = next(self.parts(place), None)
        if isinstance(about, dict) and "refused" in about:
            raise BundleError(str(about["refused"]))
        bundle_read = structured(about, _AboutBundle)
        stretches = [(start, size) for _, start, size in islice(self.places(place), 1, None)]
        return StoredBundle(bundle_read, self._results.fileno(), dict(zip(bundle_read.members, stretches, strict=True)))

    def members(self, place: int) -> Iterator[Member]:
        """Yield the files of the archive that was read to `place`; nothing where it is none. Raises ArchiveError."""
        parts = self.parts(place)
        for about in parts:
            match structured(about, dict[str, str]):
                case {"refused": why}:
                    raise ArchiveError(why)
                case {"name": name}:
                    yield Member(name, structured(next(parts, None), bytes))

    def lines(self, place: int) -> Iterator[bytes]:
        """Yield JSON lines, many at once: the objects of the array that was read to `place`. Raises ValueError."""
        for part in self.parts(place):
            if isinstance(part, str):
                raise ValueError(part)
            yield structured(part, bytes)


def read_isolated(
    data: bytes, reader: str, wanted: type[Wanted], wait: Callable[[], None] = keep_waiting, **arguments: Any
) -> list[Wanted]:
    """Return all parts of a reader's result, each checked to be of a type, for a waiting user. Raises NotRead."""
    try:
        with ReadingProcess(SECONDS_OF_A_PAGE, MEMORY_BYTES_OF_A_PAGE, RESULT_BYTES_OF_A_PAGE) as process:
            place = process.read([data], wait, reader, **arguments)
            return [structured(part, wanted) for part in process.parts(place)]
    except ProcessEndedError as error:
        logger.warning("a reader failed reader=%s reason=%s", reader, error)
        raise NotRead("something at which the reader failed", "what it reads without: send less of it") from error


class StoredBundle:
    """A bundle whose members stay in the file of results."""

    def __init__(self, about: "_AboutBundle", file: int, places: dict[str, tuple[int, int]]) -> None:
        self.document, self.digest, self.lines = about.document, about.digest, about.lines
        self._file, self._places = file, places

    def open(self, name: str) -> io.BytesIO:
        """Return a member as a file; in memory, as it has at most MAX_BYTES (archives)."""
        start, size = self._places[name]
        return io.BytesIO(os.pread(self._file, size, start))


@dataclass(frozen=True)
class _AboutTable:
    """A Table without its rows."""

    format: str
    fields: tuple[str, ...]
    faults: tuple[Fault, ...]
    unknown: tuple[Fault, ...]


@dataclass(frozen=True)
class _AboutBundle:
    """A bundle without the bytes of its members, which are named in their order."""

    document: dict[str, Any]
    digest: str
    lines: int
    members: list[str]


def structured(value: Any, wanted: type[Wanted]) -> Wanted:
    """Return a part of a result as an object of a type; values are never converted. Raises ProcessEndedError."""
    try:
        return _converter().structure(value, wanted)
    except Exception as error:  # cattrs raises many kinds
        raise ProcessEndedError(f"what a reader left is no {wanted}: {error!r:.200}") from error


@cache
def _converter() -> Any:
    import cattrs  # here and not in readers
    from cattrs.strategies import configure_union_passthrough

    converter = cattrs.Converter(forbid_extra_keys=True, detailed_validation=False)

    def check_type(value: Any, wanted: Any) -> Any:
        if type(value) is wanted or (wanted is float and type(value) is int):
            return value
        raise TypeError(f"{value!r:.80} is no {wanted.__name__}")

    for kind in (str, int, float, bool, bytes):
        converter.register_structure_hook(kind, check_type)
    configure_union_passthrough(str | int | float | bool | None, converter)
    return converter


# The server of this process, which is started when it is needed

_reader_slots = threading.BoundedSemaphore(MAX_READERS)
_lock = threading.Lock()
_servers: dict[int, tuple[subprocess.Popen[bytes], socket.socket]] = {}  # by process id, as a fork must start its own


@atexit.register
def end_server() -> None:
    """End the server of this process, if any; readers at work finish."""
    if os.getpid() in _servers:
        process, control = _servers.pop(os.getpid())
        with process, control:
            process.kill()


def _send(request: bytes, files: list[int]) -> None:
    with _lock:
        if os.getpid() in _servers:
            with suppress(OSError):  # it was idle, or somebody ended it
                socket.send_fds(_servers[os.getpid()][1], [request], files)
                return
            end_server()
        control, other_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other_end:
            process = subprocess.Popen(  # noqa: S603 - Python and a module of ours
                [sys.executable, "-c", f"from {__name__} import serve; serve({other_end.fileno()})"],
                cwd=_ROOT,
                env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[other_end.fileno()],
                process_group=0,  # a signal to the worker's group is the worker's matter; it ends with the worker
            )
        _servers[os.getpid()] = process, control
        socket.send_fds(control, [request], files)


def serve(control: int) -> None:
    """Fork a guard and a reader for each message, which names the reader and brings three files, until none comes."""
    # openpyxl imports numpy where it can, which would start threads: a process with threads must not fork.
    sys.modules["numpy"] = None  # type: ignore[assignment]
    encoding_names = {module.name for module in pkgutil.iter_modules(encodings.__path__)} - {"mbcs", "oem"}
    for name in (*_PREPARED, *(f"encodings.{name}" for name in encoding_names)):
        import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    connection = socket.socket(fileno=control)
    connection.settimeout(IDLE_SECONDS)
    while True:
        try:
            message, files, _, _ = socket.recv_fds(connection, 4096, 3)
        except TimeoutError:
            return
        if not message:
            return
        name, *limits = json.loads(message)
        module, _, function = name.partition(":")
        reader = getattr(import_module(module), function)
        if os.fork() == 0:
            try:
                connection.close()
                _guard(reader, *files, *limits)
            finally:
                os._exit(1)
        for file in files:
            os.close(file)


def _guard(reader: Callable[..., Iterator[Any]], connection: int, source: int, results: int, *limits: int) -> None:
    """Fork the reader and send its exit status to `connection`; kill it when the other end closes."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    process = os.fork()
    if process == 0:
        os.close(connection)
        os.dup2(1, 2)  # /dev/null
        os._exit(_read(reader, source, results, *limits))
    either = select.poll()
    for file in (connection, os.pidfd_open(process)):
        either.register(file, select.POLLIN)
    if any(file == connection for file, _ in either.poll()):
        os.kill(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    os.write(connection, os.waitstatus_to_exitcode(status).to_bytes(_NUMBER_BYTES, "big", signed=True))


# In the reader


def _read(
    reader: Callable[..., Iterator[Any]],
    source: int,
    results: int,
    place: int,
    seconds: int,
    memory_bytes: int,
    result_bytes: int,
) -> _Exit:
    """Run the reader on `source` and write its parts to `results`, from `place` on."""
    lock_down(seconds, memory_bytes, result_bytes)
    at = place
    try:
        arguments, _, data = os.pread(source, os.fstat(source).st_size, 0).partition(b"\n")
        for part in reader(data, **json.loads(arguments)):
            at = _write_part(results, at, part)
        _write(results, at, _END)
        return _Exit.READ
    except MemoryError:
        limit, least = f"more than {memory_bytes // 2**20:,} MiB of memory", "a file that needs less: split it"
    except OSError as error:
        if error.errno not in (errno.EFBIG, errno.ENOSPC, errno.EDQUOT):
            return _write_traceback(results, place)
        limit, least = f"more than can be put aside ({error.strerror})", "less in one import: split it"
    except Exception:
        return _write_traceback(results, place)
    os.truncate(results, place)
    _write_part(results, place, [limit, least])
    return _Exit.LIMIT


def _write_traceback(results: int, place: int) -> _Exit:
    os.truncate(results, place)
    _write_part(results, place, traceback.format_exc()[-_LONGEST_TRACEBACK:])
    return _Exit.FAILED


def _write_part(file: int, place: int, part: Any) -> int:
    """Write kind, length and bytes of a part of the result at `place` of the file; return where it ends."""
    data = part if isinstance(part, bytes) else json.dumps(part, default=_as_json).encode()
    head = (_BYTES if isinstance(part, bytes) else _JSON) + len(data).to_bytes(_NUMBER_BYTES, "big")
    return _write(file, _write(file, place, head), data)


def _as_json(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else vars(value)


def _write(file: int, place: int, data: bytes) -> int:
    while data:
        written = os.pwrite(file, data, place)
        place, data = place + written, data[written:]
    return place


def _result(data: bytes, columns: Mapping[str, str] | None = None) -> Iterator[Any]:
    """Yield the Reading of a file of results; of a table first its header, then its rows in chunks."""
    if not table.recognises(data):
        yield readers.read(data)
        return
    table_read = table.read_table(data, columns or {})
    yield _AboutTable(table_read.format, table_read.fields, table_read.faults, table_read.unknown)
    rows = table_read.rows()
    while chunk := list(islice(rows, _ROWS_AT_ONCE)):
        yield chunk


def _bundle(data: bytes, schema: dict[str, Any]) -> Iterator[Any]:
    """Yield the description of a bundle, then the bytes of its members."""
    try:
        read = bundle.read(data, schema)
    except BundleError as error:
        yield {"refused": str(error)}
        return
    yield _AboutBundle(read.document, read.digest, read.lines, list(read.members))
    yield from read.members.values()


def _members(data: bytes, name: str) -> Iterator[Any]:
    """Yield name and bytes of each file of an archive; nothing of a spreadsheet or document that is stored as one."""
    if not archives.is_archive(data):
        return
    try:
        for member in archives.members(name, data):
            if member.name == bundle.DOCUMENT:
                raise ArchiveError(
                    f"{name}: a case-study bundle becomes a draft of its own; it is not imported into one"
                )
            yield {"name": member.name}
            yield member.data
    except ArchiveError as error:
        yield {"refused": str(error)}


def _array(data: bytes) -> Iterator[Any]:
    """Yield the objects of a JSON array as lines; at last a text, where the array is wrong."""
    lines = json_array.lines_of(data)
    try:
        while chunk := b"".join(islice(lines, _ROWS_AT_ONCE)):
            yield chunk
    except ValueError as error:
        yield str(error)
