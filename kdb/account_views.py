"""Signing in, and one's own account with its API tokens. The rest is Django's."""

from django.contrib.auth import views
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from kdb import throttle, tokens
from kdb.account_forms import TokenForm
from kdb.models import ApiToken


class LoginView(views.LoginView):
    """Django's, for those who do not guess."""

    template_name = "accounts/login.html"
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        name = request.POST.get("username", "")[:150]
        if wait := throttle.wait_seconds(request, name):
            context = self.get_context_data(form=self.form_class(request), wait_minutes=-(-wait // 60))
            response = self.render_to_response(context, status=429)
            response["Retry-After"] = wait
            return response
        response = super().post(request, *args, **kwargs)
        if request.user.is_authenticated:
            throttle.forget(request, name)
        else:
            throttle.note_failure(request, name)
        return response


@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def account(request: HttpRequest) -> HttpResponse:
    """One's own account. A new token's key is shown here, this once."""
    form = TokenForm(request.POST or None, user=request.user)
    key, status = "", 200
    if request.method == "POST":
        if form.is_valid():
            said = form.cleaned_data
            _, key = tokens.make(request.user, said["name"], said["scopes"], expires_at=form.expires_at)
            form = TokenForm(user=request.user)
        else:
            status = 422
    context = {
        "form": form,
        "key": key,
        "tokens": ApiToken.objects.filter(user=request.user),
        "roles": list(request.user.groups.order_by("name").values_list("name", flat=True)),
    }
    return render(request, "accounts/account.html", context, status=status)


@require_POST
@login_required
def revoke_token(request: HttpRequest, pk: int) -> HttpResponse:
    tokens.revoke(get_object_or_404(ApiToken, pk=pk, user=request.user))
    return redirect("account")
