"""Pages of unpublished case studies: a user's list, one page each, and the steps to publication and beyond."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from experiments import permissions
from experiments.case_studies import bundles, lifecycle, pages, retraction, reviews
from experiments.case_studies.forms import BundleForm, EndingForm, ReasonForm, draft_forms
from experiments.case_studies.lifecycle import CaseStudyError
from experiments.imports.forms import ContextForm, UploadForm
from experiments.imports.tables import wizard
from experiments.models import CaseStudy, ImportBatch
from experiments.readers.bundle import BundleError
from kdb.accounts.users import user_of
from kdb.web.gone import check_client


@require_safe
@login_required
def draft_list(request: HttpRequest) -> HttpResponse:
    return _render_list(request, BundleForm())


def _render_list(request: HttpRequest, form: BundleForm, status: int = 200, problem: str = "") -> HttpResponse:
    drafts = permissions.drafts_of(request.user).select_related("owner").order_by("-pk")
    may_create = permissions.may_create(request.user)
    context = {"drafts": drafts, "may_create": may_create, "bundle": form, "problem": problem}
    context["tables"] = wizard.pending_tables(user_of(request)) if may_create else []
    return render(request, "experiments/draft_list.html", context, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def draft_new(request: HttpRequest) -> HttpResponse:
    if not permissions.may_create(request.user):
        raise PermissionDenied
    forms = draft_forms(request.POST if request.method == "POST" else None)
    if request.method == "POST" and all(form.is_valid() for form in forms.values()):
        try:
            draft = lifecycle.create_draft(*(form.save(commit=False) for form in forms.values()), user=user_of(request))
            return redirect("draft-detail", draft.slug)
        except CaseStudyError as error:
            forms["case_study"].add_error("slug", str(error))
    return _render_form(request, forms, None)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def draft_edit(request: HttpRequest, slug: str) -> HttpResponse:
    draft = draft_or_404(request, slug)
    if not permissions.may_edit(request.user, draft):
        raise PermissionDenied
    forms = draft_forms(request.POST if request.method == "POST" else None, draft)
    if request.method == "POST" and all(form.is_valid() for form in forms.values()):
        changed = [(form.instance, [*form.fields]) for form in forms.values()]
        try:
            lifecycle.edit_draft(draft, changed, user=user_of(request))
            return redirect("draft-detail", slug)
        except CaseStudyError as error:
            forms["case_study"].add_error(None, str(error))
    return _render_form(request, forms, draft)


@require_POST
@login_required
def import_bundle(request: HttpRequest) -> HttpResponse:
    """Make a draft from a case-study bundle."""
    if not permissions.may_create(request.user):
        raise PermissionDenied
    form = BundleForm(request.POST, request.FILES)
    if form.is_valid():
        try:
            data = form.cleaned_data["bundle"].read()
            draft, _ = bundles.import_bundle(
                data, user=user_of(request), door=ImportBatch.Door.BROWSER, wait=check_client(request)
            )
            return redirect("case-study-detail", draft.slug)
        except BundleError as error:
            form.add_error("bundle", str(error))
    return _render_list(request, form, status=422)


def _render_form(request: HttpRequest, forms: dict[str, Any], draft: CaseStudy | None) -> HttpResponse:
    status = 422 if any(form.errors for form in forms.values()) else 200
    status = 409 if any(form.non_field_errors() for form in forms.values()) else status
    return render(request, "experiments/draft_form.html", {"forms": forms, "draft": draft}, status=status)


@require_safe
@login_required
def draft_detail(request: HttpRequest, slug: str) -> HttpResponse:
    return render_draft(request, draft_or_404(request, slug))


STEPS = {
    "submit": permissions.may_submit,
    "return": permissions.may_return,
    "publish": permissions.may_publish,
    "delete": permissions.may_edit,
}


@require_POST
@login_required
def draft_step(request: HttpRequest, slug: str, step: str) -> HttpResponse:
    """Submit, return, publish or delete a case study; where that is refused, show the page again with the reason."""
    case_study = get_object_or_404(permissions.seen_by(request.user), slug=slug)
    if step not in STEPS:
        raise Http404
    if not STEPS[step](request.user, case_study):
        raise PermissionDenied
    reason = ReasonForm(request.POST)
    if step in ("return", "publish") and not reason.is_valid():
        return render_draft(request, case_study, problem="A reason is needed.", status=422)
    reason_text = reason.cleaned_data.get("reason", "") if reason.is_valid() else ""
    try:
        return _take_step(step, case_study, reason_text, request)
    except CaseStudyError as error:
        current = CaseStudy.objects.filter(pk=case_study.pk).first()
        if current is None or not permissions.may_see(request.user, current):  # deleted, or given back to its author
            return _render_list(request, BundleForm(), status=409, problem=str(error))
        return render_draft(request, current, problem=str(error), status=409)


def _take_step(step: str, case_study: CaseStudy, reason: str, request: HttpRequest) -> HttpResponseRedirect:
    user = user_of(request)
    match step:
        case "submit":
            reviews.submit(case_study, user=user)
        case "return":
            lifecycle.give_back(case_study, reason=reason, user=user)
            if not permissions.drafts_of(user).filter(pk=case_study.pk).exists():  # it is its author's again
                return redirect("draft-list")
        case "publish":
            reviews.publish(case_study, seen=request.POST.get("content_digest", ""), reason=reason, user=user)
            return redirect("case-study-detail", case_study.slug)
        case "delete":
            lifecycle.delete_draft(case_study, user=user)
            return redirect("draft-list")
    return redirect("draft-detail", case_study.slug)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def retract(request: HttpRequest, slug: str) -> HttpResponse:
    """Retract a published case study with a public reason: no answer counts it any more."""
    case_study = get_object_or_404(CaseStudy.objects.visible(), slug=slug)
    if not permissions.may_retract(request.user, case_study):
        raise PermissionDenied
    form = ReasonForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            retraction.retract(case_study, reason=form.cleaned_data["reason"], user=user_of(request))
            return redirect("case-study-detail", slug)
        except CaseStudyError as error:
            form.add_error(None, str(error))
    context = {"case_study": case_study, "form": form}
    status = 409 if form.non_field_errors() else 422 if form.errors else 200
    return render(request, "experiments/case_study_retract.html", context, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def end(request: HttpRequest, slug: str) -> HttpResponse:
    """Mark a published case study, or some of its rows, as superseded or doubted."""
    case_study = get_object_or_404(CaseStudy.objects.visible(), slug=slug)
    if not permissions.may_end(request.user, case_study):
        raise PermissionDenied
    form = EndingForm(
        request.POST if request.method == "POST" else None,
        initial={"measurements": request.GET.get("measurements", "")[:100]},
    )
    if form.is_valid():
        data = form.cleaned_data
        try:
            retraction.end(
                case_study,
                reason=data["reason"],
                replaced_by=data["replaced_by"],
                rows=data["measurements"],
                user=user_of(request),
            )
            return redirect("case-study-detail", slug)
        except CaseStudyError as error:
            form.add_error(None, str(error))
    context = {"case_study": case_study, "form": form}
    status = 409 if form.non_field_errors() else 422 if form.errors else 200
    return render(request, "experiments/case_study_end.html", context, status=status)


def draft_or_404(request: HttpRequest, slug: str) -> CaseStudy:
    draft = permissions.drafts_of(request.user).filter(slug=slug).select_related("owner", "server", "storage").first()
    if draft is None:
        raise Http404(f"no draft {slug}")
    return draft


def render_draft(
    request: HttpRequest,
    draft: CaseStudy,
    *,
    upload: UploadForm | None = None,
    context: ContextForm | None = None,
    problem: str = "",
    status: int = 200,
) -> HttpResponse:
    """Render a draft's page, with the forms and the problem of a refused request."""
    user = user_of(request)
    may = {
        "edit": permissions.may_edit(user, draft),
        "submit": permissions.may_submit(user, draft),
        "return_": permissions.may_return(user, draft),
        "publish": permissions.may_publish(user, draft),
    }
    shown = {
        "draft": draft,
        "page": pages.draft_page(draft),
        "may": may,
        "upload": upload or UploadForm(),
        "context_form": context or ContextForm(case_study=draft),
        "reason": ReasonForm(),
        "content_digest": bundles.digest(draft) if may["publish"] else "",
        "problem": problem,
    }
    return render(request, "experiments/draft_detail.html", shown, status=status)
