"""The administration site, where the catalogue can be edited and evidence only be read."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from kdb.admin import ReadOnlyAdmin
from kdb.models import Job

from .models import (
    AuditEntry,
    Benchmark,
    CaseStudy,
    Claim,
    Configuration,
    Contributor,
    DerivedValue,
    FileSystem,
    HostStorage,
    Hypervisor,
    KnowledgeRevision,
    Measurement,
    OperatingSystem,
    OrdinalFinding,
    PrivateKey,
    Publication,
    Server,
    Storage,
    Workload,
    WorkloadVariant,
)

admin.site.site_header = "KDB administration"
admin.site.site_title = "KDB"


@admin.register(Hypervisor, HostStorage, FileSystem, OperatingSystem, Benchmark, Workload)
class CatalogueAdmin(admin.ModelAdmin):
    list_display = ("name", "slug", "source", "is_draft")
    search_fields = ("name", "slug")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """Return the slug as read-only for existing rows, because cited URLs and cached answers contain it."""
        return ("slug",) if obj else ()


@admin.register(Contributor)
class ContributorAdmin(admin.ModelAdmin):
    list_display = ("slug", "name", "user")
    readonly_fields = ("slug", "user")


@admin.register(PrivateKey)
class PrivateKeyAdmin(admin.ModelAdmin):
    """The page on which an administrator gives a key to another operator."""

    list_display = ("__str__", "owner")


@admin.register(Publication)
class PublicationAdmin(admin.ModelAdmin):
    list_display = ("slug", "title", "year", "is_draft")
    search_fields = ("title",)


@admin.register(Server, Storage)
class TestbedAdmin(admin.ModelAdmin):
    list_display = ("slug", "__str__")


@admin.register(CaseStudy)
class CaseStudyAdmin(ReadOnlyAdmin):
    """Read-only: its status changes only through experiments.case_studies.lifecycle, with a revision."""

    list_display = ("slug", "title", "status", "laboratory", "research_group", "published_revision")
    list_filter = ("status",)
    list_select_related = ("published_revision",)


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin):
    """The audit trail of all case studies, newest first."""

    list_display = ("at", "actor", "action", "case_study", "deleted_case_study", "detail")
    list_filter = ("action", "at", ("actor", admin.RelatedOnlyFieldListFilter))
    list_select_related = ("actor", "case_study")
    search_fields = ("case_study__slug", "deleted_case_study", "detail", "actor__username")
    search_help_text = "A case study, a person, or a word of the detail."
    date_hierarchy = "at"
    ordering = ("-pk",)
    show_full_result_count = False


@admin.register(Configuration)
class ConfigurationAdmin(ReadOnlyAdmin):
    list_display = ("slug", "case_study", "hypervisor", "guest_fs", "host_fs")
    list_filter = ("case_study", "hypervisor")
    list_select_related = ("case_study", "hypervisor", "guest_fs", "host_fs")


class ObservationAdmin(ReadOnlyAdmin):
    """A list without a total, which would count every row."""

    show_full_result_count = False
    list_filter = ("configuration__case_study",)
    list_select_related = (
        "configuration__hypervisor",
        "configuration__guest_fs",
        "configuration__host_fs",
        "variant__workload",
        "variant__benchmark",
    )


@admin.register(Measurement)
class MeasurementAdmin(ObservationAdmin):
    list_display = ("configuration", "variant", "operation", "vm_count", "value", "unit", "quality", "source")


@admin.register(DerivedValue)
class DerivedValueAdmin(ObservationAdmin):
    list_display = ("configuration", "variant", "vm_count", "value", "low", "high", "unit", "route", "is_evidence")


@admin.register(OrdinalFinding)
class OrdinalFindingAdmin(ReadOnlyAdmin):
    list_display = ("__str__", "publication", "variant", "text_list", "is_outstanding", "table_list")
    list_select_related = ("publication", "variant__workload", "variant__benchmark", "guest_fs", "host_fs")


@admin.register(Claim)
class ClaimAdmin(ReadOnlyAdmin):
    list_display = ("code", "publication", "kind", "location")
    list_filter = ("kind",)
    list_select_related = ("publication",)


@admin.register(WorkloadVariant)
class WorkloadVariantAdmin(ReadOnlyAdmin):
    list_display = ("__str__", "parameters")
    list_select_related = ("workload", "benchmark")


@admin.register(KnowledgeRevision)
class KnowledgeRevisionAdmin(ReadOnlyAdmin):
    list_display = ("number", "action", "reason", "created_at")


@admin.register(Job)
class JobAdmin(ReadOnlyAdmin):
    list_display = ("kind", "state", "attempt", "progress", "total", "created_at", "finished_at")
    list_filter = ("state", "kind")
