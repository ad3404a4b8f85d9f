"""The page of sources: when each was made and read, where it stands, and what was found when it was looked at again."""

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from experiments import permissions, visible
from experiments.models import SourceTask
from kdb.accounts.users import user_of

from . import tasks
from .forms import NoteForm

PER_PAGE = 50


@require_safe
def source_list(request: HttpRequest) -> HttpResponse:
    """Show every source; reviewers see what waits for them first."""
    return _page(request)


@require_POST
@login_required
def resolve_task(request: HttpRequest, pk: int) -> HttpResponse:
    """Note what a reviewer found of a source, and did."""
    if not permissions.may_look_after_sources(request.user):
        raise PermissionDenied
    task = get_object_or_404(SourceTask, pk=pk)
    form = NoteForm(request.POST)
    if not form.is_valid():
        return _page(request, "Say what you found, in 2,000 characters at most.", status=422)
    try:
        tasks.resolve(task, note=form.cleaned_data["note"], user=user_of(request))
    except tasks.TaskError as error:
        return _page(request, str(error), status=409)
    return redirect("source-list")


def _page(request: HttpRequest, problem: str = "", status: int = 200) -> HttpResponse:
    may_resolve = permissions.may_look_after_sources(request.user)
    sources = visible.publications().select_related("last_check").order_by("slug")
    context = {
        "page": Paginator(sources, PER_PAGE).get_page(request.GET.get("page")),
        "tasks": [(task, NoteForm(auto_id=f"id_{task.pk}_%s")) for task in tasks.open_tasks()] if may_resolve else [],
        "may_resolve": may_resolve,
        "problem": problem,
    }
    return render(request, "experiments/source_list.html", context, status=status)
