"""Pages of case studies: the list, one page each, their numbers, bundles and citations, and the list of sources."""

import tempfile
from typing import Any

from django.core.cache import caches
from django.core.paginator import Paginator
from django.db.models import Q
from django.http import FileResponse, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.http import require_safe

from experiments import permissions
from experiments.models import CaseStudy, Contributor, DerivedValue, Ending, KnowledgeRevision, Measurement
from experiments.records import visible
from kdb.web import linked_data
from kdb.web.addresses import site_of

from . import bibtex, bundles, linked, numbers, pages
from . import bundle_schema as schema_of_bundles
from .filter_forms import CaseStudyListFilter

PER_PAGE = 20
SOURCES_PER_PAGE = 50
_CACHE_SECONDS = 60
_MEMORY_BYTES = 8 * 2**20  # of a bundle; a larger one goes to a temporary file


@require_safe
def case_study_list(request: HttpRequest) -> HttpResponse:
    """Show every visible case study that passes the filters in the address."""
    form = CaseStudyListFilter(request.GET)
    case_studies = form.filtered(pages.case_study_list()) if form.is_valid() else CaseStudy.objects.none()
    page = Paginator(case_studies, PER_PAGE).get_page(request.GET.get("page"))

    def render_lines() -> str:
        lines = pages.case_study_lines(page)
        context = {"form": form, "page": page, "lines": lines}
        return render_to_string("experiments/_case_studies.html", context, request)

    # Without filters the list is the same for everybody until the next publication.
    key = f"experiments.case_studies:{KnowledgeRevision.now()}:{page.number}"
    is_whole = not request.GET.keys() - {"page"}
    content: Any = caches["bodies"].get_or_set(key, render_lines, _CACHE_SECONDS) if is_whole else render_lines()
    status = 200 if form.is_valid() else 400
    return render(request, "experiments/case_study_list.html", {"content": content}, status=status)


@require_safe
def case_study_detail(request: HttpRequest, slug: str) -> HttpResponse:
    """Show a case study; authors and reviewers see a draft as it will look."""
    seen = permissions.seen_by(request.user).select_related("publication", "server", "storage", "loaded__origin")
    case_study = get_object_or_404(seen, slug=slug)
    endings = Ending.objects.filter(Q(case_study=case_study) | Q(replaced_by=case_study))
    endings = endings.select_related("case_study", "replaced_by")
    is_public, owner = case_study.status in CaseStudy.VISIBLE, case_study.owner_id
    context = {
        "page": pages.case_study_page(case_study),
        "case_study": case_study,
        "is_public": is_public,
        "endings": [ending for ending in endings if ending.case_study_id == case_study.pk],
        "replaces": [ending for ending in endings if ending.replaced_by_id == case_study.pk],
        "may_retract": permissions.may_retract(request.user, case_study),
        "linked_data": linked_data.script(linked.dataset(case_study, site_of(request))) if is_public else "",
        "contributor": owner and is_public and Contributor.objects.filter(user=owner).first(),
        "loaded": getattr(case_study, "loaded", None),
        "may_end": permissions.may_end(request.user, case_study),
        "may_repeat": case_study.status == CaseStudy.Status.PUBLISHED and permissions.may_operate(request.user),
    }
    response = render(request, "experiments/case_study_detail.html", context)
    if not is_public:
        response["Cache-Control"] = "private, no-store"
    return response


@require_safe
def measurement(request: HttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(numbers.seen_by(Measurement, request.user), pk=pk)
    return _render_number(request, row, reverse("v1:measurement-detail", args=[pk]))


@require_safe
def derived_value(request: HttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(numbers.seen_by(DerivedValue, request.user), pk=pk)
    return _render_number(request, row, reverse("v1:derived-value-detail", args=[pk]))


def _render_number(request: HttpRequest, row: numbers.Number, as_data: str) -> HttpResponse:
    page = numbers.number_page(row)
    context = {"page": page, "as_data": as_data, "max_neighbours": numbers.MAX_NEIGHBOURS}
    response = render(request, "experiments/number.html", context)
    if not page.is_public:
        response["Cache-Control"] = "private, no-store"
    return response


@require_safe
def case_study_bundle(request: HttpRequest, slug: str) -> FileResponse:
    """Return the case study as a bundle, a ZIP that another KDB can import."""
    case_study = get_object_or_404(
        CaseStudy.objects.visible().select_related("publication", "server", "storage"), slug=slug
    )
    content = tempfile.SpooledTemporaryFile(max_size=_MEMORY_BYTES)  # noqa: SIM115 - the response closes it
    bundles.export(case_study, content)
    content.seek(0)
    return FileResponse(content, as_attachment=True, filename=f"{slug}.zip", content_type="application/zip")


@require_safe
def citation(request: HttpRequest, slug: str) -> HttpResponse:
    """Return BibTeX entries of the case study and its publication."""
    case_study = get_object_or_404(
        CaseStudy.objects.visible().select_related("publication", "owner__contributor"), slug=slug
    )
    address = request.build_absolute_uri(reverse("case-study-detail", args=[slug]))
    response = HttpResponse(bibtex.entries(case_study, address), content_type="application/x-bibtex; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{slug}.bib"'
    return response


@require_safe
def bundle_schema(request: HttpRequest) -> JsonResponse:
    """Return the JSON schema of case-study.json in a bundle."""
    return JsonResponse(schema_of_bundles.schema(), json_dumps_params={"indent": 1})


@require_safe
def source_list(request: HttpRequest) -> HttpResponse:
    """Show every source: when it was made and read, and where it stands."""
    sources = Paginator(visible.publications().order_by("slug"), SOURCES_PER_PAGE)
    return render(request, "experiments/source_list.html", {"page": sources.get_page(request.GET.get("page"))})
