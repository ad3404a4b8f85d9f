"""The preview of a publication as a page, for those who may see the draft."""

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from experiments import permissions
from kdb.web.htmx import varies_for_htmx, wants_fragment

from . import preview as previews


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@varies_for_htmx
def preview(request: HttpRequest, slug: str) -> HttpResponse:
    """Show what publishing the draft would change; POST works it out anew."""
    draft = permissions.drafts_of(request.user).filter(slug=slug).first()
    if draft is None:
        raise Http404(f"no draft {slug}")
    if request.method == "POST":
        previews.request(draft)
        return redirect("publication-preview", slug)
    state, kept, job = previews.current(draft)
    result = kept.result if kept else None
    headlines = sum(question["headline_moves"] for question in result["questions"]) if result else 0
    context = {"draft": draft, "state": state, "kept": kept, "result": result, "headlines": headlines, "job": job}
    template = "_preview" if wants_fragment(request) else "preview"
    return render(request, f"modelling/{template}.html", context)
