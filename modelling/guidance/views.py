"""Pages of makers' advice."""

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from modelling.models import Advice

from . import selectors
from .content import Statement
from .forms import GuidanceFilters

PER_PAGE = 50


@require_safe
def guidance_list(request: HttpRequest) -> HttpResponse:
    """Show the statements selected by the query string, by axis."""
    filters = GuidanceFilters(request.GET, Advice.objects.order_by("axis", "pk"))
    is_valid = filters.is_valid()
    page = Paginator(filters.qs if is_valid else Advice.objects.none(), PER_PAGE).get_page(request.GET.get("page"))
    context = {"form": filters.form, "page": page, "statements": selectors.plain(Statement, page)}
    return render(request, "modelling/guidance.html", context, status=200 if is_valid else 400)


@require_safe
def guidance_detail(request: HttpRequest, code: str) -> HttpResponse:
    """Show one statement with its source and its contradictions."""
    statement = selectors.plain(Statement, [get_object_or_404(Advice, code=code)])[0]
    context = {"statement": statement, "disagreements": selectors.disagreements(code)}
    return render(request, "modelling/guidance_detail.html", context)


@require_safe
def contradictions(request: HttpRequest) -> HttpResponse:
    """Show every question on which makers disagree, with both sides."""
    return render(request, "modelling/contradictions.html", {"disagreements": selectors.disagreements()})
