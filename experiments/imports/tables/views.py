"""The pages on which a published table is pasted, described step by step, and made a draft."""

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

from . import preview, wizard
from .drafting import TableReading, TableRefused
from .forms import FORMS, ConditionsForm, PasteForm, lists
from .parsing import PlainTable, Refused


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
            pasted = wizard.start(
                user_of(request), name, content, form.cleaned_data["conditions"], check_client(request)
            )
            if form.cleaned_data["conditions"] and pasted.number is not None:
                return redirect("table-detail", pasted.pk)
            return redirect("table-step", *_next_step(pasted, ""))
        except (Refused, wizard.TooMany) as error:
            form.add_error("file" if file else "text", str(error))
    return render(request, "experiments/table_new.html", {"form": form}, status=422 if form.errors else 200)


def _next_step(pasted: PastedTable, step: str) -> tuple[Any, ...]:
    """Return the arguments of the address of the step after this one; of the page itself after the last."""
    names = [name for name in wizard.STEPS if name != "table" or pasted.number is None]
    at = names.index(step) + 1 if step in names else 0
    return (pasted.pk, names[at]) if at < len(names) else (pasted.pk,)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def table_detail(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the conditions and their outcome; make the draft, load a file of conditions, or delete the table."""
    pasted = _own_table(request, pk)
    if pasted.case_study is not None:
        return redirect("draft-detail", pasted.case_study.slug)
    table, wrong = _chosen_table(pasted), None
    upload = ConditionsForm()
    match request.POST.get("do"):
        case "forget":
            pasted.delete()
            return redirect("draft-list")
        case "conditions":
            upload = ConditionsForm(request.POST, request.FILES)
            if upload.is_valid():
                wizard.save_document(pasted, upload.cleaned_data["conditions"])
                return redirect("table-detail", pk)
        case "draft" if table is not None:
            try:
                return redirect("draft-detail", wizard.make_draft(pasted, table).slug)
            except TableRefused as error:
                wrong = error.faults
    context = {**_step_context(pasted, table), "upload": upload, "wrong": wrong, "file": wizard.toml_file(pasted)}
    return render(request, "experiments/table_detail.html", context, status=422 if upload.errors or wrong else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def table_step(request: HttpRequest, pk: int, step: str) -> HttpResponse:
    """Show one step, or store its answers and go on to the next."""
    pasted = _own_table(request, pk)
    if step not in wizard.STEPS:
        raise Http404
    if pasted.case_study is not None:
        return redirect("draft-detail", pasted.case_study.slug)
    tables = wizard.parse(pasted)
    if step == "table":
        return _which_table(request, pasted, tables)
    table = _chosen_table(pasted, tables)
    if table is None:
        return redirect("table-step", pk, "table")
    reading = wizard.reading(pasted, table)
    posted = request.POST if request.method == "POST" else None
    form = FORMS[step](posted, table=table, document=pasted.conditions, reading=reading)
    if form.is_valid():
        wizard.save_document(pasted, form.document())
        if request.POST.get("do") == "stay":
            return redirect("table-step", pk, step)
        following = _next_step(pasted, step)
        return redirect("table-step" if len(following) > 1 else "table-detail", *following)
    context = {**_step_context(pasted, table, step, reading), "form": form, "lists": lists()}
    if step == "columns":
        context["rows"] = preview.marked_cells(table, reading)
    return render(request, f"experiments/table_{step}.html", context, status=422 if form.errors else 200)


def _which_table(request: HttpRequest, pasted: PastedTable, tables: list[PlainTable]) -> HttpResponse:
    number = request.POST.get("number", "")
    if number.isascii() and number.isdigit() and int(number[:6]) < len(tables):
        wizard.choose_table(pasted, int(number[:6]), tables)
        return redirect("table-step", pasted.pk, "columns")
    context = {**_step_context(pasted, _chosen_table(pasted, tables), "table"), "tables": tables}
    context["is_missing"] = request.method == "POST"
    return render(request, "experiments/table_table.html", context, status=422 if context["is_missing"] else 200)


@require_safe
@login_required
def table_conditions(request: HttpRequest, pk: int) -> HttpResponse:
    """Return the conditions so far as a file."""
    response = HttpResponse(wizard.toml_file(_own_table(request, pk)), content_type="application/toml; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="conditions.toml"'
    return response


def _own_table(request: HttpRequest, pk: int) -> PastedTable:
    """Return one of the user's own tables; 404 for those of others, as for missing ones."""
    if not permissions.may_create(request.user):
        raise PermissionDenied
    return get_object_or_404(PastedTable.objects.select_related("case_study"), pk=pk, owner=user_of(request))


def _chosen_table(pasted: PastedTable, tables: list[PlainTable] | None = None) -> PlainTable | None:
    return None if pasted.number is None else (tables or wizard.parse(pasted))[pasted.number]


def _step_context(
    pasted: PastedTable, table: PlainTable | None, step: str = "", reading: TableReading | None = None
) -> dict[str, Any]:
    if reading is None and table is not None:
        reading = wizard.reading(pasted, table)
    return {
        "pasted": pasted,
        "table": table,
        "step": step,
        "title": wizard.STEPS.get(step, ""),
        "steps": wizard.steps(pasted, table, reading),
        "reading": reading,
        "page": preview.preview(table, reading) if table is not None and reading is not None else None,
    }
