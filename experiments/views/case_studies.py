"""Case studies: the list, and one page each with its numbers, their sources and their traps."""

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from experiments import pages
from experiments.models import CaseStudy

PER_PAGE = 20


@require_safe
def case_study_list(request: HttpRequest) -> HttpResponse:
    page = Paginator(pages.case_study_list(), PER_PAGE).get_page(request.GET.get("page"))
    lines = [pages.case_study_line(case_study) for case_study in page]
    return render(request, "experiments/case_study_list.html", {"page": page, "lines": lines})


@require_safe
def case_study_detail(request: HttpRequest, slug: str) -> HttpResponse:
    try:
        page = pages.case_study_page(slug)
    except CaseStudy.DoesNotExist:
        raise Http404(f"no visible case study {slug}") from None
    return render(request, "experiments/case_study_detail.html", {"page": page, "case_study": page.case_study})
