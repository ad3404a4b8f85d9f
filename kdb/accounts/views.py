"""Views of password resets, and of one's own account with its API tokens."""

from typing import Any

from django.conf import settings
from django.contrib.auth import views
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import PasswordResetForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.timezone import now
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from kdb.accounts import second_factor, tokens
from kdb.accounts.forms import TokenForm
from kdb.accounts.users import user_of
from kdb.jobs import jobs
from kdb.models import ApiToken, OidcIdentity
from kdb.web.addresses import counted_address
from kdb.web.rates import is_within

_HOUR = 3600  # seconds
MOST_RESETS_BY_ADDRESS = 10  # an hour, asked for from one IP address
MOST_RESETS_BY_MAIL = 3  # an hour, sent to one mail address


def ways_to_sign_in(request: HttpRequest) -> dict[str, Any]:
    """Give templates the name of the OpenID Connect provider, "" where there is none. A context processor."""
    return {"oidc_name": settings.KDB_OIDC_NAME if settings.KDB_OIDC_ISSUER else ""}


class PasswordResetView(views.PasswordResetView):
    """Django's view with a rate limit, sending mail by a job. The answer does not tell whether there is an account."""

    template_name = "accounts/password_reset.html"

    def form_valid(self, form: PasswordResetForm) -> HttpResponse:
        email = form.cleaned_data["email"]
        may_ask = is_within(MOST_RESETS_BY_ADDRESS, _HOUR, "reset from", counted_address(self.request))
        if not (may_ask and is_within(MOST_RESETS_BY_MAIL, _HOUR, "reset of", email.casefold())):
            form.add_error(None, "Too many letters were asked for. Look into your mail, or try again in an hour.")
            response = self.render_to_response(self.get_context_data(form=form), status=429)
            response["Retry-After"] = _HOUR
            return response
        domain, is_https = self.request.get_host(), self.request.is_secure()
        jobs.enqueue("mail_password_reset", email=email, domain=domain, is_https=is_https)
        return redirect("password_reset_done")


@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def account(request: HttpRequest) -> HttpResponse:
    """Show the user's own account, and make tokens. The key of a new token is shown only here and once."""
    user = user_of(request)
    suggested = {"scopes": ["measure"], "laboratory": request.GET["measure"]} if "measure" in request.GET else None
    form = TokenForm(request.POST or None, user=user, initial=suggested)
    key, status = "", 200
    if request.method == "POST":
        if form.is_valid():
            data = form.cleaned_data
            _, key = tokens.make(
                *(user, data["name"], data["scopes"]),
                expires_at=form.expires_at,
                laboratory=data["laboratory"],
                actor=user,
            )
            form = TokenForm(user=user)
        else:
            status = 422
    context = {
        "form": form,
        "key": key,
        "tokens": ApiToken.objects.filter(user=user),
        "now": now(),
        "has_second_factor": second_factor.is_on(user),
        "is_joined": OidcIdentity.objects.filter(user=user).exists(),
        "roles": list(user.groups.order_by("name").values_list("name", flat=True)),
    }
    return render(request, "accounts/account.html", context, status=status)


@require_POST
@login_required
def revoke_token(request: HttpRequest, pk: int) -> HttpResponse:
    user = user_of(request)
    tokens.revoke(get_object_or_404(ApiToken, pk=pk, user=user), actor=user)
    return redirect("account")
