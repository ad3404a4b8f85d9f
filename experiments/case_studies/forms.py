"""The forms of drafts and of decisions on case studies; the API validates with the same ones."""

import re
from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile

from experiments.models import CaseStudy, Server, Storage
from experiments.readers.base import MAX_BYTES
from kdb.web.form_types import ModelForm

from . import lifecycle, retraction


class CaseStudyForm(ModelForm[CaseStudy]):
    """A draft's own fields. The slug is fixed once it exists, because addresses are made of it."""

    class Meta:
        model = CaseStudy
        fields = (
            *("title", "slug", "laboratory", "research_group", "run_seconds", "repetitions", "warm_up_seconds"),
            *("quiet_host", "measured_year", "fits_cache", "value_scope", "procedure"),
        )
        labels = {
            "title": "Title",
            "slug": "Short name (in addresses)",
            "laboratory": "Laboratory, short name (results of one are not independent)",
            "research_group": "Research group, short name (empty: whoever shares an author)",
            "run_seconds": "Length of one run, seconds",
            "repetitions": "Runs averaged into one value",
            "warm_up_seconds": "Warm-up before what counts, seconds of each run (0: none)",
            "quiet_host": "What else ran on the host",
            "measured_year": "Year in which it was measured",
            "fits_cache": "The files of the load and the memory",
            "value_scope": "A value at several machines is",
            "procedure": "How it was measured",
        }
        help_texts = dict.fromkeys(fields, "")
        widgets = {"procedure": forms.Textarea(attrs={"rows": 4})}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk:
            del self.fields["slug"]

    def clean_slug(self) -> str:
        slug: str = self.cleaned_data["slug"]
        if CaseStudy.objects.filter(slug=slug).exists():
            raise forms.ValidationError(lifecycle.slug_taken_message(slug))
        return slug


class ServerForm(ModelForm[Server]):
    """The machine. What is left empty is not stated."""

    class Meta:
        model = Server
        fields = ("model", "cpu", "sockets", "cores", "ram_gib", "ram_kind", "network")
        labels = {
            "model": "Server",
            "cpu": "Processor",
            "sockets": "Sockets",
            "cores": "Cores",
            "ram_gib": "Memory, GiB",
            "ram_kind": "Kind of memory",
            "network": "Network",
        }
        help_texts = dict.fromkeys(fields, "")


class StorageForm(ModelForm[Storage]):
    """The disks under test. Limits are what their maker states, or a raw test showed."""

    class Meta:
        model = Storage
        fields = (
            *("description", "kind", "controller", "raid"),
            *("sequential_read_limit", "sequential_write_limit", "interface_limit", "source"),
        )
        labels = {
            "description": "Disks",
            "kind": "Kind",
            "controller": "Controller",
            "raid": "RAID",
            "sequential_read_limit": "Sequential reads at most, MB/s",
            "sequential_write_limit": "Sequential writes at most, MB/s",
            "interface_limit": "Interface at most, MB/s",
            "source": "Where the limits stand",
        }
        help_texts = dict.fromkeys(fields, "")


def draft_forms(
    data: Mapping[str, Any] | None = None, case_study: CaseStudy | None = None
) -> dict[str, ModelForm[Any]]:
    """Return the three forms of a draft by name, as a page posts them: fields of one form carry its prefix."""
    server, storage = (case_study.server, case_study.storage) if case_study else (None, None)
    return {
        "case_study": CaseStudyForm(data, instance=case_study),
        "server": ServerForm(data, prefix="server", instance=server),
        "storage": StorageForm(data, prefix="storage", instance=storage),
    }


class ReasonForm(forms.Form):
    """The reason why a case study is given back, published or retracted."""

    reason = forms.CharField(max_length=2000, widget=forms.Textarea(attrs={"rows": 3}))


class EndingForm(ReasonForm):
    """Ends a published case study, or some of its numbers."""

    replaced_by = forms.CharField(
        label="Superseded by (short name of the case study that the same source measured later; empty: it is doubted)",
        required=False,
        max_length=60,
    )
    measurements = forms.CharField(
        label="Numbers of single measurements, with spaces between (empty: the whole case study)",
        required=False,
        max_length=11 * retraction.MAX_ROWS,
        widget=forms.Textarea(attrs={"rows": 2}),
    )
    field_order = ("replaced_by", "measurements", "reason")

    def clean_replaced_by(self) -> CaseStudy | None:
        slug: str = self.cleaned_data["replaced_by"]
        case_study = CaseStudy.objects.published().filter(slug=slug).first()
        if slug and case_study is None:
            raise forms.ValidationError(f"No published case study is called {slug}.")
        return case_study

    def clean_measurements(self) -> list[int] | None:
        words: list[str] = self.cleaned_data["measurements"].replace(",", " ").split()
        if odd := [word for word in words if not re.fullmatch(r"[1-9][0-9]{0,17}", word)]:
            raise forms.ValidationError(f"{odd[0][:40]} is no number of a measurement, as in /measurements/12/.")
        return [int(word) for word in words] or None


class BundleForm(forms.Form):
    bundle = forms.FileField(label="Case-study bundle (ZIP)")

    def clean_bundle(self) -> "UploadedFile[Any]":
        file = self.cleaned_data["bundle"]
        if file.size > MAX_BYTES:
            raise forms.ValidationError(f"A bundle has at most {MAX_BYTES:,} bytes here.")
        return file
