"""The advisor as a page: a form, and advice in place. Nothing that is posted is kept or executed."""

from django.core.exceptions import RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods

from kdb.web.htmx import varies_for_htmx, wants_fragment
from modelling.evidence import names
from modelling.workloads.profiles import KNOWN

from . import words as advice_words
from .content import Advice
from .forms import MOST_BYTES, TOO_LONG, AdvisorForm
from .gather import advise

# Room for a file and a text of the greatest length, and the rest of a form.
MOST_POSTED = 3 * MOST_BYTES


@csrf_exempt  # until the size is known: looking for the token would read all of it; _advised checks the token
@require_http_methods(["GET", "HEAD", "POST"])
@varies_for_htmx
def advisor(request: HttpRequest) -> HttpResponse:
    """Show the form alone, filled in with a known workload (?example=), or with the advice it was posted for."""
    if request.method != "POST":
        return _blank(request)
    try:
        if int(request.META.get("CONTENT_LENGTH") or 0) > MOST_POSTED:
            raise RequestDataTooBig
        return _advised(request)
    except RequestDataTooBig:
        return _too_long(request)


@csrf_protect
def _blank(request: HttpRequest) -> HttpResponse:
    example = request.GET.get("example")
    if example is None:
        return _shown(request, AdvisorForm())
    if example not in KNOWN:
        raise Http404(f"{example!r} is no example.")
    return _shown(request, AdvisorForm.example(example))


@csrf_protect
def _advised(request: HttpRequest) -> HttpResponse:
    form = AdvisorForm(request.POST, request.FILES)
    if not form.is_valid():
        return _shown(request, form, status=422 if wants_fragment(request) else 400)
    asked = {name: form.cleaned_data[name] for name in ("hypervisor", "host_fs")}
    return _shown(request, form, advice=advise(form.profile, **asked))


def _too_long(request: HttpRequest) -> HttpResponse:
    """Answer what is too long to be read, so the form comes back empty."""
    form = AdvisorForm({})
    form.errors.clear()
    form.add_error("personality", TOO_LONG)
    return _shown(request, form, status=422 if wants_fragment(request) else 413)


def _shown(request: HttpRequest, form: AdvisorForm, *, advice: Advice | None = None, status: int = 200) -> HttpResponse:
    is_fragment = wants_fragment(request)
    known = names.names()["workload"]
    context = {
        "form": form,
        "examples": [{"slug": slug, "label": known[slug]} for slug in KNOWN if slug in known],
        "page": advice_words.page(advice) if advice else None,
        "is_fragment": is_fragment,
    }
    return render(request, f"modelling/{'_' if is_fragment else ''}advisor.html", context, status=status)
