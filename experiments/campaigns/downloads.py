"""The raw output of a run as a download."""

from django.http import HttpResponse

from experiments.models import RunArtifact


def artifact_response(artifact: RunArtifact) -> HttpResponse:
    """Return the bytes as a download that no browser runs."""
    response = HttpResponse(bytes(artifact.data), content_type="application/octet-stream")
    response["Content-Disposition"] = f'attachment; filename="run-{artifact.run_id}-{artifact.name}"'
    response["ETag"] = f'"{artifact.sha256}"'
    response["Cache-Control"] = "private, no-cache"
    return response
