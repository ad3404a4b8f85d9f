"""Addresses of what is inferred; kdb.api.urls puts them under /api/v1/."""

from django.urls import path
from rest_framework.routers import SimpleRouter

from modelling.answer_pages.explanations.api import ExplanationView
from modelling.answer_store.previews.api import EffectsView, PreviewView
from modelling.ask.advice.api import AdviceView
from modelling.ask.api import AskView
from modelling.claims.api import ClaimViewSet, HypothesesView
from modelling.guidance.api import GuidanceViewSet
from modelling.own_lab.kits.api import KitListView, KitView
from modelling.prediction.validation.api import ModelQualityView

from .answer_pages import api as views
from .answer_store.subscriptions.api import FollowedQuestionViewSet
from .fleet.detection.api import DetectedMixViewSet, DetectionModelViewSet
from .fleet.moving import api as moving
from .own_lab.api import LaboratoryViewSet, SittingViewSet
from .own_lab.changes.api import SeriesChangeViewSet, SeriesViewSet

private_router = SimpleRouter(use_regex_path=False)
private_router.register("placement/plans", moving.PlanViewSet, "placement-plan")
private_router.register("placement/moves", moving.MoveViewSet, "placement-move")
private_router.register("followed-questions", FollowedQuestionViewSet, "followed-question")
private_router.register("laboratories", LaboratoryViewSet, "laboratory")
private_router.register("sittings", SittingViewSet, "sitting")
private_router.register("series-changes", SeriesChangeViewSet, "series-change")

urlpatterns = [
    *private_router.urls,
    path(
        "laboratories/<slug:slug>/series/",
        SeriesViewSet.as_view({"get": "index", "post": "add_night"}),
        name="series-list",
    ),
    path(
        "laboratories/<slug:slug>/series/<slug:key>/",
        SeriesViewSet.as_view({"get": "retrieve"}, detail=True),
        name="series-detail",
    ),
    path(
        "placement/policies/<slug:slug>/",
        moving.HostPolicyViewSet.as_view({"get": "retrieve", "put": "update"}),
        name="placement-policy",
    ),
    path("placement/mixes/<int:pk>/", moving.StatedMixViewSet.as_view({"put": "update"}), name="placement-mix"),
    path("audit-trail/", moving.TrailViewSet.as_view({"get": "list"}), name="audit-trail"),
    path("placement/outcomes/", moving.ScoreView.as_view(), name="placement-outcomes"),
    path("rankings/", views.AxisListView.as_view(), name="axes"),
    path("rankings/<slug:axis>/", views.RankingView.as_view(), name="ranking"),
    path("overview/", views.OverviewView.as_view(), name="overview"),
    path("ask/", AskView.as_view(), name="ask"),
    path("mixes/", views.MixView.as_view(), name="mix"),
    path("heat-maps/", views.HeatMapView.as_view(), name="heat-map"),
    path("explanations/", ExplanationView.as_view(), name="explanation"),
    path("comparisons/", views.ComparisonView.as_view(), name="comparison"),
    path("advice/", AdviceView.as_view(), name="advice"),
    path("drafts/<slug:slug>/preview/", PreviewView.as_view(), name="publication-preview"),
    path("revisions/<int:number>/effects/", EffectsView.as_view(), name="revision-effects"),
    path("model-quality/", ModelQualityView.as_view(), name="model-quality"),
    path("claims/", ClaimViewSet.as_view({"get": "list"}, basename="claim"), name="claim-list"),
    path(
        "claims/<slug:id>/",
        ClaimViewSet.as_view({"get": "retrieve"}, basename="claim", detail=True),
        name="claim-detail",
    ),
    path("guidance/", GuidanceViewSet.as_view({"get": "list"}, basename="guidance"), name="guidance-list"),
    path(
        "guidance/<slug:code>/",
        GuidanceViewSet.as_view({"get": "retrieve"}, basename="guidance", detail=True),
        name="guidance-detail",
    ),
    path("kits/", KitListView.as_view(), name="kit-list"),
    path("kits/<slug:slug>/", KitView.as_view(), name="kit-detail"),
    path("hypotheses/", HypothesesView.as_view(), name="hypotheses"),
    path(
        "observed-machines/<int:pk>/mix/",
        DetectedMixViewSet.as_view({"get": "retrieve"}, basename="observed-machine-mix", detail=True),
        name="observed-machine-mix",
    ),
    path("detection-model/", DetectionModelViewSet.as_view({"get": "retrieve"}), name="detection-model"),
    path("status/", views.StatusView.as_view(), name="status"),
]
