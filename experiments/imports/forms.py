"""What people say with the files they upload, and about what an import found; the API checks with the same forms."""

from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile

from experiments.catalogue import services
from experiments.imports import normalise
from experiments.models import CaseStudy, ImportBatch


class SeveralFilesInput(forms.ClearableFileInput):
    allow_multiple_selected = True


class SeveralFilesField(forms.FileField):
    """One or more files; cleans to a list."""

    widget = SeveralFilesInput

    def clean(self, data: Any, initial: Any = None) -> list[UploadedFile]:
        return [super(SeveralFilesField, self).clean(file, initial) for file in data or [None]]


class ContextForm(forms.Form):
    """What all files of an import have in common and do not say themselves."""

    # Asked for first: what the output of a benchmark never says.
    MAIN = ("configuration", "hypervisor", "host_fs", "guest_fs", "vm_count")
    LABELS = {
        "configuration": "Configuration",
        "hypervisor": "Hypervisor",
        "hypervisor_release": "Release of the hypervisor",
        "virtualisation": "Virtualisation",
        "virtual_devices": "Virtual devices",
        "host_os": "Host system",
        "host_kernel": "Host kernel",
        "host_fs": "Host file system",
        "host_mount_options": "Host mount options",
        "backend": "What the images lie on",
        "below": "Below it, e.g. RAID",
        "storage_kind": "Kind of storage, where it is not the case study's",
        "image_format": "Image format",
        "allocation": "Allocation of the image",
        "io_mode": "I/O mode",
        "discard": "Discard",
        "iothread": "I/O thread",
        "cache_mode": "Cache mode",
        "disk_bus": "Disk bus",
        "guest_os": "Guest system",
        "guest_kernel": "Guest kernel",
        "guest_fs": "Guest file system",
        "guest_access": "What the load works on, where no guest file system is stated",
        "guest_mount_options": "Guest mount options",
        "vm_vcpus": "vCPUs of a machine",
        "vm_ram_gib": "Memory of a machine, GiB",
        "vm_disk": "Disk of a machine",
        "workload": "Workload",
        "benchmark": "Benchmark",
        "benchmark_version": "Version of the benchmark",
        "vm_count": "Virtual machines at once",
        "operation": "Operation",
        "source": "Source, e.g. Table III",
        "note": "Note",
    }

    def __init__(self, data: Any = None, *, case_study: CaseStudy, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        slugs = list(case_study.configurations.order_by("slug").values_list("slug", flat=True))
        for name in normalise.CONTEXT:
            field: forms.Field = forms.CharField(required=False, max_length=2000 if name == "note" else 200)
            if name == "configuration":
                field = _choice([(slug, slug) for slug in slugs], "As the files say, or a new one")
            elif name in normalise.CHOICES:
                field = _choice([(v, v) for v in normalise.CHOICES[name]], "As the files say")
            elif name in normalise.REFERENCES:
                native = [("native", "Native, no hypervisor")] if name == "hypervisor" else []
                field = _choice(
                    [*native, *catalogue_choices(normalise.REFERENCES[name], case_study)], "As the files say"
                )
            field.label = self.LABELS[name]
            self.fields[name] = field

    @property
    def main(self) -> list[forms.BoundField]:
        return [self[name] for name in self.MAIN]

    @property
    def further(self) -> list[forms.BoundField]:
        return [self[name] for name in self.fields if name not in self.MAIN]

    def context(self) -> dict[str, str]:
        return {name: text for name, text in self.cleaned_data.items() if text}


class UploadForm(forms.Form):
    files = SeveralFilesField(label="Result files, or ZIPs of them")


class AnswersForm(forms.Form):
    """What the user says about an import that was read: per file, and per unknown name."""

    def __init__(self, data: Any = None, *, batch: ImportBatch, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        self.batch = batch
        said = batch.answers
        slugs = list(batch.case_study.configurations.order_by("slug").values_list("slug", flat=True))
        slugs += [slug for slug in batch.full_report["new_configurations"] if slug not in slugs]
        self.files = []
        for file in batch.report.get("files", []):
            mine = said.get("files", {}).get(file["sha256"], {})
            context = mine.get("context", {})
            names = {part: f"file-{file['sha256'][:16]}-{part}" for part in ("leave_out", "configuration", "vm_count")}
            self.fields[names["leave_out"]] = forms.BooleanField(
                required=False, label=f"Leave out {file['name']}", initial=mine.get("leave_out", False)
            )
            self.fields[names["configuration"]] = forms.CharField(
                required=False,
                label=f"Configuration of {file['name']}",
                initial=context.get("configuration", ""),
                widget=forms.Select(choices=[("", "as said for all"), *((slug, slug) for slug in slugs)]),
            )
            self.fields[names["vm_count"]] = forms.IntegerField(
                required=False,
                min_value=0,
                label=f"Virtual machines of {file['name']}",
                initial=context.get("vm_count", ""),
            )
            self.files.append((file, names))
        self.names = []
        mapped = [(kind, name) for kind, names in said.get("names", {}).items() for name in names]
        created = [(kind, name) for kind, names in said.get("create", {}).items() for name in names]
        unknown = [(entry["kind"], entry["name"]) for entry in batch.report.get("unknown", [])]
        for number, (kind, name) in enumerate(dict.fromkeys([*unknown, *mapped, *created])):
            self._add_name(number, kind, name)

    def _add_name(self, number: int, kind: str, name: str) -> None:
        said = self.batch.answers
        created = said.get("create", {}).get(kind, {}).get(name, {})
        self.fields[f"name-{number}"] = forms.CharField(
            required=False,
            label=f"{name} is",
            initial=said.get("names", {}).get(kind, {}).get(name, ""),
            widget=forms.Select(choices=[("", "not known yet"), *catalogue_choices(kind, self.batch.case_study)]),
        )
        new = []
        for field in services.FIELDS[kind]:
            new.append(f"name-{number}-{field}")
            model_field = services.MODELS[kind]._meta.get_field(field)
            form_field = model_field.formfield(required=False) if field != "slug" else forms.SlugField(required=False)
            form_field.label, form_field.initial = field.replace("_", " ").capitalize(), created.get(field, "")
            form_field.help_text = ""
            self.fields[new[-1]] = form_field
        self.names.append((kind, name, f"name-{number}", new))

    @property
    def file_rows(self) -> list[tuple[dict, dict[str, forms.BoundField]]]:
        return [(file, {part: self[name] for part, name in names.items()}) for file, names in self.files]

    @property
    def name_rows(self) -> list[dict[str, Any]]:
        return [
            {"kind": kind.replace("_", " "), "name": name, "field": self[field], "new": [self[n] for n in new]}
            for kind, name, field, new in self.names
        ]

    def answers(self, context: dict[str, str]) -> dict[str, Any]:
        """In the shape of experiments.imports.pipeline.checked_answers."""
        data = self.cleaned_data
        files = {}
        for file, names in self.files:
            own = {part: data[names[part]] for part in ("configuration", "vm_count")}
            files[file["sha256"]] = {
                "leave_out": data[names["leave_out"]],
                "context": {part: str(value) for part, value in own.items() if value not in (None, "")},
            }
        mapped: dict[str, dict] = {}
        create: dict[str, dict] = {}
        for kind, name, field, new in self.names:
            fields = {n.split("-", 2)[2]: str(data[n]) for n in new if data[n]}
            if data[field]:
                mapped.setdefault(kind, {})[name] = data[field]
            elif fields.get("slug"):
                create.setdefault(kind, {})[name] = fields
        return {"context": context, "files": files, "names": mapped, "create": create}


def catalogue_choices(kind: str, case_study: CaseStudy) -> list[tuple[str, str]]:
    return list(services.entries(kind, case_study).order_by("name").values_list("slug", "name"))


def _choice(choices: list[tuple[str, str]], empty: str) -> forms.ChoiceField:
    return forms.ChoiceField(required=False, choices=[("", empty), *choices])
