"""Views to sign in with a second factor, and to set one up."""

import time
from typing import Any

import segno
from axes.handlers.proxy import AxesProxyHandler
from django import forms
from django.contrib.auth import get_user_model, login, user_login_failed, views
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import AuthenticationForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render, resolve_url
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from kdb.accounts import login_limits, second_factor

_PENDING = "second_factor"  # in the session: whose password was right, by which backend, when, and the page to go to
_SECONDS = 600  # between password and second factor


class CodeForm(forms.Form):
    code = forms.CharField(
        max_length=40,
        label="Code of your app, or a recovery code",
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "autofocus": True}),
    )


class LoginView(views.LoginView):
    """Django's view, except that users with a second factor are asked for it before they are signed in."""

    template_name = "accounts/login.html"
    redirect_authenticated_user = True

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        user = form.get_user()
        if not second_factor.is_on(user):
            return super().form_valid(form)
        self.request.session.cycle_key()
        wanted = self.get_redirect_url()
        self.request.session[_PENDING] = {"user": user.pk, "backend": user.backend, "at": time.time(), "next": wanted}
        return redirect("second-factor")


class PasswordResetConfirmView(views.PasswordResetConfirmView):
    """Django's view for active accounts, which does not sign in a user with a second factor: mail is no second one."""

    def get_user(self, uidb64: str) -> Any:
        user = super().get_user(uidb64)
        return user if user and user.is_active else None

    def form_valid(self, form: Any) -> HttpResponse:
        self.post_reset_login = not second_factor.is_on(self.user)
        return super().form_valid(form)


@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def ask(request: HttpRequest) -> HttpResponse:
    """Ask for the second factor. A wrong code counts as a wrong password does (login_limits)."""
    pending = request.session.get(_PENDING)
    if not pending or pending["at"] < time.time() - _SECONDS:
        return redirect("login")
    user = get_user_model().objects.filter(pk=pending["user"], is_active=True).first()
    if user is None:
        return redirect("login")
    form = CodeForm(request.POST or None)
    if form.is_valid():
        credentials = {"username": user.get_username()}
        if not AxesProxyHandler.is_allowed(request, credentials):
            return login_limits.answer(request, None, credentials)
        if second_factor.verify(user, form.cleaned_data["code"]):
            del request.session[_PENDING]
            login(request, user, backend=pending["backend"])
            return HttpResponseRedirect(_safe(request, pending["next"]) or resolve_url("account"))
        user_login_failed.send(sender=__name__, credentials=credentials, request=request)
        form.add_error("code", "This is not the code now. Codes count once.")
    return render(request, "accounts/second_factor.html", {"form": form}, status=422 if form.is_bound else 200)


@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def set_up(request: HttpRequest) -> HttpResponse:
    """Show the secret of a new second factor, confirm it by a code, or remove it by a code."""
    is_on = second_factor.is_on(request.user)
    form = CodeForm(request.POST or None)
    codes: list[str] = []
    if form.is_valid():
        code, credentials = form.cleaned_data["code"], {"username": request.user.get_username()}
        if not AxesProxyHandler.is_allowed(request, credentials):
            return login_limits.answer(request, None, credentials)
        if is_on and second_factor.verify(request.user, code):
            second_factor.remove(request.user)
            return redirect("account")
        codes = [] if is_on else second_factor.confirm(request.user, code)
        if not codes:
            user_login_failed.send(sender=__name__, credentials=credentials, request=request)
            form.add_error("code", "This is not the code now. Codes count once.")
    context: dict[str, Any] = {"form": form, "is_on": is_on or bool(codes), "codes": codes}
    if not context["is_on"]:
        form.fields["code"].label = "Code of your app"
        factor = second_factor.begin(request.user)
        drawn = segno.make(second_factor.provisioning_uri(factor), micro=False)
        context |= {
            "image": drawn.svg_data_uri(scale=5, dark="#000", light="#fff"),
            "key": second_factor.typed_secret(factor),
        }
    return render(request, "accounts/second_factor_set_up.html", context, status=422 if form.errors else 200)


def _safe(request: HttpRequest, wanted: str) -> str:
    is_safe = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure())
    return wanted if is_safe else ""
