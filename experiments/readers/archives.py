"""Read ZIP files in memory. Nothing is written to disk, and neither names nor sizes in them are trusted."""

import io
import stat
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from .base import MAX_BYTES

MAX_MEMBERS = 1_000
MAX_TOTAL_BYTES = 512 * 2**20  # of all members, unpacked
MAX_LISTED = 50_000  # entries of all directories in it: each takes memory before any is looked at
MAX_RATIO = 200  # unpacked to packed bytes of one member; text packs 3 to 30 times, a bomb a thousand
_RATIO_FREE_BYTES = 2**20  # up to here the ratio may be anything: a small file of one repeated line is no bomb
_READ_BYTES = 2**18
_METHODS = {"stored": zipfile.ZIP_STORED, "deflated": zipfile.ZIP_DEFLATED}


class ArchiveError(ValueError):
    """The archive cannot be read; the message names the member and may be shown to users."""


class Member(NamedTuple):
    name: str
    data: bytes


def is_archive(data: bytes) -> bool:
    """Tell whether this is a ZIP of files, and not a spreadsheet or document that is stored as one."""
    if not data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return False
    if data.count(b"PK\x01\x02") > MAX_LISTED:
        return True  # `check_directory` refuses it
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return "[Content_Types].xml" not in archive.namelist()
    except Exception:  # zipfile raises many kinds; `members` says that it is broken
        return True


def check_directory(name: str, data: bytes) -> None:
    """Raise ArchiveError where the archive has too many entries even to list them."""
    if (listed := data.count(b"PK\x01\x02")) > MAX_LISTED:
        raise ArchiveError(f"{name}: {listed:,} files, at most {MAX_MEMBERS:,} are taken")


def members(name: str, data: bytes) -> Iterator[Member]:
    """Yield every file of the archive, in its order. Raises ArchiveError, also in the middle."""
    with open_archive(name, data) as archive:
        total = 0
        for member in archive.names:
            content = archive.read(member)
            total += len(content)
            if total > MAX_TOTAL_BYTES:
                raise ArchiveError(f"{name}: unpacks to more than {MAX_TOTAL_BYTES:,} bytes")
            yield Member(member, content)


class Archive:
    """An open archive whose entries were checked; `names` are in its order."""

    def __init__(self, name: str, archive: zipfile.ZipFile, entries: list[zipfile.ZipInfo]) -> None:
        self.name, self._archive = name, archive
        self._entries = {entry.filename: entry for entry in entries}

    @property
    def names(self) -> list[str]:
        return list(self._entries)

    def read(self, member: str) -> bytes:
        """Return the bytes of a file that is there. Raises ArchiveError."""
        with _damage_as_archive_error(self.name):
            return _read_member(self.name, self._archive, self._entries[member])


@contextmanager
def open_archive(name: str, data: bytes, most: int = MAX_MEMBERS) -> Iterator[Archive]:
    """Open an archive of at most `most` files. Raises ArchiveError."""
    check_directory(name, data)
    with _damage_as_archive_error(name):
        archive = zipfile.ZipFile(io.BytesIO(data))
    with archive:
        with _damage_as_archive_error(name):
            entries = [entry for entry in archive.infolist() if not _is_clutter(entry)]
            _check_entries(name, entries, most)
        yield Archive(name, archive, entries)


@contextmanager
def _damage_as_archive_error(name: str) -> Iterator[None]:
    try:
        yield
    except ArchiveError:
        raise
    except Exception as error:  # a broken archive makes zipfile and zlib raise many kinds
        raise ArchiveError(f"{name}: the ZIP is damaged ({error})") from error


def _is_clutter(entry: zipfile.ZipInfo) -> bool:
    parts = entry.filename.split("/")
    return entry.is_dir() or parts[0] == "__MACOSX" or parts[-1] in (".DS_Store", "Thumbs.db", "")


def _check_entries(name: str, entries: list[zipfile.ZipInfo], most: int) -> None:
    if not entries:
        raise ArchiveError(f"{name}: there is no file in the ZIP")
    if len(entries) > most:
        raise ArchiveError(f"{name}: {len(entries):,} files, at most {most:,} are taken")
    seen = set()
    for entry in entries:
        place = f"{name}, {entry.filename!r}"
        if _leaves_archive(entry.filename):
            raise ArchiveError(f"{place}: the name leaves the archive")
        if entry.filename in seen:
            raise ArchiveError(f"{place}: the name is there twice")
        seen.add(entry.filename)
        if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG):
            raise ArchiveError(f"{place}: a link or device, not a file")
        if entry.flag_bits & 0x1:
            raise ArchiveError(f"{place}: encrypted")
        if entry.compress_type not in _METHODS.values():
            raise ArchiveError(f"{place}: packed by a method that is not read here; {' and '.join(_METHODS)} are")


def _leaves_archive(name: str) -> bool:
    parts = name.replace("\\", "/").split("/")
    return name.startswith(("/", "\\")) or ".." in parts or ":" in parts[0] or "\0" in name


def _read_member(name: str, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """Return the member's bytes. They are counted: the size in the header may be false."""
    place = f"{name}, {entry.filename!r}"
    content = io.BytesIO()
    with archive.open(entry) as packed:
        while part := packed.read(_READ_BYTES):
            content.write(part)
            size = content.tell()
            if size > MAX_BYTES:
                raise ArchiveError(f"{place}: unpacks to more than {MAX_BYTES:,} bytes")
            if size > _RATIO_FREE_BYTES and size > MAX_RATIO * max(entry.compress_size, 1):
                raise ArchiveError(f"{place}: packed more than {MAX_RATIO} times, as no result is")
    data = content.getvalue()
    if data.startswith((b"PK\x03\x04", b"\x1f\x8b", b"7z\xbc\xaf", b"BZh", b"\xfd7zXZ")) and not _is_workbook(data):
        raise ArchiveError(f"{place}: an archive inside the archive")
    return data


def _is_workbook(data: bytes) -> bool:
    return data.startswith(b"PK") and not is_archive(data)
