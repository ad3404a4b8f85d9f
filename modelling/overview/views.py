"""The overview as a page."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from .presentation import present
from .selectors import overview


@require_safe
def overview_page(request: HttpRequest) -> HttpResponse:
    """Show what is known of every choice under every workload."""
    return render(request, "modelling/overview.html", {"page": present(overview())})
