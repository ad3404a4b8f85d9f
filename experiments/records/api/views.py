"""Read-only lists and objects of every kind of fact."""

from typing import Any

from django.db.models import F, Prefetch, Q, QuerySet
from django.db.models.expressions import Col
from django.db.models.lookups import GreaterThanOrEqual, LessThanOrEqual
from django.utils.cache import patch_cache_control
from django.utils.decorators import method_decorator
from django.views.decorators.http import conditional_page
from rest_framework.permissions import AllowAny
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ReadOnlyModelViewSet

from experiments import models
from experiments.records import visible
from kdb.api.errors import name_errors
from kdb.api.faults import FaultyRequest
from kdb.api.formats import FORMAT_PARAMETER, CsvRenderer
from kdb.api.pagination import PageByKey

from . import filters, serializers


@method_decorator(conditional_page, name="dispatch")
class FactViewSet(ReadOnlyModelViewSet[Any]):
    """One kind of fact. The entity tag is a digest of the response, so clients that have it get 304.

    Everybody sees the same, so requests are not authenticated, which saves queries.
    """

    authentication_classes = []
    permission_classes = [AllowAny]
    pagination_class = PageByKey
    filter_backends = [filters.StrictFilterBackend]
    lookup_field = "slug"
    lookup_value_converter = "slug"

    def get_object(self) -> Any:
        """Return one row by its name, unfiltered: filters are for lists."""
        if errors := name_errors(self.request.query_params, [FORMAT_PARAMETER]):
            raise FaultyRequest(errors)
        self.filter_backends = []
        return super().get_object()

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        response = super().finalize_response(request, response, *args, **kwargs)
        if response.status_code == 200:
            patch_cache_control(response, no_cache=True)
            if isinstance(request.accepted_renderer, CsvRenderer):
                response["Content-Disposition"] = f'attachment; filename="kdb-{self.basename}.csv"'
        return response


class TableViewSet(FactViewSet):
    """Facts that are flat enough to be a spreadsheet as well."""

    renderer_classes = [JSONRenderer, CsvRenderer]


class HypervisorViewSet(FactViewSet):
    """Hypervisor products, with what the papers say of their kind and their drivers."""

    queryset = visible.entries(models.Hypervisor)
    serializer_class = serializers.HypervisorSerializer
    filterset_class = filters.HypervisorFilters


class HostStorageViewSet(FactViewSet):
    """What disk images lie on besides directories on file systems: volumes, shared directories, pools."""

    queryset = visible.entries(models.HostStorage)
    serializer_class = serializers.HostStorageSerializer
    filterset_class = filters.HostStorageFilters


class FileSystemViewSet(FactViewSet):
    """File systems, with the mechanism behind each kind of operation (cost matrix C1.1-C3.7)."""

    queryset = visible.entries(models.FileSystem).prefetch_related("mechanisms")
    serializer_class = serializers.FileSystemSerializer


class OperatingSystemViewSet(FactViewSet):
    """Operating system releases, as guest or as host."""

    queryset = visible.entries(models.OperatingSystem)
    serializer_class = serializers.OperatingSystemSerializer
    filterset_class = filters.OperatingSystemFilters


class BenchmarkViewSet(FactViewSet):
    """Benchmark programs."""

    queryset = visible.entries(models.Benchmark)
    serializer_class = serializers.BenchmarkSerializer


class WorkloadViewSet(FactViewSet):
    """Workloads, with what the papers state about their access pattern."""

    queryset = visible.entries(models.Workload)
    serializer_class = serializers.WorkloadSerializer


class WorkloadVariantViewSet(FactViewSet):
    """Workloads as one version of one benchmark runs them with one set of parameters."""

    queryset = visible.workload_variants().select_related("workload", "benchmark")
    serializer_class = serializers.WorkloadVariantSerializer
    filterset_class = filters.WorkloadVariantFilters
    lookup_field = "pk"
    lookup_value_converter = "int"


class ComponentViewSet(FactViewSet):
    """The seven components of the model, with the name each paper gives them."""

    queryset = models.ModelComponent.objects.prefetch_related(
        Prefetch(
            "names",
            models.ComponentName.objects.filter(publication__in=visible.publications()).select_related("publication"),
        )
    )
    serializer_class = serializers.ComponentSerializer


class PublicationViewSet(FactViewSet):
    """Papers and reports that the evidence is cited from."""

    queryset = visible.publications().prefetch_related(Prefetch("case_studies", visible.case_studies()))
    serializer_class = serializers.PublicationSerializer


class ServerViewSet(FactViewSet):
    """Machines that were measured."""

    queryset = visible.servers()
    serializer_class = serializers.ServerSerializer


class StorageViewSet(FactViewSet):
    """Disks that were measured, with their physical limits."""

    queryset = visible.storage().select_related("server")
    serializer_class = serializers.StorageSerializer
    filterset_class = filters.StorageFilters


class CaseStudyViewSet(FactViewSet):
    """Case studies: one laboratory, one server, one protocol. Those that no longer count stay, with the reason."""

    queryset = (
        visible.case_studies()
        .select_related("publication", "server", "storage")
        .prefetch_related(Prefetch("endings", models.Ending.objects.select_related("case_study", "replaced_by")))
    )
    serializer_class = serializers.CaseStudySerializer
    filterset_class = filters.CaseStudyFilters


class ConfigurationViewSet(TableViewSet):
    """Everything between benchmark and disk, as one case study had it."""

    queryset = visible.configurations().select_related(
        "case_study", "hypervisor", "host_os", "host_fs", "guest_os", "guest_fs"
    )
    serializer_class = serializers.ConfigurationSerializer
    filterset_class = filters.ConfigurationFilters

    def get_queryset(self) -> QuerySet[models.Configuration]:
        """Return the configurations of the case study that the address names: a slug is unique inside it."""
        queryset = super().get_queryset()
        case_study = self.kwargs.get("case_study")
        return queryset.filter(case_study__slug=case_study) if case_study else queryset


# A page of rows has few configurations and variants: prefetched, each is read once, not joined to every row.
_OBSERVATION_PREFETCHES = (
    Prefetch(
        "configuration", models.Configuration.objects.select_related("case_study", "hypervisor", "guest_fs", "host_fs")
    ),
    "variant__workload",
    "variant__benchmark",
)


class PageByConfiguration(PageByKey):
    """Pages of rows in the order of configurations, which an index gives also under a filter by configuration."""

    key = ("configuration_id", "pk")

    def beyond(self, queryset: QuerySet[Any], place: list[int], is_backwards: bool) -> QuerySet[Any]:
        configuration, row = place
        until = "gte" if is_backwards else "lte"
        compare = LessThanOrEqual if is_backwards else GreaterThanOrEqual
        # Compare the joined table, too: PostgreSQL derives equalities across a join, but no inequalities.
        begun = [compare(F("configuration_id"), configuration)]
        if queryset.query.alias_refcount.get(models.Configuration._meta.db_table):  # it is joined
            begun.append(
                compare(Col(models.Configuration._meta.db_table, models.Configuration._meta.pk), configuration)
            )
        return queryset.filter(*begun).exclude(Q(("configuration_id", configuration), (f"pk__{until}", row)))


class MeasurementViewSet(TableViewSet):
    """Numbers that a benchmark or a paper's table reports, each with its unit and its place in the source."""

    queryset = visible.measurements().prefetch_related(*_OBSERVATION_PREFETCHES, "ending")
    serializer_class = serializers.MeasurementSerializer
    pagination_class = PageByConfiguration
    filterset_class = filters.MeasurementFilters
    lookup_field = "pk"
    lookup_value_converter = "int"


class DerivedValueViewSet(TableViewSet):
    """Numbers that follow from a paper's text by arithmetic, each with its formula and interval."""

    queryset = visible.derived_values().prefetch_related(*_OBSERVATION_PREFETCHES)
    serializer_class = serializers.DerivedValueSerializer
    pagination_class = PageByConfiguration
    filterset_class = filters.DerivedValueFilters
    lookup_field = "pk"
    lookup_value_converter = "int"


class PrintedRatioViewSet(TableViewSet):
    """Ratios of two hypervisors that a text prints without the numbers behind them."""

    queryset = visible.printed_ratios().select_related(
        "case_study", "variant__workload", "numerator", "denominator", "guest_fs"
    )
    serializer_class = serializers.PrintedRatioSerializer
    filterset_class = filters.PrintedRatioFilters
    lookup_field = "pk"
    lookup_value_converter = "int"


_VISIBLE_CASE_STUDIES = Prefetch("case_studies", visible.case_studies())


class FindingViewSet(TableViewSet):
    """Pairs that a publication puts on its best or worst list, without a number."""

    queryset = (
        visible.findings()
        .select_related("publication", "variant__workload", "variant__benchmark", "hypervisor", "guest_fs", "host_fs")
        .prefetch_related(_VISIBLE_CASE_STUDIES)
    )
    serializer_class = serializers.FindingSerializer
    filterset_class = filters.FindingFilters
    lookup_field = "pk"
    lookup_value_converter = "int"


class RevisionViewSet(FactViewSet):
    """Changes of the knowledge with day and reason: published, retracted, superseded, doubted."""

    queryset = models.KnowledgeRevision.objects.select_related(
        "ending__case_study", "ending__replaced_by"
    ).prefetch_related(
        Prefetch("published_case_studies", visible.case_studies()),
        Prefetch("retracted_case_studies", visible.case_studies()),
    )
    serializer_class = serializers.RevisionSerializer
    filterset_class = filters.RevisionFilters
    lookup_field = "number"
    lookup_value_converter = "int"
