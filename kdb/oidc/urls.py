"""URLs of signing in by OpenID Connect, which kdb.accounts.urls includes where it is configured."""

from django.urls import path
from mozilla_django_oidc.views import OIDCAuthenticationRequestView

from kdb import oidc

urlpatterns = [
    path("", OIDCAuthenticationRequestView.as_view(), name="oidc_authentication_init"),
    path("callback/", oidc.CallbackView.as_view(), name="oidc_authentication_callback"),
    path("join/", oidc.join, name="oidc-join"),
]
