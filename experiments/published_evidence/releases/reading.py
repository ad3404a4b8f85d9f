"""Open a release from elsewhere. Nothing is written to disk, no name is trusted, every byte is counted."""

import hashlib
import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from experiments.readers import archives
from experiments.readers.bundle import DERIVED, DOCUMENT, FILES, MEASUREMENTS

from . import ReleaseError, manifest, signing
from .manifest import Entry, Manifest
from .ro_crate import CRATE, MANIFEST, SIGNATURE

MAX_BYTES = 1024 * 2**20  # of the file
MAX_MEMBERS = 50_000
_UNSIGNED = "releases are signed; ask its publisher for one that this version of KDB has written."
_EPOCH = (1980, 1, 1, 0, 0, 0)


class OpenRelease:
    """A release that has exactly the files of its manifest. key : the public key that signed it"""

    def __init__(self, archive: archives.Archive, listing: Manifest, key: str) -> None:
        self.archive, self.manifest, self.key = archive, listing, key

    def bundle(self, entry: Entry) -> bytes:
        """Return the case study as a bundle of its own. Raises ReleaseError."""
        names = [name for name in self.manifest.files if name.startswith(entry.path)]
        content = io.BytesIO()
        total = 0
        with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as packed:
            for name in names:
                data = self._read(name)
                total += len(data)
                if total > archives.MAX_TOTAL_BYTES:
                    raise ReleaseError(f"{entry.path}: more than {archives.MAX_TOTAL_BYTES:,} bytes")
                packed.writestr(zipfile.ZipInfo(name.removeprefix(entry.path), _EPOCH), data)
        return content.getvalue()

    def _read(self, name: str) -> bytes:
        try:
            data = self.archive.read(name)
        except archives.ArchiveError as error:
            raise ReleaseError(str(error)) from error
        if hashlib.sha256(data).hexdigest() != self.manifest.files[name]:
            raise ReleaseError(f"{name}: the bytes are not those that {MANIFEST} names.")
        return data


@contextmanager
def open_release(file: Path) -> Iterator[OpenRelease]:
    """Open a release. Raises ReleaseError, and OSError where there is no such file."""
    size = file.stat().st_size
    if size > MAX_BYTES:
        raise ReleaseError(f"{file.name}: found {size:,} bytes, at most {MAX_BYTES:,} are taken.")
    try:
        with archives.open_archive(file.name, file.read_bytes(), most=MAX_MEMBERS) as archive:
            heads = []
            for name, why in ((MANIFEST, "is it a release?"), (CRATE, "is it whole?"), (SIGNATURE, _UNSIGNED)):
                if name not in archive.names:
                    raise ReleaseError(f"{file.name}: {name} is missing; {why}")
                heads.append(archive.read(name))
            key = signing.signing_key(*heads)
            listing = manifest.parse(heads[0])
            _check_names(set(archive.names), listing)
            yield OpenRelease(archive, listing, key)
    except archives.ArchiveError as error:
        raise ReleaseError(str(error)) from error


def _check_names(present: set[str], listing: Manifest) -> None:
    """Raise ReleaseError where files are missing, or more than the manifest names."""
    named = {*listing.files, MANIFEST, CRATE, SIGNATURE}
    if present != named:
        other = sorted(present ^ named)[0]
        raise ReleaseError(f"{other!r}: {MANIFEST} and the files disagree on it.")
    paths = {entry.path for entry in listing.case_studies}
    for entry in listing.case_studies:
        for name in (DOCUMENT, MEASUREMENTS, DERIVED):
            if entry.path + name not in named:
                raise ReleaseError(f"{entry.path}{name} is missing.")
    for name in listing.files:
        folder, slash, inner = name.removeprefix("case-studies/").partition("/")
        if name.startswith("case-studies/") and (
            f"case-studies/{folder}{slash}" not in paths
            or (inner not in (DOCUMENT, MEASUREMENTS, DERIVED) and not inner.startswith(FILES))
        ):
            raise ReleaseError(f"{name!r} has no place in a release.")
