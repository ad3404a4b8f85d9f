"""The pages of one's own laboratories and of what is measured there."""

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from experiments import permissions
from experiments.models import ImportBatch
from kdb.accounts.users import user_of
from kdb.cost import budget
from kdb.web.addresses import site_of
from kdb.web.private import PRIVATE
from modelling.answers.knowledge import assumptions
from modelling.answers.words import address
from modelling.evidence.question import Question
from modelling.models import Sitting

from . import laboratories, sessions, sharing, visitors
from .client_file import client_file_text
from .content import Refused
from .forms import LaboratoryForm, MemberForm
from .loads import load_of
from .personality import personality_text

MOST_SHOWN = 100


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def laboratory_list(request: HttpRequest) -> HttpResponse:
    """Show the user's laboratories; or begin one."""
    form = LaboratoryForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            return redirect("my-laboratory", laboratories.create_laboratory(request.user, **form.cleaned_data).slug)
        except Refused as refusal:
            form.add_error(None, str(refusal))
    context = {"form": form, "laboratories": laboratories.laboratories_of(request.user)}
    return render(request, "modelling/laboratories.html", context, status=422 if form.is_bound else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def laboratory_detail(request: HttpRequest, slug: str) -> HttpResponse:
    """Show a laboratory of the user's; add or remove a member, or remove it all."""
    laboratory = get_object_or_404(laboratories.laboratories_of(request.user), slug=slug)
    if request.POST.get("do") == "remove":
        laboratories.remove_laboratory(laboratory, user=request.user)
        return redirect("my-laboratories")
    form = MemberForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        removes = request.POST.get("do") == "remove-member"
        change = laboratories.remove_member if removes else laboratories.add_member
        try:
            change(laboratory, form.cleaned_data["username"], user=request.user)
            return redirect(
                "my-laboratories" if form.cleaned_data["username"] == request.user.username else request.path
            )
        except Refused as refusal:
            form.add_error("username", str(refusal))
    context = {
        "form": form,
        "laboratory": laboratory,
        "members": laboratory.members.order_by("username"),
        "sittings": laboratory.sittings.select_related("started_by")[:MOST_SHOWN],
        "trail": laboratory.audit_entries.select_related("actor")[:20],
        "server": site_of(request),
    }
    return render(request, "modelling/laboratory.html", context, status=422 if form.is_bound else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def sitting_detail(request: HttpRequest, pk: int) -> HttpResponse:
    """Show how the choices of a session stand here and elsewhere, and its runs; make a draft case study of it, or
    remove it.
    """
    session = get_object_or_404(laboratories.sessions_of(request.user), pk=pk)
    refusal = ""
    if request.method == "POST":
        is_removal = request.POST.get("do") == "remove"
        if not (is_removal or permissions.may_create(request.user)):
            raise PermissionDenied
        try:
            if is_removal:
                laboratories.remove_session(session, user=request.user)
                return redirect("my-laboratory", session.laboratory.slug)
            return redirect(
                "draft-detail", sharing.share_session(session, user_of(request), ImportBatch.Door.BROWSER).slug
            )
        except Refused as error:
            refusal = str(error)
    return _render_session(request, session, refusal)


@require_http_methods(["GET", "HEAD", "POST"])
def visit(request: HttpRequest, slug: str) -> HttpResponse:
    """Show a visitor's session to whoever knows its address, and hand it in for review."""
    budget.remove_limit()  # a worker that went on could not say who asks
    laboratory = visitors.laboratory_at(slug)
    session = laboratory and laboratory.sittings.select_related("laboratory", "case_study").first()
    if not session:
        raise Http404("nothing is kept at this address")
    refusal = ""
    if request.method == "POST":
        try:
            if permissions.may_create(request.user):
                draft = sharing.share_session(session, user_of(request), ImportBatch.Door.BROWSER)
                return redirect("draft-detail", draft.slug)
            if not visitors.is_within_limits("contribution", visitors.MOST_CONTRIBUTIONS, request):
                raise Refused("So many were handed in today that reviewers would not get through: try it tomorrow.")
            visitors.submit_for_review(session, request.user if isinstance(request.user, User) else None)
            return redirect(request.path)
        except Refused as error:
            refusal = str(error)
    response = _render_session(request, session, refusal)
    response["X-Robots-Tag"] = "noindex"
    response["Cache-Control"] = PRIVATE
    return response


def _render_session(request: HttpRequest, session: Sitting, refusal: str) -> HttpResponse:
    decision = sessions.decide(session)
    names = [choice.name for choice in sessions.choices_of(session)]
    runs = list(session.runs.all())
    context = {
        "sitting": session,
        "decision": decision,
        "margin_percent": round(100 * assumptions().margin),
        "runs": [(run, names[run.choice]) for run in runs],
        "rates": "Operations a second" if session.engine == "fio" else "Transactions a second",
        "notes": sessions.notes_of(session),
        "personality": "" if session.like or session.engine != "fio" else personality_text(load_of(session)),
        "skipped": runs[0].disturbed if runs and all(run.disturbed and not run.value for run in runs) else "",
        "refusal": refusal,
        "may_create": permissions.may_create(request.user),
        "may_share": permissions.may_create(request.user) or session.laboratory.expires_at is not None,
        "may_see": session.case_study is not None and permissions.may_see(request.user, session.case_study),
        "published": address(Question.from_key(decision.published)) if decision.published else "",
    }
    return render(request, "modelling/sitting.html", context, status=422 if refusal else 200)


@require_safe
def client_file(request: HttpRequest) -> HttpResponse:
    """Answer the client as one file, for machines that have nothing but Python."""
    return HttpResponse(client_file_text(site_of(request)), content_type="text/x-python; charset=utf-8")
