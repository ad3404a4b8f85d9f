"""All URLs: pages at the root, the API under /api/v1/."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from kdb.operations import health
from kdb.operations.metrics import MetricsView

urlpatterns = [
    path("healthz", health.alive, name="alive"),
    path("metrics", MetricsView.as_view(), name="metrics"),
    path("accounts/notifications/", include("kdb.notifications.urls")),
    path("accounts/", include("kdb.accounts.urls")),
    # Django's own form would bypass the limits of login_limits.
    path("admin/login/", RedirectView.as_view(pattern_name="login", query_string=True)),
    path("admin/", admin.site.urls),
    path("api/v1/", include("kdb.api.urls")),
    path("", include("modelling.urls")),
    path("", include("experiments.urls")),
]

# Pages answer errors with a page, the API with problem details.
handler400 = "kdb.api.errors.bad_request"
handler403 = "kdb.api.errors.permission_denied"
handler404 = "kdb.api.errors.page_not_found"
handler500 = "kdb.api.errors.server_error"
