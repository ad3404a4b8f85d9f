"""Receive, store, read and send uploaded files, chunk by chunk, never whole in memory."""

import hashlib
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

from django.http import StreamingHttpResponse

from experiments.models import ImportBatch, RawChunk, RawFile
from experiments.readers.base import MAX_BYTES

CHUNK_BYTES = 2**20
_MEMORY_BYTES = 4 * 2**20  # of an upload; a larger one is written to a temporary file


class UploadError(ValueError):
    """The upload is refused; the message may be shown to users."""


@dataclass(frozen=True)
class Upload:
    """One received file, which the receiver must close.

    rows : its measurements, where KDB itself made the file (experiments.imports.normalise.source_of_rows)
    """

    name: str
    sha256: str
    size_bytes: int
    content: IO[bytes]
    rows: Sequence[Mapping[str, Any]] = ()

    def close(self) -> None:
        self.content.close()


def take(name: str, chunks: Iterable[bytes], *, largest: int = MAX_BYTES) -> Upload:
    """Receive one file. Raises UploadError where it is larger than `largest` bytes."""
    content = tempfile.SpooledTemporaryFile(max_size=_MEMORY_BYTES)  # noqa: SIM115 - the caller closes it
    digest, size = hashlib.sha256(), 0
    try:
        for chunk in chunks:
            size += len(chunk)
            if size > largest:
                raise UploadError(f"{name}: larger than {largest:,} bytes, the most that one file may have")
            digest.update(chunk)
            content.write(chunk)
    except BaseException:  # also where the client disconnects
        content.close()
        raise
    content.seek(0)
    return Upload(name, digest.hexdigest(), size, content)


def store(batch: ImportBatch, upload: Upload) -> RawFile:
    """Store an upload. Raises IntegrityError where the case study has the same bytes."""
    file = RawFile.objects.create(
        case_study_id=batch.case_study_id,
        batch=batch,
        name=upload.name,
        sha256=upload.sha256,
        size_bytes=upload.size_bytes,
        rows=list(upload.rows),
    )
    upload.content.seek(0)
    number = 0
    while data := upload.content.read(CHUNK_BYTES):
        RawChunk.objects.create(file=file, number=number, data=data)
        number += 1
    return file


def chunks(file: RawFile) -> Iterator[bytes]:
    """Yield the bytes of a stored file, chunk by chunk."""
    for number in range(-(-file.size_bytes // CHUNK_BYTES)):
        yield bytes(RawChunk.objects.values_list("data", flat=True).get(file=file, number=number))


def content(file: RawFile) -> bytes:
    return b"".join(chunks(file))


def raw_response(file: RawFile) -> StreamingHttpResponse:
    """Stream a file as a download that browsers do not execute; the entity tag is its SHA-256."""
    response = StreamingHttpResponse(chunks(file), content_type="application/octet-stream")
    response["Content-Length"] = file.size_bytes
    response["ETag"] = f'"{file.sha256}"'
    name = file.name.rpartition("/")[2].encode("ascii", "replace").decode().replace("?", "_")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["Cache-Control"] = "private, no-cache"
    return response
