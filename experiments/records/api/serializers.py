"""The JSON of facts: full precision, the unit beside the number, null for what is missing.

Rows refer to each other by slug. What the source does not state is null, texts as well as numbers.
"""

from dataclasses import asdict
from typing import Any

from django.core.exceptions import FieldDoesNotExist
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from experiments import models
from experiments.records.checklist import protocol_of
from experiments.rules.protocol import Protocol
from kdb.api.shapes import shape_of
from kdb.disk_path import SETTINGS

# Kinds of fields


class Slug(serializers.SlugField):
    """The slug of another row, at `source`; with `allow_null`, null where there is none."""

    def __init__(self, source: str, **kwargs: Any) -> None:
        super().__init__(**{**kwargs, "source": source, "read_only": True})


class Texts(serializers.ListField):
    """A list of texts."""

    child = serializers.CharField()

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(read_only=True, **kwargs)


@extend_schema_field({"type": "array", "items": {"type": "string"}})
class Slugs(serializers.Field[Any, Any, list[str], Any]):
    """The slugs of several rows that the view has prefetched, in order."""

    def __init__(self, source: str | None = None) -> None:
        super().__init__(source=source, read_only=True)

    def to_representation(self, value: Any) -> list[str]:
        return sorted(row.slug for row in value.all())


class RetractedSlugs(Slugs):
    """The slugs of those among several case studies that no longer count: retracted, superseded or doubted."""

    def to_representation(self, value: Any) -> list[str]:
        return sorted(row.slug for row in value.all() if row.status in models.CaseStudy.ENDED)


@extend_schema_field(OpenApiTypes.BOOL)
class Retracted(serializers.Field[Any, Any, bool, models.CaseStudy]):
    """True where the case study at `source` no longer counts: it was retracted or superseded, or is doubted."""

    def __init__(self, source: str) -> None:
        super().__init__(source=source, read_only=True)

    def to_representation(self, value: models.CaseStudy) -> bool:
        return value.status in models.CaseStudy.ENDED


@extend_schema_field(OpenApiTypes.STR)
class Unit(serializers.Field[Any, Any, str, Any]):
    """A unit that is the same for every row."""

    def __init__(self, unit: str) -> None:
        super().__init__(source="*", read_only=True)
        self.unit = unit

    def to_representation(self, value: Any) -> str:
        return self.unit


@extend_schema_field(shape_of(Protocol)(allow_null=True))
class ProtocolField(serializers.Field[Any, Any, dict[str, Any] | None, models.CaseStudy]):
    """The protocol of a case study; null in lists, because it costs five queries."""

    def __init__(self) -> None:
        super().__init__(source="*", read_only=True)

    def to_representation(self, value: models.CaseStudy) -> dict[str, Any] | None:
        is_one = not isinstance(self.root, serializers.ListSerializer)
        return asdict(protocol_of(value)) if is_one else None


class ReadSerializer(serializers.ModelSerializer[Any]):
    """A row to read, in which empty texts are null like every other value that is not stated."""

    def get_extra_kwargs(self) -> dict[str, dict[str, Any]]:
        extra = super().get_extra_kwargs()
        model: Any = self.Meta.model  # each subclass has its own
        for name in self.Meta.fields:
            extra.setdefault(name, {})["read_only"] = True
            try:
                field = model._meta.get_field(name)
            except FieldDoesNotExist:
                continue
            if getattr(field, "blank", False):
                extra[name]["allow_null"] = True
        return extra

    def build_relational_field(self, field_name: str, relation_info: Any) -> Any:
        """Return a field for the slug of another row."""
        return Slug, {"source": f"{field_name}.slug"}

    def to_representation(self, instance: Any) -> dict[str, Any]:
        row = super().to_representation(instance)
        return {name: None if value == "" else value for name, value in row.items()}


# The catalogue


class CatalogueSerializer(ReadSerializer):
    aliases = Texts()


_NAMED = ("slug", "name", "aliases", "description", "source")


class HypervisorSerializer(CatalogueSerializer):
    class Meta:
        model = models.Hypervisor
        fields = (*_NAMED, "kind", "family", "vendor", "kernel_origin", "virtual_device_origin")


class HostStorageSerializer(CatalogueSerializer):
    class Meta:
        model = models.HostStorage
        fields = (*_NAMED, "kind", "reach", "family")


class MechanismSerializer(ReadSerializer):
    operation_name = serializers.CharField(source="get_operation_display", read_only=True)

    class Meta:
        model = models.MechanismCost
        fields = ("code", "operation", "operation_name", "mechanism", "source")


class FileSystemSerializer(CatalogueSerializer):
    mechanisms = MechanismSerializer(many=True, read_only=True)

    class Meta:
        model = models.FileSystem
        fields = (*_NAMED, "letter", "mechanisms")


class OperatingSystemSerializer(CatalogueSerializer):
    class Meta:
        model = models.OperatingSystem
        fields = (*_NAMED, "family", "version")


class BenchmarkSerializer(CatalogueSerializer):
    class Meta:
        model = models.Benchmark
        fields = (*_NAMED, "printed_unit")


class WorkloadSerializer(CatalogueSerializer):
    class Meta:
        model = models.Workload
        fields = (
            *_NAMED,
            *("random_reads", "sequential_reads", "random_writes", "sequential_writes", "metadata_operations"),
            *("writes", "data_flow", "operation_rate", "cache_impact"),
        )


class WorkloadVariantSerializer(ReadSerializer):
    parameters = serializers.DictField(read_only=True)

    class Meta:
        model = models.WorkloadVariant
        fields = ("id", "workload", "benchmark", "benchmark_version", "parameters")


class ComponentNameSerializer(ReadSerializer):
    class Meta:
        model = models.ComponentName
        fields = ("publication", "symbol", "position", "source")


class ComponentSerializer(ReadSerializer):
    names = ComponentNameSerializer(many=True, read_only=True)

    class Meta:
        model = models.ModelComponent
        fields = ("number", "slug", "name", "description", "names")


# Sources of evidence


class PublicationSerializer(ReadSerializer):
    authors = Texts()
    case_studies = Slugs()

    class Meta:
        model = models.Publication
        fields = (
            *("slug", "title", "authors", "venue", "year", "address", "doi", "made_on", "read_on"),
            *("archive_address", "is_reviewed", "note", "case_studies"),
        )


class ServerSerializer(ReadSerializer):
    class Meta:
        model = models.Server
        fields = ("slug", "model", "cpu", "sockets", "cores", "ram_gib", "ram_kind", "network")


class StorageSerializer(ReadSerializer):
    limits_unit = Unit("MB/s")

    class Meta:
        model = models.Storage
        fields = (
            *("slug", "server", "description", "kind", "controller", "raid", "sequential_read_limit"),
            *("sequential_write_limit", "interface_limit", "limits_unit", "source"),
        )


class EndingSerializer(ReadSerializer):
    """A case study, or numbers of it, that no longer count."""

    revision = serializers.IntegerField(source="revision_id", read_only=True)

    class Meta:
        model = models.Ending
        fields = ("revision", "kind", "case_study", "is_whole", "replaced_by", "reason")


class CaseStudySerializer(ReadSerializer):
    vm_counts = serializers.ListField(child=serializers.IntegerField(), read_only=True)
    notes = Texts()
    protocol = ProtocolField()
    published_revision = serializers.IntegerField(source="published_revision_id", read_only=True)
    retracted_revision = serializers.IntegerField(source="retracted_revision_id", read_only=True, allow_null=True)
    endings = EndingSerializer(many=True, read_only=True)

    class Meta:
        model = models.CaseStudy
        fields = (
            *("slug", "title", "status", "retraction_reason", "published_revision", "retracted_revision", "endings"),
            *("publication", "server", "storage", "laboratory", "research_group", "run_seconds", "repetitions"),
            *("warm_up_seconds", "quiet_host", "measured_year", "fits_cache", "vm_counts", "value_scope", "kit"),
            *("procedure", "notes", "protocol"),
        )


class ConfigurationSerializer(ReadSerializer):
    retracted = Retracted("case_study")
    native = serializers.BooleanField(source="is_native", read_only=True)
    host_storage = serializers.CharField(read_only=True, allow_null=True)
    pair = serializers.CharField(read_only=True, allow_null=True)

    class Meta:
        model = models.Configuration
        fields = (
            *("case_study", "slug", "retracted", "native", "pair", "hypervisor", "hypervisor_release"),
            *("virtualisation", "virtual_devices", "host_os", "host_kernel", "host_fs", "host_mkfs_options"),
            *("host_mount_options", "host_io_scheduler", "backend", "below", "host_storage", "storage_kind"),
            *(column for column in SETTINGS if column not in ("hypervisor_release", "host_kernel", "guest_kernel")),
            *("guest_os", "guest_kernel", "guest_fs", "guest_access", "guest_mkfs_options", "guest_mount_options"),
            *("guest_io_scheduler", "vm_vcpus", "vm_ram_gib", "vm_disk", "note"),
        )


class RevisionSerializer(ReadSerializer):
    published = Slugs("published_case_studies")
    retracted = Slugs("retracted_case_studies")
    ending = EndingSerializer(read_only=True, allow_null=True, default=None)

    class Meta:
        model = models.KnowledgeRevision
        fields = ("number", "action", "reason", "created_at", "published", "retracted", "ending")


# Numbers and statements

_COORDINATES = (
    *("id", "case_study", "configuration", "retracted", "hypervisor", "guest_fs", "host_fs", "workload", "variant"),
    *("benchmark", "benchmark_version", "operation", "block_size_bytes", "vm_count", "value_scope", "metric"),
)


class ObservationSerializer(ReadSerializer):
    """The coordinates of a number. `value_scope` is null where the source does not say what it is for."""

    case_study = Slug("configuration.case_study.slug")
    retracted = Retracted("configuration.case_study")
    hypervisor = Slug("configuration.hypervisor.slug", allow_null=True)
    guest_fs = Slug("configuration.guest_fs.slug", allow_null=True)
    host_fs = Slug("configuration.host_fs.slug", allow_null=True)
    workload = Slug("variant.workload.slug")
    variant = serializers.IntegerField(source="variant_id", read_only=True)
    benchmark = Slug("variant.benchmark.slug")
    benchmark_version = serializers.CharField(
        source="variant.benchmark_version", read_only=True, allow_null=True, help_text="Null: not stated."
    )
    value_scope = serializers.ChoiceField(
        choices=[(value, label) for value, label in models.CaseStudy.Scope.choices if value],
        source="configuration.case_study.value_scope",
        read_only=True,
        allow_null=True,
    )


class MeasurementSerializer(ObservationSerializer):
    """A measured value; queue_depth and jobs (threads, processes, clients) are null where the load states none."""

    queue_depth = serializers.IntegerField(source="variant.concurrency.depth", read_only=True, allow_null=True)
    jobs = serializers.IntegerField(source="variant.concurrency.jobs", read_only=True, allow_null=True)
    ended_revision = serializers.IntegerField(
        source="ending.revision_id",
        read_only=True,
        allow_null=True,
        default=None,
        help_text="Knowledge revision at which it was superseded or doubted; excluded_because says why.",
    )
    raw_file = serializers.IntegerField(
        source="raw_file_id", read_only=True, allow_null=True, help_text="The file it was read from, by id."
    )

    class Meta:
        model = models.Measurement
        fields = (
            *_COORDINATES,
            *("queue_depth", "jobs"),
            *("value", "unit", "alternative_value", "quality", "machine", "repetition", "repetitions"),
            *("standard_deviation", "minimum", "maximum", "reference", "excluded_because", "excluded_by"),
            *("ended_revision", "source", "raw_file", "line", "note"),
        )


class PrintedRatioSerializer(ReadSerializer):
    """A ratio of two hypervisors' speeds, as a text prints it; a numerator of null is native."""

    retracted = Retracted("case_study")
    workload = Slug("variant.workload.slug")
    variant = serializers.IntegerField(source="variant_id", read_only=True)
    vm_counts = serializers.ListField(child=serializers.IntegerField(), read_only=True)
    unit = Unit("ratio")

    class Meta:
        model = models.PrintedRatio
        fields = (
            *("id", "case_study", "retracted", "workload", "variant", "numerator", "denominator", "guest_fs"),
            *("vm_counts", "is_overall", "least", "least_rounding", "greatest", "greatest_rounding", "unit"),
            *("trend", "printed", "source", "note"),
        )


class DerivedValueSerializer(ObservationSerializer):
    class Meta:
        model = models.DerivedValue
        fields = (
            *_COORDINATES,
            *("value", "low", "high", "unit", "quantity", "is_evidence", "route", "formula", "source", "note"),
        )


class FindingSerializer(ReadSerializer):
    case_studies = Slugs()
    retracted_case_studies = RetractedSlugs("case_studies")
    workload = Slug("variant.workload.slug")
    variant = serializers.IntegerField(source="variant_id", read_only=True)
    benchmark = Slug("variant.benchmark.slug")
    is_contradictory = serializers.BooleanField(read_only=True)

    class Meta:
        model = models.OrdinalFinding
        fields = (
            *("id", "publication", "case_studies", "retracted_case_studies", "workload", "variant", "benchmark"),
            *("hypervisor", "guest_fs", "host_fs", "text_list", "is_outstanding", "text_source", "table_list"),
            *("table_source", "is_contradictory"),
        )
