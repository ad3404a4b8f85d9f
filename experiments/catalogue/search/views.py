"""The page of the search."""

from collections import Counter

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from .find import LONGEST, MAX_ROWS, QUESTIONS, search


@require_safe
def search_page(request: HttpRequest) -> HttpResponse:
    asked = request.GET.get("q", "")[:LONGEST]
    hits = search(asked)
    counts = Counter(hit.kind for hit in hits)
    is_cut = any(count == MAX_ROWS for kind, count in counts.items() if kind not in QUESTIONS)
    return render(
        request, "experiments/search.html", {"asked": asked, "hits": hits, "is_cut": is_cut, "most": MAX_ROWS}
    )
