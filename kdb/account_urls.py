"""Addresses of accounts."""

from django.contrib.auth import views
from django.urls import path, reverse_lazy

from kdb import account_views

_PAGES = "accounts/"

urlpatterns = [
    path("", account_views.account, name="account"),
    path("tokens/<int:pk>/revoke/", account_views.revoke_token, name="revoke-token"),
    path("login/", account_views.LoginView.as_view(), name="login"),
    path("logout/", views.LogoutView.as_view(), name="logout"),
    path(
        "password/",
        views.PasswordChangeView.as_view(
            template_name=f"{_PAGES}password_change.html", success_url=reverse_lazy("account")
        ),
        name="password_change",
    ),
    path(
        "reset/",
        views.PasswordResetView.as_view(
            template_name=f"{_PAGES}password_reset.html",
            email_template_name=f"{_PAGES}password_reset_email.txt",
            subject_template_name=f"{_PAGES}password_reset_subject.txt",
        ),
        name="password_reset",
    ),
    path(
        "reset/sent/",
        views.PasswordResetDoneView.as_view(template_name=f"{_PAGES}password_reset_sent.html"),
        name="password_reset_done",
    ),
    path(
        "reset/<uidb64>/<token>/",
        views.PasswordResetConfirmView.as_view(
            template_name=f"{_PAGES}password_reset_confirm.html", success_url=reverse_lazy("login")
        ),
        name="password_reset_confirm",
    ),
]
