"""The filters in the addresses of pages of case studies."""

from typing import Any

from django import forms
from django.db.models import Exists, OuterRef, Q, QuerySet

from experiments.models import (
    CaseStudy,
    Configuration,
    DerivedValue,
    FileSystem,
    Hypervisor,
    Measurement,
    OrdinalFinding,
    Storage,
    Workload,
)
from experiments.models.catalogue import CatalogueEntry
from experiments.records import visible
from experiments.rules import entry_names
from kdb.web.form_types import ModelChoiceField
from kdb.web.widgets import Select


class EntryField(ModelChoiceField[CatalogueEntry]):
    """A choice of catalogue entries, which also accepts every spelling that imports accept."""

    widget = Select

    def __init__(self, model: type[CatalogueEntry], **kwargs: Any) -> None:
        super().__init__(visible.entries(model), to_field_name="slug", required=False, empty_label="Any", **kwargs)

    def to_python(self, value: Any) -> Any:
        return super().to_python(self._slug(value))

    def bound_data(self, data: Any, initial: Any) -> Any:
        """Return the entry that the page shows as chosen."""
        return self._slug(super().bound_data(data, initial))

    def _slug(self, value: Any) -> Any:
        if not value:
            return value
        assert self.queryset is not None
        known = entry_names.spellings(self.queryset.values_list("slug", "name", "aliases"))
        return known.get(entry_names.fold(str(value)), value)


class CaseStudyListFilter(forms.Form):
    """Case studies with a configuration of this kind, or numbers or lists on this workload."""

    hypervisor = EntryField(Hypervisor)
    guest_fs = EntryField(FileSystem, label="Guest file system")
    host_fs = EntryField(FileSystem, label="Host file system")
    workload = EntryField(Workload)
    storage = forms.ChoiceField(
        choices=[("", "Any"), *((kind, label) for kind, label in Storage.Kind.choices if kind)],
        required=False,
        widget=Select,
    )

    def filtered(self, case_studies: QuerySet[CaseStudy]) -> QuerySet[CaseStudy]:
        """Return the case studies that pass; call it on a valid form only."""
        asked: dict[str, Any] = {name: value for name, value in self.cleaned_data.items() if value}
        of_configuration = {name: asked[name] for name in ("hypervisor", "guest_fs", "host_fs") if name in asked}
        if of_configuration:
            rows = Configuration.objects.filter(case_study=OuterRef("pk"), **of_configuration)
            case_studies = case_studies.filter(Exists(rows))
        if "storage" in asked:
            case_studies = case_studies.filter(storage__kind=asked["storage"])
        if "workload" in asked:
            case_studies = case_studies.filter(_has_workload(asked["workload"]))
        return case_studies


def _has_workload(workload: Workload) -> Q:
    condition = Q(Exists(OrdinalFinding.objects.filter(case_studies=OuterRef("pk"), variant__workload=workload)))
    for model in (Measurement, DerivedValue):
        rows = model.objects.filter(configuration=OuterRef("pk"), variant__workload=workload)
        configurations = Configuration.objects.filter(Exists(rows), case_study=OuterRef("pk"))
        condition |= Q(Exists(configurations))
    return condition
