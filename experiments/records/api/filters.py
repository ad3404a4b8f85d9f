"""The filters of the API's lists: `?case_study=p1&workload=mail&hypervisor=kvm`.

A name or a value that is not known is an error, never an empty list: a misspelt filter must not
look like missing evidence.
"""

from collections.abc import Callable
from typing import Any

import django_filters
from django import forms
from django.db.models import Exists, OuterRef, Q, QuerySet
from django_filters.rest_framework import DjangoFilterBackend
from drf_spectacular.utils import extend_schema_field
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request

from experiments import models
from experiments.records import visible
from experiments.rules import entry_names
from kdb.api.errors import form_errors, name_errors
from kdb.api.faults import FaultyRequest
from kdb.api.formats import FORMAT_PARAMETER
from kdb.api.pagination import PageByKey
from kdb.units import METRICS


class StrictFilterBackend(DjangoFilterBackend):
    """A filter backend that answers unknown parameters and values with errors."""

    def filter_queryset(self, request: Request, queryset: QuerySet[Any], view: GenericAPIView[Any]) -> QuerySet[Any]:
        filterset = self.get_filterset(request, queryset, view)
        assert isinstance(view.paginator, PageByKey)  # the pagination of all lists here
        names = [*(filterset.filters if filterset else ()), *view.paginator.parameters, FORMAT_PARAMETER]
        errors = name_errors(request.query_params, names)
        if filterset and not filterset.is_valid():
            errors += form_errors(filterset.form)
        if errors:
            raise FaultyRequest(errors)
        return filterset.qs if filterset else queryset


class CatalogueField(forms.CharField):
    """A slug of the catalogue; names and aliases are accepted as imports accept them, and become the slug."""

    def __init__(self, *, model: type, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.model = model

    @property
    def allowed(self) -> list[str]:
        return [*visible.entries(self.model).order_by("slug").values_list("slug", flat=True)]

    def clean(self, value: Any) -> str:
        name = super().clean(value)
        if not name:
            return ""
        known = entry_names.spellings(visible.entries(self.model).values_list("slug", "name", "aliases"))
        if slug := known.get(entry_names.fold(name)):
            return slug
        raise forms.ValidationError(
            "%(value)r is not known here; allowed are %(allowed)s.",
            code="unknown",
            params={"value": name, "allowed": ", ".join(self.allowed)},
        )


class VisibleField(forms.CharField):
    """A slug among the rows every reader may see. A draft's is as unknown as one that was never used."""

    def __init__(self, *, rows: Callable[[], QuerySet[Any]], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rows = rows

    def clean(self, value: Any) -> str:
        slug = super().clean(value)
        if slug and not self.rows().filter(slug=slug).exists():
            raise forms.ValidationError("%(value)r is not known here.", code="unknown", params={"value": slug})
        return slug


class CatalogueFilter(django_filters.CharFilter):
    """Filters by primary key, for which PostgreSQL has statistics, which it has not for a join by slug."""

    field_class = CatalogueField

    def filter(self, queryset: QuerySet[Any], value: str) -> QuerySet[Any]:
        if not value:
            return queryset
        return queryset.filter(**{self.field_name: self.extra["model"]._default_manager.get(slug=value).pk})


class VariantFilter(CatalogueFilter):
    """Filters rows with a variant by the primary keys of the entry's variants."""

    def filter(self, queryset: QuerySet[Any], value: str) -> QuerySet[Any]:
        if not value:
            return queryset
        variants = models.WorkloadVariant.objects.filter(**{f"{self.field_name}__slug": value})
        return queryset.filter(variant__in=list(variants.values_list("pk", flat=True)))


class VisibleFilter(django_filters.CharFilter):
    field_class = VisibleField


class CaseStudyFilter(VisibleFilter):
    """Filters by primary key, as CatalogueFilter does."""

    def filter(self, queryset: QuerySet[Any], value: str) -> QuerySet[Any]:
        return queryset.filter(**{self.field_name: models.CaseStudy.objects.get(slug=value).pk}) if value else queryset


class IntegerFilter(django_filters.NumberFilter):
    field_class = forms.IntegerField

    def get_max_validator(self) -> None:
        """Return no limit of django-filter's own: the database's integers have theirs."""


class YesNoFilter(django_filters.ChoiceFilter):
    """`true` or `false`, and nothing else."""

    def __init__(self, condition: Q, help_text: str) -> None:
        super().__init__(choices=[("true", "true"), ("false", "false")], help_text=help_text)
        self.condition = condition
        extend_schema_field({"type": "boolean", "description": help_text})(self)

    def filter(self, queryset: QuerySet[Any], value: str) -> QuerySet[Any]:
        if not value:
            return queryset
        return queryset.filter(self.condition if value == "true" else ~self.condition)


def _catalogue(model: type, path: str, help_text: str) -> CatalogueFilter:
    return CatalogueFilter(field_name=path, model=model, help_text=f"{help_text}, by slug, name or alias.")


def _variant(model: type, path: str, help_text: str) -> VariantFilter:
    return VariantFilter(field_name=path, model=model, help_text=f"{help_text}, by slug, name or alias.")


def _case_study(path: str) -> CaseStudyFilter:
    return CaseStudyFilter(field_name=path, rows=visible.case_studies, help_text="Case study, by slug.")


def _publication(path: str = "publication") -> VisibleFilter:
    return VisibleFilter(field_name=f"{path}__slug", rows=visible.publications, help_text="Publication, by slug.")


class HypervisorFilters(django_filters.FilterSet):
    kind = django_filters.ChoiceFilter(choices=models.Hypervisor.Kind.choices)
    family = django_filters.CharFilter(help_text="A word that alike entries share.")


class HostStorageFilters(django_filters.FilterSet):
    kind = django_filters.ChoiceFilter(choices=models.HostStorage.Kind.choices)
    reach = django_filters.ChoiceFilter(choices=models.HostStorage.Reach.choices)
    family = django_filters.CharFilter(help_text="A word that alike entries share.")


class OperatingSystemFilters(django_filters.FilterSet):
    family = django_filters.ChoiceFilter(choices=models.OperatingSystem.Family.choices)


class WorkloadVariantFilters(django_filters.FilterSet):
    workload = _catalogue(models.Workload, "workload", "Workload")
    benchmark = _catalogue(models.Benchmark, "benchmark", "Benchmark")


class StorageFilters(django_filters.FilterSet):
    server = VisibleFilter(field_name="server__slug", rows=visible.servers, help_text="Server, by slug.")
    kind = django_filters.ChoiceFilter(choices=[choice for choice in models.Storage.Kind.choices if choice[0]])


_ENDED = "Of a case study that was retracted or superseded, or is doubted."


class CaseStudyFilters(django_filters.FilterSet):
    publication = _publication()
    hypervisor = CatalogueFilter(
        method="with_hypervisor",
        model=models.Hypervisor,
        help_text="Hypervisor of one of its configurations, by slug, name or alias.",
    )
    status = django_filters.ChoiceFilter(choices=[(status.value, status.label) for status in models.CaseStudy.VISIBLE])

    def with_hypervisor(
        self, case_studies: QuerySet[models.CaseStudy], name: str, value: str
    ) -> QuerySet[models.CaseStudy]:
        hypervisor = models.Hypervisor.objects.get(slug=value)
        return case_studies.filter(
            Exists(models.Configuration.objects.filter(case_study=OuterRef("pk"), hypervisor=hypervisor))
        )


class ConfigurationFilters(django_filters.FilterSet):
    case_study = _case_study("case_study")
    hypervisor = _catalogue(models.Hypervisor, "hypervisor", "Hypervisor")
    guest_fs = _catalogue(models.FileSystem, "guest_fs", "Guest file system")
    host_fs = _catalogue(models.FileSystem, "host_fs", "Host file system")
    backend = django_filters.CharFilter(help_text="What the disk images lie on: file, or another slug of host storage.")
    native = YesNoFilter(Q(hypervisor__isnull=True), help_text="Without hypervisor and guest.")
    retracted = YesNoFilter(Q(case_study__status__in=models.CaseStudy.ENDED), help_text=_ENDED)


class ObservationFilters(django_filters.FilterSet):
    """The filters of measured and derived values."""

    case_study = _case_study("configuration__case_study")
    configuration = VisibleFilter(
        field_name="configuration__slug",
        rows=visible.configurations,
        help_text="Configuration, by its slug inside the case study.",
    )
    hypervisor = _catalogue(models.Hypervisor, "configuration__hypervisor", "Hypervisor")
    guest_fs = _catalogue(models.FileSystem, "configuration__guest_fs", "Guest file system")
    host_fs = _catalogue(models.FileSystem, "configuration__host_fs", "Host file system")
    native = YesNoFilter(Q(configuration__hypervisor__isnull=True), help_text="Without hypervisor and guest.")
    retracted = YesNoFilter(Q(configuration__case_study__status__in=models.CaseStudy.ENDED), help_text=_ENDED)
    workload = _variant(models.Workload, "workload", "Workload")
    benchmark = _variant(models.Benchmark, "benchmark", "Benchmark")
    variant = IntegerFilter(field_name="variant__id", help_text="Workload variant, by id.")
    vm_count = IntegerFilter(help_text="Virtual machines running together; 0 is native.")
    operation = django_filters.CharFilter(help_text='"mixed", "read", "write", as listed.')
    block_size_bytes = IntegerFilter(help_text="Block size, bytes.")
    metric = django_filters.ChoiceFilter(choices=[(name, name) for name in METRICS])


class MeasurementFilters(ObservationFilters):
    quality = django_filters.ChoiceFilter(choices=models.Measurement.Quality.choices)
    excluded = YesNoFilter(~Q(excluded_because=""), help_text="Shown, but counted nowhere.")


class DerivedValueFilters(ObservationFilters):
    is_evidence = YesNoFilter(Q(is_evidence=True), help_text="The one value of its cell that rankings use.")


class PrintedRatioFilters(django_filters.FilterSet):
    case_study = _case_study("case_study")
    workload = _variant(models.Workload, "workload", "Workload")
    numerator = _catalogue(models.Hypervisor, "numerator", "Hypervisor above the line")
    denominator = _catalogue(models.Hypervisor, "denominator", "Hypervisor below the line")


class FindingFilters(django_filters.FilterSet):
    case_study = _case_study("case_studies")
    publication = _publication()
    workload = _variant(models.Workload, "workload", "Workload")
    hypervisor = _catalogue(models.Hypervisor, "hypervisor", "Hypervisor")
    guest_fs = _catalogue(models.FileSystem, "guest_fs", "Guest file system")
    host_fs = _catalogue(models.FileSystem, "host_fs", "Host file system")
    text_list = django_filters.ChoiceFilter(choices=models.OrdinalFinding.Tier.choices)
    table_list = django_filters.ChoiceFilter(choices=models.OrdinalFinding.Tier.choices)


class ClaimFilters(django_filters.FilterSet):
    """The filters of claims; modelling.claims.api serves them, with their verdicts."""

    case_study = _case_study("case_studies")
    publication = _publication()
    workload = _catalogue(models.Workload, "workloads", "Workload")
    kind = django_filters.ChoiceFilter(choices=models.Claim.Kind.choices)


class RevisionFilters(django_filters.FilterSet):
    action = django_filters.ChoiceFilter(choices=models.KnowledgeRevision.Action.choices)
