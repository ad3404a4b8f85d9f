"""The page of the advisor. Nothing that is posted is stored or executed."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from kdb.web.htmx import varies_for_htmx, wants_fragment
from modelling.evidence import names
from modelling.workloads.profiles import KNOWN, PERSONALITIES

from .forms import AdviceForm
from .gather import advise
from .words import describe_profile


@require_http_methods(["GET", "HEAD", "POST"])
@varies_for_htmx
def advisor(request: HttpRequest) -> HttpResponse:
    """Show the form, filled in with a known workload (?example=), or with the advice on the posted load."""
    is_fragment, advice, status = wants_fragment(request), None, 200
    if request.method == "POST":
        form = AdviceForm(request.POST, request.FILES)
        if form.is_valid():
            advice = advise(form.profile, **form.decided)
        else:
            status = 422 if is_fragment else 400
    else:
        form = _empty_or_example(request.GET.get("example"))
    known = names.names()["workload"]
    context = {
        "form": form,
        "examples": [{"slug": slug, "label": known[slug]} for slug in KNOWN if slug in known],
        "advice": advice,
        "read": describe_profile(advice.profile) if advice else "",
        "is_fragment": is_fragment,
    }
    return render(request, f"modelling/{'_' if is_fragment else ''}advisor.html", context, status=status)


def _empty_or_example(example: str | None) -> AdviceForm:
    if example is None:
        return AdviceForm()
    if example not in KNOWN:
        raise Http404(f"{example!r} is no example.")
    return AdviceForm(initial={"personality": (PERSONALITIES / f"{example}.f").read_text("utf-8")})
