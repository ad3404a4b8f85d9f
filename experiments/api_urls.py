"""URLs of the API of evidence, drafts and the laboratory; kdb.api.urls puts them under /api/v1/."""

from django.urls import path
from rest_framework.routers import SimpleRouter

from .campaigns import api as laboratory
from .case_studies import api as drafts
from .catalogue import api as catalogue
from .catalogue.search import api as search
from .fleet import api as observation
from .imports import api as imports
from .imports.tables import api as tables
from .records.api import views
from .runner import api as runner

router = SimpleRouter(use_regex_path=False)
router.register("hypervisors", views.HypervisorViewSet, "hypervisor")
router.register("host-storages", views.HostStorageViewSet, "host-storage")
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
router.register("printed-ratios", views.PrintedRatioViewSet, "printed-ratio")
router.register("findings", views.FindingViewSet, "finding")
router.register("raw-files", imports.RawFileViewSet, "raw-file")
router.register("revisions", views.RevisionViewSet, "revision")

# What anonymous clients may not read.
private_router = SimpleRouter(use_regex_path=False)
private_router.register("drafts", drafts.DraftViewSet, "draft")
private_router.register("imports", imports.ImportViewSet, "import")
private_router.register("hosts", laboratory.HostViewSet, "host")
private_router.register("campaigns", laboratory.CampaignViewSet, "campaign")
private_router.register("observed-hosts", observation.ObservedHostViewSet, "observed-host")
private_router.register("observed-pools", observation.ObservedPoolViewSet, "observed-pool")
private_router.register("observed-machines", observation.ObservedMachineViewSet, "observed-machine")

urlpatterns = [
    path("abilities/", catalogue.AbilitiesView.as_view(), name="abilities"),
    path("search/", search.SearchView.as_view(), name="search"),
    *router.urls,
    *private_router.urls,
    path(
        "freeze/",
        laboratory.FreezeViewSet.as_view({"get": "retrieve", "put": "update", "delete": "destroy"}),
        name="freeze",
    ),
    path("runner/scripts/", runner.ScriptsView.as_view(), name="runner-scripts"),
    path("runner/lease/", runner.LeaseView.as_view(), name="runner-lease"),
    path("runner/answer/", runner.AnswerView.as_view(), name="runner-answer"),
    path(
        "case-studies/<slug:slug>/retract/",
        drafts.RetractionViewSet.as_view({"post": "retract"}),
        name="case-study-retract",
    ),
    path(
        "case-studies/<slug:slug>/end/",
        drafts.EndingViewSet.as_view({"post": "end"}),
        name="case-study-end",
    ),
    path(
        "drafts/<slug:slug>/measurements/",
        imports.BulkViewSet.as_view({"post": "create"}),
        name="draft-measurements",
    ),
    path(
        "published-tables/",
        tables.PublishedTableViewSet.as_view({"post": "create"}),
        name="published-table-list",
    ),
    path(
        "raw-files/<int:pk>/content/",
        imports.RawContentView.as_view({"get": "content"}),
        name="raw-file-content",
    ),
    path(
        "campaign-outputs/<int:pk>/content/",
        laboratory.ArtifactViewSet.as_view({"get": "content"}),
        name="campaign-output-content",
    ),
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
