"""Pages: the preview of a publication, for those who may see the draft; what a revision changed, for everybody."""

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from experiments import permissions
from experiments.models import KnowledgeRevision
from experiments.records import visible
from kdb.web.htmx import varies_for_htmx, wants_fragment
from modelling.evidence.like_machines import like_machines

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
    """Show which headlines this revision moved."""
    revision = get_object_or_404(KnowledgeRevision, number=number)
    kept = effects.find_effects(number)
    if kept is None and not effects.has_effects(revision):
        raise Http404(f"nobody looked at what revision {number} changed")
    context = {"revision": revision, "result": kept.result if kept else None}
    return render(request, "modelling/revision_effects.html", context)


@require_safe
@varies_for_htmx
def case_study_effects(request: HttpRequest, slug: str) -> HttpResponse:
    """Show what a case study changed by its publication, and how its machine stands among like ones."""
    case_study = get_object_or_404(visible.case_studies(), slug=slug)
    revision = get_object_or_404(KnowledgeRevision, published_case_studies=case_study)
    kept = effects.find_effects(revision.number)
    context = {
        "case_study": case_study,
        "result": kept.result if kept and kept.result["case_study"] == slug else None,
        "is_computing": kept is None and effects.has_effects(revision),
        "machines": like_machines(case_study),
    }
    template = "_case_study_effects" if wants_fragment(request) else "case_study_effects"
    return render(request, f"modelling/{template}.html", context)
