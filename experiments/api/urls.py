"""Addresses of the facts; kdb.api_urls puts them under /api/v1/."""

from django.urls import path
from rest_framework.routers import SimpleRouter

from . import views

router = SimpleRouter(use_regex_path=False)
router.register("hypervisors", views.HypervisorViewSet, "hypervisor")
router.register("file-systems", views.FileSystemViewSet, "file-system")
router.register("operating-systems", views.OperatingSystemViewSet, "operating-system")
router.register("benchmarks", views.BenchmarkViewSet, "benchmark")
router.register("workloads", views.WorkloadViewSet, "workload")
router.register("workload-variants", views.WorkloadVariantViewSet, "workload-variant")
router.register("components", views.ComponentViewSet, "component")
router.register("publications", views.PublicationViewSet, "publication")
router.register("servers", views.ServerViewSet, "server")
router.register("storage", views.StorageViewSet, "storage")
router.register("case-studies", views.CaseStudyViewSet, "case-study")
router.register("measurements", views.MeasurementViewSet, "measurement")
router.register("derived-values", views.DerivedValueViewSet, "derived-value")
router.register("findings", views.FindingViewSet, "finding")
router.register("revisions", views.RevisionViewSet, "revision")

urlpatterns = [
    *router.urls,
    path(
        "configurations/",
        views.ConfigurationViewSet.as_view({"get": "list"}, basename="configuration"),
        name="configuration-list",
    ),
    path(
        "configurations/<slug:case_study>/<slug:slug>/",
        views.ConfigurationViewSet.as_view({"get": "retrieve"}, basename="configuration", detail=True),
        name="configuration-detail",
    ),
]
