"""Answer that the web process lives: a proxy, a container's check and the start of the server ask."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe


@require_safe
def alive(request: HttpRequest) -> HttpResponse:
    """Answer that the web process lives. What it stands on is at /api/v1/status/."""
    return HttpResponse("ok\n", content_type="text/plain", headers={"Cache-Control": "no-store"})
