"""Answer liveness checks of proxies, containers and `manage.py serve`."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe


@require_safe
def alive(request: HttpRequest) -> HttpResponse:
    """Answer that the web process is alive. /api/v1/status/ has the state of the services that it uses."""
    return HttpResponse("ok\n", content_type="text/plain", headers={"Cache-Control": "no-store"})
