"""Pages: the preview of a publication, for those who may see the draft; the effects of a retraction, for everybody."""

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from experiments import permissions
from experiments.models import KnowledgeRevision
from kdb.web.htmx import varies_for_htmx, wants_fragment

from . import effects
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
        previews.request_preview(draft)
        return redirect("publication-preview", slug)
    state, kept, job = previews.preview_state(draft)
    result = kept.result if kept else None
    headlines = sum(question["headline_moves"] for question in result["questions"]) if result else 0
    context = {"draft": draft, "state": state, "kept": kept, "result": result, "headlines": headlines, "job": job}
    template = "_preview" if wants_fragment(request) else "preview"
    return render(request, f"modelling/{template}.html", context)


@require_safe
def revision_effects(request: HttpRequest, number: int) -> HttpResponse:
    """Show which headlines moved where this revision took something out of the knowledge."""
    revision = get_object_or_404(KnowledgeRevision, number=number)
    if not effects.has_effects(revision):
        raise Http404(f"revision {number} took nothing out")
    kept = effects.find_effects(number)
    context = {"revision": revision, "result": kept.result if kept else None}
    return render(request, "modelling/revision_effects.html", context)
