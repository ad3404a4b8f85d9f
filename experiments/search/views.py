"""Search as a page."""

from collections import Counter

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from .find import LONGEST, MOST, search


@require_safe
def search_page(request: HttpRequest) -> HttpResponse:
    asked = request.GET.get("q", "")[:LONGEST]
    hits = search(asked)
    is_cut = any(count == MOST for count in Counter(hit.kind for hit in hits).values())
    return render(request, "experiments/search.html", {"asked": asked, "hits": hits, "is_cut": is_cut, "most": MOST})
