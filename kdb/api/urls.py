"""URLs under /api/v1/. The namespace is the version."""

from django.urls import include, path
from rest_framework.routers import SimpleRouter

from experiments.api_urls import router
from kdb.notifications.api import NotificationViewSet

from .views import DocsView, IndexView, SchemaView

app_name = "v1"

private_router = SimpleRouter(use_regex_path=False)
private_router.register("notifications", NotificationViewSet, "notification")

endpoints = {
    "rankings": "axes",
    **{prefix: f"{basename}-list" for prefix, _, basename in router.registry},
    "configurations": "configuration-list",
    "claims": "claim-list",
    "drafts": "draft-list",
    "imports": "import-list",
    "hosts": "host-list",
    "campaigns": "campaign-list",
    "observed-hosts": "observed-host-list",
    "observed-pools": "observed-pool-list",
    "observed-machines": "observed-machine-list",
    "detection-model": "detection-model",
    "placement-plans": "placement-plan-list",
    "placement-moves": "placement-move-list",
    "placement-outcomes": "placement-outcomes",
    "notifications": "notification-list",
    "followed-questions": "followed-question-list",
    "guidance": "guidance-list",
    "hypotheses": "hypotheses",
    "model-quality": "model-quality",
    "heat-maps": "heat-map",
    "mixes": "mix",
    "explanations": "explanation",
    "comparisons": "comparison",
    "advice": "advice",
    "ask": "ask",
    "search": "search",
    "status": "status",
    "schema": "schema",
    "docs": "docs",
}

urlpatterns = [
    path("", IndexView.as_view(endpoints=endpoints), name="index"),
    *private_router.urls,
    path("", include("modelling.api_urls")),
    path("", include("experiments.api_urls")),
    path("schema/", SchemaView.as_view(), name="schema"),
    path("docs/", DocsView.as_view(), name="docs"),
]
