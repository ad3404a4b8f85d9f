"""Send uploaded files as downloads that browsers do not execute."""

from django.http import StreamingHttpResponse

from experiments.models import RawFile

from . import raw_files


def raw_response(file: RawFile) -> StreamingHttpResponse:
    """Stream the bytes of a file; the entity tag is their SHA-256."""
    response = StreamingHttpResponse(raw_files.chunks(file), content_type="application/octet-stream")
    response["Content-Length"] = file.size_bytes
    response["ETag"] = f'"{file.sha256}"'
    name = file.name.rpartition("/")[2].encode("ascii", "replace").decode().replace("?", "_")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["Cache-Control"] = "private, no-cache"
    return response
