"""KDB's addresses with sign-in by OpenID Connect switched on, which is decided at the start of a process."""

from django.urls import include, path

from kdb.urls import handler400, handler403, handler404, handler500
from kdb.urls import urlpatterns as kdb_patterns

__all__ = ["handler400", "handler403", "handler404", "handler500", "urlpatterns"]
urlpatterns = [path("accounts/oidc/", include("kdb.oidc.urls")), *kdb_patterns]
