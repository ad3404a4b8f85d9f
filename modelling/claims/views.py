"""Show the papers' claims and predictions."""

import json
from typing import Any

from django.core.cache import caches
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.template.loader import render_to_string
from django.views.decorators.http import require_safe

from experiments import permissions
from experiments.campaigns.views import operators_only
from experiments.records import visible
from experiments.rules.claim_conditions import is_shallow
from kdb.web.htmx import varies_for_htmx, wants_fragment
from modelling.evidence import counts
from modelling.models import ClaimVerdict

from . import pages as claim_pages
from . import replication
from .forms import ClaimFilter

_CACHE_SECONDS = 60
KINDS = [(kind.value, kind.label) for kind in ClaimVerdict.Kind]


@require_safe
def claim_papers(request: HttpRequest) -> HttpResponse:
    """Show how many claims of each paper got which verdict; cached for all until something is published or judged."""

    def render_papers() -> str:
        return render_to_string("modelling/_claim_papers.html", {"papers": claim_pages.papers(), "kinds": KINDS})

    key = f"modelling.claims:{counts.revision()}:{claim_pages.judged_at()}"
    content: Any = caches["bodies"].get_or_set(key, render_papers, _CACHE_SECONDS)
    return render(request, "modelling/claim_papers.html", {"content": content})


@require_safe
@varies_for_htmx
def claims_of_paper(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the claims of one paper, filtered by the query string."""
    publication = get_object_or_404(visible.publications(), slug=slug)
    form = ClaimFilter(request.GET)
    lines = claim_pages.claims_of(publication, form.cleaned_data) if form.is_valid() else []
    context = {
        "publication": publication,
        "form": form,
        "lines": lines,
        "is_behind": claim_pages.is_behind(verdict for line in lines for _, verdict in line.verdicts),
    }
    is_fragment = wants_fragment(request)
    template = "modelling/_claims.html" if is_fragment else "modelling/claims_of_paper.html"
    status = 200 if form.is_valid() else 422 if is_fragment else 400
    return render(request, template, context, status=status)


@require_safe
@varies_for_htmx
def claims_of_case_study(request: HttpRequest, slug: str) -> HttpResponse:
    """Show what was claimed about a case study's results, with the verdicts."""
    case_study = get_object_or_404(visible.case_studies(), slug=slug)
    lines = claim_pages.claims_on(case_study)
    is_behind = claim_pages.is_behind(verdict for line in lines for _, verdict in line.verdicts)
    template = "_case_study_claims" if wants_fragment(request) else "case_study_claims"
    context = {"case_study": case_study, "lines": lines, "is_behind": is_behind}
    return render(request, f"modelling/{template}.html", context)


@require_safe
def claim_detail(request: HttpRequest, slug: str, code: str) -> HttpResponse:
    """Show one claim with its condition, every comparison and the evidence."""
    publication = get_object_or_404(visible.publications(), slug=slug)
    line = claim_pages.claim_line(publication, code)
    if line is None:
        raise Http404(f"no claim {code} of {slug}")
    verdicts = [verdict for _, verdict in line.verdicts]
    context = {
        "publication": publication,
        "line": line,
        "claim": line.claim,
        "checks": json.dumps(line.claim.checks, indent=1) if is_shallow(line.claim.checks) else "",
        "evidence": claim_pages.evidence_of(verdicts),
        "is_behind": claim_pages.is_behind(verdicts),
    }
    return render(request, "modelling/claim_detail.html", context)


@require_safe
@operators_only
def replication_page(request: HttpRequest, slug: str) -> HttpResponse:
    """Show a campaign that measures a case study again beside it: each pair and each claim, and whether they agree."""
    campaigns = permissions.campaigns_visible_to(request.user).filter(replicates__isnull=False)
    campaign = get_object_or_404(campaigns.select_related("host", "pool", "replicates", "case_study"), slug=slug)
    return render(request, "modelling/replication.html", {"campaign": campaign, "page": replication.compare(campaign)})


@require_safe
def hypotheses(request: HttpRequest) -> HttpResponse:
    lines = claim_pages.hypothesis_lines()
    is_behind = claim_pages.is_behind(score for line in lines for score in line.scores)
    return render(request, "modelling/hypotheses.html", {"lines": lines, "is_behind": is_behind})
