"""The raw output of a run as a download."""

from django.http import HttpResponse

from experiments.models import RunArtifact


def artifact_response(found: RunArtifact) -> HttpResponse:
    """Return the bytes as a download that no browser runs."""
    response = HttpResponse(bytes(found.data), content_type="application/octet-stream")
    response["Content-Disposition"] = f'attachment; filename="run-{found.run_id}-{found.name}"'
    response["ETag"] = f'"{found.sha256}"'
    response["Cache-Control"] = "private, no-cache"
    return response
