"""Forms for operators of observed hosts, machines and pools."""

from typing import Any

from django import forms

from experiments.models import FileSystem, ObservedMachine, ObservedPool
from experiments.records import visible
from kdb.web.form_types import ModelForm, field_of

from .actions import MAX_SECONDS, MIN_SECONDS

_GIB = 2**30
MOST_BYTES = 2**60


class ObserveForm(forms.Form):
    every = forms.IntegerField(
        min_value=MIN_SECONDS, max_value=MAX_SECONDS, initial=10, label="Seconds between two looks", required=True
    )


class MachineForm(ModelForm[ObservedMachine]):
    """The fields that actions.change_machine takes."""

    guest_fs = forms.ChoiceField(required=False, label="File system inside that its load works on")

    class Meta:
        model = ObservedMachine
        fields = ("guest_fs", "is_pinned", "apart", "together")
        labels = {
            "is_pinned": "Keep it where it is",
            "apart": "Apart from machines with the name",
            "together": "Together with machines with the name",
        }

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        known = dict(visible.entries(FileSystem).order_by("name").values_list("slug", "name"))
        now = self.instance.guest_fs
        own = {} if not now or now in known else {now: now}
        field_of(self, "guest_fs", forms.ChoiceField).choices = [("", "not known"), *known.items(), *own.items()]


class PoolForm(ModelForm[ObservedPool]):
    """The fields that actions.change_pool takes, in bytes, for the API."""

    reserve_bytes = forms.IntegerField(min_value=0, max_value=MOST_BYTES, required=False)

    class Meta:
        model = ObservedPool
        fields: tuple[str, ...] = ("is_target", "reserve_bytes", "most_load")
        labels = {"is_target": "Machines may be moved here", "most_load": "Most load of all machines, MiB/s"}

    def clean_reserve_bytes(self) -> int:
        return self.cleaned_data["reserve_bytes"] or 0

    def clean_most_load(self) -> float | None:
        load = self.cleaned_data["most_load"]
        if load is not None and not 0 < load < float("inf"):
            raise forms.ValidationError("A load is above 0 MiB/s; leave it empty where it is not known.")
        return load


class PoolPageForm(PoolForm):
    """The same in GiB, for pages."""

    reserve_gib = forms.FloatField(
        min_value=0, max_value=MOST_BYTES / _GIB, required=False, label="GiB that stay free whatever is planned"
    )

    class Meta(PoolForm.Meta):
        fields = ("is_target", "most_load")

    field_order = ("is_target", "reserve_gib", "most_load")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        del self.fields["reserve_bytes"]
        self.initial["reserve_gib"] = round(self.instance.reserve_bytes / _GIB, 3)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        data["reserve_bytes"] = round((data.pop("reserve_gib", None) or 0) * _GIB)
        return data
