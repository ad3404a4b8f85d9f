"""What people fill in about their own case studies; the API checks what it is sent with the same forms."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile

from experiments.imports.readers.base import MAX_BYTES
from experiments.models import CaseStudy, Server, Storage


class CaseStudyForm(forms.ModelForm):
    """A draft's own fields. The slug is fixed once it exists, because addresses are made of it."""

    class Meta:
        model = CaseStudy
        fields = ("title", "slug", "laboratory", "run_seconds", "repetitions", "value_scope", "procedure")
        labels = {
            "title": "Title",
            "slug": "Short name (in addresses)",
            "laboratory": "Laboratory, short name (results of one are not independent)",
            "run_seconds": "Length of one run, seconds",
            "repetitions": "Runs averaged into one value",
            "value_scope": "A value at several machines is",
            "procedure": "How it was measured",
        }
        help_texts = dict.fromkeys(fields, "")
        widgets = {"procedure": forms.Textarea(attrs={"rows": 4})}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk:
            del self.fields["slug"]


class ServerForm(forms.ModelForm):
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


class StorageForm(forms.ModelForm):
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


def draft_forms(data: Mapping | None = None, case_study: CaseStudy | None = None) -> dict[str, forms.ModelForm]:
    """The three forms of a draft by name, as a page posts them: fields of one form carry its prefix."""
    instances = {"server": case_study.server, "storage": case_study.storage} if case_study else {}
    return {
        "case_study": CaseStudyForm(data, instance=case_study),
        "server": ServerForm(data, prefix="server", instance=instances.get("server")),
        "storage": StorageForm(data, prefix="storage", instance=instances.get("storage")),
    }


class ReasonForm(forms.Form):
    """Why a case study is given back, published or retracted."""

    reason = forms.CharField(max_length=2000, widget=forms.Textarea(attrs={"rows": 3}))


class BundleForm(forms.Form):
    bundle = forms.FileField(label="Case-study bundle (ZIP)")

    def clean_bundle(self) -> UploadedFile:
        file = self.cleaned_data["bundle"]
        if file.size > MAX_BYTES:
            raise forms.ValidationError(f"A bundle has at most {MAX_BYTES:,} bytes here.")
        return file
