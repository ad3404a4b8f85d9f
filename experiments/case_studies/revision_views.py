"""The page of knowledge revisions, with the jobs that still recompute answers for them."""

from django.core.paginator import Paginator
from django.db.models import Max, Prefetch, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from experiments.models import KnowledgeRevision
from experiments.records import visible
from kdb.models import Job
from kdb.web.htmx import varies_for_htmx, wants_fragment

PER_PAGE = 50
_RECOMPUTATION = "recompute_"  # prefix of the kinds of jobs that follow a publication


@require_safe
@varies_for_htmx
def revision_list(request: HttpRequest) -> HttpResponse:
    """Show all revisions, newest first, and running recomputations; htmx gets the recomputations alone."""
    work = [(job.kind.removeprefix(_RECOMPUTATION), job) for job in _running_jobs()]
    shown = {"work": work, "failed": [job.kind.removeprefix(_RECOMPUTATION) for job in _failed_jobs()]}
    if wants_fragment(request):
        return render(request, "experiments/_work.html", shown)
    revisions = KnowledgeRevision.objects.select_related("ending__case_study", "ending__replaced_by").prefetch_related(
        Prefetch("published_case_studies", visible.case_studies()),
        Prefetch("retracted_case_studies", visible.case_studies()),
    )
    page = Paginator(revisions, PER_PAGE).get_page(request.GET.get("page"))
    return render(request, "experiments/revision_list.html", {"page": page, **shown})


def _running_jobs() -> QuerySet[Job]:
    open_states = [Job.State.QUEUED, Job.State.RUNNING]
    return Job.objects.filter(state__in=open_states, kind__startswith=_RECOMPUTATION).order_by("pk")


def _failed_jobs() -> QuerySet[Job]:
    """Return the latest job of each kind where that failed."""
    ended = Job.objects.filter(kind__startswith=_RECOMPUTATION, finished_at__isnull=False)
    latest = ended.order_by().values("kind").annotate(last=Max("pk")).values("last")
    return Job.objects.filter(pk__in=latest, state=Job.State.FAILED).order_by("kind")
