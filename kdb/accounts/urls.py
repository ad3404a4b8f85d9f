"""URLs of accounts."""

from django.conf import settings
from django.contrib.auth import views as django_views
from django.db import transaction
from django.urls import URLPattern, URLResolver, include, path, reverse_lazy

from kdb.accounts import second_factor_views, views

_PAGES = "accounts/"
# Views that set a password are atomic, because a new password also revokes the tokens.

urlpatterns: list[URLPattern | URLResolver] = [
    path("", views.account, name="account"),
    path("tokens/<int:pk>/revoke/", views.revoke_token, name="revoke-token"),
    path("login/", second_factor_views.LoginView.as_view(), name="login"),
    path("login/second/", second_factor_views.ask, name="second-factor"),
    path("second-factor/", second_factor_views.set_up, name="set-up-second-factor"),
    path("logout/", django_views.LogoutView.as_view(), name="logout"),
    path(
        "password/",
        transaction.atomic(
            django_views.PasswordChangeView.as_view(
                template_name=f"{_PAGES}password_change.html", success_url=reverse_lazy("account")
            )
        ),
        name="password_change",
    ),
    path("reset/", views.PasswordResetView.as_view(), name="password_reset"),
    path(
        "reset/sent/",
        django_views.PasswordResetDoneView.as_view(template_name=f"{_PAGES}password_reset_sent.html"),
        name="password_reset_done",
    ),
    path(
        "reset/<uidb64>/<token>/",
        transaction.atomic(
            second_factor_views.PasswordResetConfirmView.as_view(
                template_name=f"{_PAGES}password_reset_confirm.html",
                success_url=reverse_lazy("account"),
                post_reset_login=True,  # the owner of the mailbox gets in, even while login_limits locks the name
                post_reset_login_backend="django.contrib.auth.backends.ModelBackend",
            )
        ),
        name="password_reset_confirm",
    ),
]
if settings.KDB_OIDC_ISSUER:
    urlpatterns += [path("oidc/", include("kdb.oidc.urls"))]
