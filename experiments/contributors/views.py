"""Pages of contributors: one each, its badge, and the form for one's own name."""

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import cache_control, never_cache
from django.views.decorators.http import require_http_methods, require_safe

from experiments.models import Contributor
from kdb.accounts.users import user_of
from kdb.web import badges
from kdb.web.addresses import site_of
from kdb.web.form_types import ModelForm

from .contributors import ContributorPage, choose_name, contributor_page


class NameForm(ModelForm[Contributor]):
    class Meta:
        model = Contributor
        fields = ("name",)


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def your_name(request: HttpRequest) -> HttpResponse:
    """Ask for a public name; POST with `withdraw` takes it back."""
    user = user_of(request)
    contributor = Contributor.objects.filter(user=user).first()
    form = NameForm(request.POST or None, instance=contributor)
    if "withdraw" in request.POST or form.is_valid():
        if "withdraw" in request.POST:
            Contributor.objects.filter(user=user).delete()
        else:
            choose_name(user, form.cleaned_data["name"])
        return redirect("your-name")
    page = contributor_page(contributor.slug) if contributor else None
    context = {"form": form, "contributor": contributor, "page": page}
    return render(request, "experiments/your_name.html", context, status=422 if form.errors else 200)


@require_safe
def contributor_detail(request: HttpRequest, slug: str) -> HttpResponse:
    """Show what a contributor published."""
    page = _page(slug)
    address = f"{site_of(request)}{reverse('contributor-detail', args=[slug])}"
    context = {"page": page, "address": address, "citation": page.citation(address), "bibtex": page.bibtex(address)}
    return render(request, "experiments/contributor_detail.html", context)


@require_safe
@cache_control(public=True, max_age=600)
def badge(request: HttpRequest, slug: str) -> HttpResponse:
    """Draw how much a contributor published, for pages elsewhere."""
    return badges.render_badge(request, "KDB", _page(slug).counts, "#1565c0")


def _page(slug: str) -> ContributorPage:
    page = contributor_page(slug)
    if page is None:
        raise Http404(f"no contributor {slug}")
    return page
