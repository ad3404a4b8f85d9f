"""The guided form of a published table: pasted, described a step at a time, made a draft."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from experiments import permissions
from experiments.imports.pipeline import file_name
from experiments.models import PastedTable
from kdb.accounts.users import user_of
from kdb.web.gone import check_client

from . import guided, pages
from .forms import FORMS, ConditionsForm, PasteForm, lists
from .pasted import Refused
from .plain import PlainTable
from .take_in import NotTaken, Reading


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def table_new(request: HttpRequest) -> HttpResponse:
    """Take a table, pasted or as a file, with its conditions where there are any."""
    if not permissions.may_create(request.user):
        raise PermissionDenied
    form = PasteForm(request.POST, request.FILES) if request.method == "POST" else PasteForm()
    if form.is_valid():
        file = form.cleaned_data["file"]
        content = file.read() if file else form.cleaned_data["text"].encode()
        name = file_name(file.name) if file else ""
        try:
            kept = guided.begin(user_of(request), name, content, form.cleaned_data["conditions"], check_client(request))
            if form.cleaned_data["conditions"] and kept.number is not None:
                return redirect("table-detail", kept.pk)
            return redirect("table-step", *_next(kept, ""))
        except (Refused, guided.TooMany) as error:
            form.add_error("file" if file else "text", str(error))
    return render(request, "experiments/table_new.html", {"form": form}, status=422 if form.errors else 200)


def _next(kept: PastedTable, step: str) -> tuple[Any, ...]:
    """Return the arguments of the address of the step after this one; of the page itself after the last."""
    names = [name for name in guided.STEPS if name != "table" or kept.number is None]
    at = names.index(step) + 1 if step in names else 0
    return (kept.pk, names[at]) if at < len(names) else (kept.pk,)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def table_detail(request: HttpRequest, pk: int) -> HttpResponse:
    """Show what was said, and what would come in; make the draft, take a file of conditions, or forget the table."""
    kept = _own(request, pk)
    if kept.case_study is not None:
        return redirect("draft-detail", kept.case_study.slug)
    table, wrong = _chosen(kept), None
    upload = ConditionsForm()
    match request.POST.get("do"):
        case "forget":
            kept.delete()
            return redirect("draft-list")
        case "conditions":
            upload = ConditionsForm(request.POST, request.FILES)
            if upload.is_valid():
                guided.keep(kept, upload.cleaned_data["conditions"])
                return redirect("table-detail", pk)
        case "draft" if table is not None:
            try:
                return redirect("draft-detail", guided.finish(kept, table).slug)
            except NotTaken as error:
                wrong = error.wrong
    shown = {**_shown(kept, table), "upload": upload, "wrong": wrong, "file": guided.as_file(kept)}
    return render(request, "experiments/table_detail.html", shown, status=422 if upload.errors or wrong else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def table_step(request: HttpRequest, pk: int, step: str) -> HttpResponse:
    """Show one step, or keep what is said there and go on to the next."""
    kept = _own(request, pk)
    if step not in guided.STEPS:
        raise Http404
    if kept.case_study is not None:
        return redirect("draft-detail", kept.case_study.slug)
    tables = guided.tables_of(kept)
    if step == "table":
        return _which_table(request, kept, tables)
    table = _chosen(kept, tables)
    if table is None:
        return redirect("table-step", pk, "table")
    reading = guided.reading(kept, table)
    posted = request.POST if request.method == "POST" else None
    form = FORMS[step](posted, table=table, document=kept.conditions, reading=reading)
    if form.is_valid():
        guided.keep(kept, form.document())
        if request.POST.get("do") == "stay":
            return redirect("table-step", pk, step)
        following = _next(kept, step)
        return redirect("table-step" if len(following) > 1 else "table-detail", *following)
    shown = {**_shown(kept, table, step, reading), "form": form, "lists": lists()}
    return render(request, f"experiments/table_{step}.html", shown, status=422 if form.errors else 200)


def _which_table(request: HttpRequest, kept: PastedTable, tables: list[PlainTable]) -> HttpResponse:
    number = request.POST.get("number", "")
    if number.isascii() and number.isdigit() and int(number[:6]) < len(tables):
        guided.choose(kept, int(number[:6]), tables)
        return redirect("table-step", kept.pk, "columns")
    shown = {**_shown(kept, _chosen(kept, tables), "table"), "tables": pages.samples(tables)}
    shown["is_missing"] = request.method == "POST"
    return render(request, "experiments/table_table.html", shown, status=422 if shown["is_missing"] else 200)


@require_safe
@login_required
def table_conditions(request: HttpRequest, pk: int) -> HttpResponse:
    """Answer the file of conditions, as far as it was said."""
    response = HttpResponse(guided.as_file(_own(request, pk)), content_type="application/toml; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="conditions.toml"'
    return response


def _own(request: HttpRequest, pk: int) -> PastedTable:
    """Return somebody's own table: nobody else learns that it exists."""
    if not permissions.may_create(request.user):
        raise PermissionDenied
    return get_object_or_404(PastedTable.objects.select_related("case_study"), pk=pk, owner=user_of(request))


def _chosen(kept: PastedTable, tables: list[PlainTable] | None = None) -> PlainTable | None:
    return None if kept.number is None else (tables or guided.tables_of(kept))[kept.number]


def _shown(
    kept: PastedTable, table: PlainTable | None, step: str = "", reading: Reading | None = None
) -> dict[str, Any]:
    if reading is None and table is not None:
        reading = guided.reading(kept, table)
    return {
        "kept": kept,
        "table": table,
        "step": step,
        "title": guided.STEPS.get(step, ""),
        "steps": guided.steps(kept, table, reading),
        "reading": reading,
        "page": pages.preview(table, reading) if table is not None and reading is not None else None,
    }
