"""Imports in the browser: upload, see what was read, correct, confirm; and the files themselves."""

from pathlib import Path

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from experiments import permissions
from experiments.imports import pipeline
from experiments.imports import words as import_words
from experiments.imports.forms import AnswersForms, ContextForm, SeveralImportsForm, UploadForm
from experiments.imports.pipeline import ImportRefused
from experiments.models import ImportBatch, RawFile
from experiments.readers import table
from experiments.records.files import raw_files
from kdb.accounts.users import user_of
from kdb.web.gone import check_client
from kdb.web.htmx import varies_for_htmx, wants_fragment

from .views import draft_or_404, render_draft

COLLECT_SCRIPT = Path(__file__).with_name("collect.sh")


@require_POST
@login_required
def upload(request: HttpRequest, slug: str) -> HttpResponse:
    """Take files into a draft; they are read in the background."""
    draft = draft_or_404(request, slug)
    if not permissions.may_edit(request.user, draft):
        raise PermissionDenied
    form, context = UploadForm(request.POST, request.FILES), ContextForm(request.POST, case_study=draft)
    if not (form.is_valid() and context.is_valid()):
        return render_draft(request, draft, upload=form, context=context, status=422)
    try:
        batch, _ = pipeline.receive(
            draft,
            (raw_files.take(file.name, file.chunks()) for file in form.cleaned_data["files"]),
            user=user_of(request),
            door=ImportBatch.Door.BROWSER,
            answers={"context": context.context()},
            wait=check_client(request),
        )
    except ImportRefused as error:
        form.add_error("files", str(error))
        return render_draft(request, draft, upload=form, context=context, status=422)
    return redirect("import-detail", batch.pk)


@require_POST
@login_required
def decide_imports(request: HttpRequest, slug: str) -> HttpResponse:
    """Confirm or discard several imports of a draft: all that are chosen, or none."""
    draft = draft_or_404(request, slug)
    if not permissions.may_edit(request.user, draft):
        raise PermissionDenied
    form = SeveralImportsForm(request.POST, case_study=draft)
    if not form.is_valid():
        return render_draft(request, draft, problem=" ".join(form.problems), status=422)
    try:
        with transaction.atomic():
            for batch in form.cleaned_data["imports"]:
                if form.cleaned_data["do"] == "discard":
                    pipeline.discard(batch, user=user_of(request))
                else:
                    pipeline.confirm(batch)
    except ImportRefused as error:
        return render_draft(request, draft, problem=f"{error} Nothing was done.", status=409)
    return redirect("draft-detail", slug)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@varies_for_htmx
def import_detail(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the report of an import and its actions; the page polls while the files are being read."""
    batch = (
        ImportBatch.objects.filter(pk=pk, case_study__in=permissions.drafts_of(request.user))
        .select_related("case_study__storage", "job", "uploaded_by")
        .first()
    )
    if batch is None:
        raise Http404(f"no import {pk}")
    may_edit = permissions.may_edit(request.user, batch.case_study)
    problem = ""
    posted = request.POST if request.method == "POST" else None
    context = ContextForm(
        posted,
        case_study=batch.case_study,
        initial={**batch.full_report["suggested"], **batch.answers.get("context", {})},
    )
    answers = AnswersForms(posted, batch=batch, context_form=context)
    if request.method == "POST":
        if not may_edit:
            raise PermissionDenied
        try:
            if _run_action(request, batch, answers, context):
                return redirect("import-detail", pk)
        except ImportRefused as error:
            problem = str(error)
    shown = {
        "batch": batch,
        "report": batch.full_report,
        "summary": import_words.summary(batch),
        "faults": [import_words.fault_sentence(fault) for fault in batch.full_report["faults"]],
        "answers": answers,
        "context_form": context,
        "may_edit": may_edit,
        "problem": problem,
        "is_reading": batch.is_being_read,
    }
    template = "experiments/_import.html" if wants_fragment(request) else "experiments/import_detail.html"
    return render(request, template, shown, status=422 if problem or answers.errors or context.errors else 200)


def _run_action(request: HttpRequest, batch: ImportBatch, answers: AnswersForms, context: ContextForm) -> bool:
    """Run the action of the pressed button; return False where the form has errors."""
    match request.POST.get("do"):
        case "confirm":
            pipeline.confirm(batch)
        case "discard":
            pipeline.discard(batch, user=user_of(request))
        case "read":
            pipeline.read_again(batch)
        case _:
            if not (answers.is_valid() and context.is_valid()):
                return False
            pipeline.correct(batch, answers.answers(context.context()))
    return True


@require_safe
def raw_file(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Return the bytes of one file; everybody may read them once the case study is published."""
    return raw_files.raw_response(get_object_or_404(RawFile, pk=pk, case_study__in=permissions.seen_by(request.user)))


@require_safe
def collect_script(request: HttpRequest) -> HttpResponse:
    """Return the script that packs results and facts of a machine without KDB into a ZIP."""
    return HttpResponse(COLLECT_SCRIPT.read_bytes(), content_type="text/x-shellscript; charset=utf-8")


@require_safe
def table_template(request: HttpRequest, suffix: str) -> HttpResponse:
    """Return a table with a few example rows, to fill in."""
    kinds = {
        "csv": ("text/csv; charset=utf-8", table.template_csv),
        "xlsx": ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", table.template_xlsx),
    }
    if suffix not in kinds:
        raise Http404
    content_type, make = kinds[suffix]
    response = HttpResponse(make(), content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="kdb-results.{suffix}"'
    return response
