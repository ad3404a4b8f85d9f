"""Search as a page."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from experiments.search import LONGEST, search


@require_safe
def search_page(request: HttpRequest) -> HttpResponse:
    asked = request.GET.get("q", "")[:LONGEST]
    return render(request, "experiments/search.html", {"asked": asked, "hits": search(asked)})
