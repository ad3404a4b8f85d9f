"""The forms of imports: what people say with files, and about what was found; the API checks with the same ones."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.db.models import Field

from experiments.catalogue import services
from experiments.imports import file_names, normalise
from experiments.models import CaseStudy, ImportBatch
from experiments.readers.table_columns import FIELDS, IGNORED, PARAMETER
from kdb.disk_path import SETTINGS
from kdb.web.form_types import field_of

MAX_RUNS_SHOWN = 100  # on the page of an import
NEW = "new"  # no slug: a reserved word (experiments.entry_names)


class SeveralFilesInput(forms.ClearableFileInput):
    allow_multiple_selected = True


class SeveralFilesField(forms.FileField):
    """One or more files; cleans to a list."""

    widget = SeveralFilesInput

    def clean(self, data: Any, initial: Any = None) -> "list[UploadedFile[Any]]":
        return [super(SeveralFilesField, self).clean(file, initial) for file in data or [None]]


class ContextForm(forms.Form):
    """The context that all files of an import have in common and do not say themselves."""

    # Asked for first: what the output of a benchmark never says.
    MAIN = ("configuration", "hypervisor", "host_fs", "guest_fs", "vm_count")
    LABELS = {
        "configuration": "Configuration",
        "hypervisor": "Hypervisor",
        "virtualisation": "Virtualisation",
        "virtual_devices": "Virtual devices",
        "host_os": "Host system",
        "host_fs": "Host file system",
        "host_mkfs_options": "Host mkfs options",
        "host_mount_options": "Host mount options",
        "host_io_scheduler": "Host I/O scheduler",
        "backend": "What the images lie on",
        "below": "Below it, e.g. RAID",
        "storage_kind": "Kind of storage, where it is not the case study's",
        **{column: setting.label for column, setting in SETTINGS.items()},
        "guest_os": "Guest system",
        "guest_fs": "Guest file system",
        "guest_access": "What the load works on, where no guest file system is stated",
        "guest_mkfs_options": "Guest mkfs options",
        "guest_mount_options": "Guest mount options",
        "guest_io_scheduler": "Guest I/O scheduler",
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

    def __init__(
        self, data: Any = None, *, case_study: CaseStudy, like: "ContextForm | None" = None, **kwargs: Any
    ) -> None:
        """like : another form of the case study, whose fields are taken without asking the database again"""
        super().__init__(data, **kwargs)
        if like:
            self.fields.update({name: deepcopy(like.fields[name]) for name in normalise.CONTEXT})
            return
        slugs = list(case_study.configurations.order_by("slug").values_list("slug", flat=True))
        for name in normalise.CONTEXT:
            field: forms.Field = forms.CharField(required=False, max_length=2000 if name == "note" else 200)
            if name == "configuration":
                field = _choice([(slug, slug) for slug in slugs], "As the files say, or a new one")
            elif name in normalise.CHOICES:
                field = _choice([(v, v) for v in normalise.CHOICES[name]], "As the files say")
            elif name in normalise.NAMED:
                native = [("native", "Native, no hypervisor")] if name == "hypervisor" else []
                field = _choice([*native, *services.choices(normalise.NAMED[name], case_study)], "As the files say")
            field.label = self.LABELS[name]
            self.fields[name] = field

    @property
    def main(self) -> list[forms.BoundField]:
        return [self[name] for name in self.MAIN]

    @property
    def further(self) -> list[forms.BoundField]:
        return [self[name] for name in normalise.CONTEXT if name not in self.MAIN]

    def context(self) -> dict[str, str]:
        return {name: text for name in normalise.CONTEXT if (text := self.cleaned_data[name])}


class PartForm(ContextForm):
    """The context of one part of a file of several systems, or that it is left out."""

    leave_out = forms.BooleanField(required=False, label="Leave this part out")

    def answers(self) -> dict[str, Any]:
        return {"context": self.context(), "leave_out": self.cleaned_data["leave_out"]}


class UploadForm(forms.Form):
    files = SeveralFilesField(  # type: ignore[assignment]  # a field, which Django takes out of the class
        label="Result files, or ZIPs of them"
    )


class SeveralImportsForm(forms.Form):
    """Imports of one draft that are confirmed or discarded together; of `confirm-ready`, all that wait for it."""

    do = forms.ChoiceField(choices=[("confirm", ""), ("confirm-ready", ""), ("discard", "")])
    imports = forms.ModelMultipleChoiceField(
        ImportBatch.objects.none(), required=False, error_messages={"invalid_choice": "Import %(value)s is not here."}
    )

    def __init__(self, data: Any, *, case_study: CaseStudy) -> None:
        super().__init__(data)
        self.case_study = case_study
        field_of(self, "imports", forms.ModelMultipleChoiceField).queryset = case_study.imports.order_by("pk")

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        if data.get("do") == "confirm-ready":
            data["imports"] = list(self.case_study.imports.filter(state=ImportBatch.State.READY).order_by("pk"))
        if not self.errors and not data["imports"]:
            raise forms.ValidationError("Choose at least one import.")
        return data

    @property
    def problems(self) -> list[str]:
        return [str(message) for messages in self.errors.values() for message in messages]


class AnswersForm(forms.Form):
    """The user's answers about an import that was read: per file, part and run, name, column and hint."""

    RUN = {"configuration": 80, "guest_fs": 60, "vm_count": 5, "operation": 40}  # said of a single run; its length

    def __init__(self, data: Any = None, *, batch: ImportBatch, context_form: ContextForm, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        self.batch = batch
        answers = batch.answers
        slugs = list(batch.case_study.configurations.order_by("slug").values_list("slug", flat=True))
        slugs += [slug for slug in batch.full_report["new_configurations"] if slug not in slugs]
        self.slugs = slugs
        self.asked: list[tuple[dict[str, Any], dict[str, str]]] = []  # each file with its fields
        for file in batch.report.get("files", []):
            mine = answers.get("files", {}).get(file["sha256"], {})
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
            self.asked.append((file, names))
        self.parts = list(self._parts(data, context_form))
        self.runs = list(self._runs())
        self.hints = self._hints()
        self.columns = self._columns()
        self.names: list[tuple[str, str, str, list[str]]] = []
        mapped = [(kind, name) for kind, names in answers.get("names", {}).items() for name in names]
        created = [(kind, name) for kind, names in answers.get("create", {}).items() for name in names]
        unknown = [
            (entry["kind"], entry["name"]) for entry in batch.full_report["unknown"] if entry["kind"] != "column"
        ]
        for number, (kind, name) in enumerate(dict.fromkeys([*unknown, *mapped, *created])):
            self._add_name(number, kind, name)

    def _parts(self, data: Any, like: ContextForm) -> Iterator[tuple[dict[str, Any], dict[str, Any], PartForm]]:
        """Yield file, part and form of each part of a file of several systems."""
        for file, _ in self.asked:
            for number, part in enumerate(file.get("parts", [])):
                mine = self._said_of(file).get("parts", {}).get(part["name"], {})
                initial = {**mine.get("context", {}), "leave_out": mine.get("leave_out", False)}
                prefix = f"part-{file['sha256'][:16]}-{number}"
                study = self.batch.case_study
                yield file, part, PartForm(data, case_study=study, like=like, prefix=prefix, initial=initial)

    def _runs(self) -> Iterator[tuple[dict[str, Any], list[tuple[dict[str, Any], dict[str, str]]]]]:
        """Yield each file with several runs, or with one that has questions, and its first runs with their fields."""
        left = MAX_RUNS_SHOWN
        for file, _ in self.asked:
            runs = file.get("runs", [])[:left]
            if len(runs) > 1 or any(run["could_be"] for run in runs):
                left -= len(runs)
                yield file, [(run, self._run_fields(file, run)) for run in runs]

    def _run_fields(self, file: dict[str, Any], run: dict[str, Any]) -> dict[str, str]:
        context = self._said_of(file).get("runs", {}).get(str(run["line"]), {})
        names = {part: f"run-{file['sha256'][:16]}-{run['line']}-{part}" for part in self.RUN}
        for part, name in names.items():
            self.fields[name] = forms.CharField(
                required=False,
                max_length=self.RUN[part],
                label=f"{ContextForm.LABELS[part]} of the run on line {run['line']} of {file['name']}",
                initial=context.get(part, ""),
                widget=forms.TextInput(attrs={"list": f"known-{part}", "size": 12}),
            )
        return names

    def clean(self) -> dict[str, Any]:
        if not all(form.is_valid() for _, _, form in self.parts):
            raise forms.ValidationError("What is said of a part cannot be used.")
        return self.cleaned_data

    def _said_of(self, file: dict[str, Any]) -> dict[str, Any]:
        return self.batch.answers.get("files", {}).get(file["sha256"], {})

    def _hints(self) -> list[tuple[file_names.Hint, str]]:
        """Return what the files' names say and nobody has said for all of them, each with its field."""
        if not self.asked:
            return []
        names, context = self._display_names(), self.batch.answers.get("context", {})
        taken_in = [file["name"] for file, _ in self.asked if not file["left_out"]]
        hints = []
        for hint in file_names.hints(taken_in, services.spellings(self.batch.case_study)):
            if any(use.items() <= context.items() for use in hint.uses):
                continue
            contexts = [self._own_context(file) for file, _ in self.asked if file["name"] in hint.files]
            used = next((use for use in hint.uses if all(use.items() <= own.items() for own in contexts)), {})
            choices = [(",".join(use), _use_sentence(use, names)) for use in hint.uses]
            name = f"hint-{hint.word}"
            if choices:
                self.fields[name] = forms.ChoiceField(
                    required=False,
                    label=f"“{hint.word}”, in {_of(len(hint.files), len(taken_in))}, is",
                    choices=[("", "not used"), *choices],
                    initial=",".join(used),
                )
            hints.append((hint, name))
        return hints

    def _display_names(self) -> dict[tuple[str, str], str]:
        """Return field of the context and slug to the name of the entry."""
        fields = ("hypervisor", "guest_fs", "host_fs")
        kinds = {normalise.REFERENCES[field] for field in fields}
        known = {kind: dict(services.choices(kind, self.batch.case_study)) for kind in kinds}
        return {(field, slug): name for field in fields for slug, name in known[normalise.REFERENCES[field]].items()}

    def _own_context(self, file: dict[str, Any]) -> dict[str, str]:
        return self._said_of(file).get("context", {})

    def _columns(self) -> list[tuple[str, str]]:
        """Return each foreign column, unknown or said to be something, with its field."""
        answers = self.batch.answers.get("columns", {})
        foreign = [entry["name"] for entry in self.batch.full_report["unknown"] if entry["kind"] == "column"]
        columns = []
        for number, header in enumerate(dict.fromkeys([*foreign, *answers])):
            choices = {
                "": "not known yet",
                IGNORED: "nothing: ignore it",
                PARAMETER + header: "a parameter of the load",
            }
            if answers.get(header, "").startswith(PARAMETER):
                choices.setdefault(answers[header], f"the parameter {answers[header].removeprefix(PARAMETER)}")
            choices |= {name: name for name in ("pair", *FIELDS)}
            self.fields[f"column-{number}"] = forms.ChoiceField(
                required=False,
                label=f"The column “{header}” is",
                choices=[*choices.items()],
                initial=answers.get(header, ""),
            )
            columns.append((header, f"column-{number}"))
        return columns

    def _add_name(self, number: int, kind: str, name: str) -> None:
        answers = self.batch.answers
        created = answers.get("create", {}).get(kind, {}).get(name, {})
        choices = [("", "not known yet"), *services.choices(kind, self.batch.case_study)]
        as_called = services.fields_for(kind, name) if kind in services.NEED_A_NAME_ONLY else {}
        if as_called:
            choices.insert(1, (NEW, f"a new {kind.replace('_', ' ')}, called so"))
        self.fields[f"name-{number}"] = forms.CharField(
            required=False,
            label=f"{name} is",
            initial=answers.get("names", {}).get(kind, {}).get(name, "") or (NEW if created and as_called else ""),
            widget=forms.Select(choices=choices),
        )
        new = []
        for field in services.FIELDS[kind]:
            new.append(f"name-{number}-{field}")
            form_field = left_open(kind, field)
            form_field.label, form_field.initial = field.replace("_", " ").capitalize(), created.get(field, "")
            form_field.help_text = ""
            self.fields[new[-1]] = form_field
        self.names.append((kind, name, f"name-{number}", new))

    @property
    def file_rows(self) -> list[tuple[dict[str, Any], dict[str, forms.BoundField]]]:
        return [(file, {part: self[name] for part, name in names.items()}) for file, names in self.asked]

    @property
    def run_rows(self) -> list[tuple[dict[str, Any], list[tuple[dict[str, Any], list[forms.BoundField]]]]]:
        return [
            (file, [(run, [self[name] for name in names.values()]) for run, names in runs]) for file, runs in self.runs
        ]

    @property
    def known(self) -> dict[str, list[str]]:
        """Return what may be said of a single run, as far as there is a list of it: field to values."""
        asked = {name for _, runs in self.runs for run, _ in runs for name in run["could_be"]}
        file_systems = [slug for slug, _ in services.choices("file_system", self.batch.case_study)] if self.runs else []
        return {"configuration": self.slugs, "guest_fs": file_systems, "operation": sorted(asked)}

    @property
    def name_rows(self) -> list[dict[str, Any]]:
        return [
            {"kind": kind.replace("_", " "), "name": name, "field": self[field], "new": [self[n] for n in new]}
            for kind, name, field, new in self.names
        ]

    @property
    def column_rows(self) -> list[forms.BoundField]:
        return [self[field] for _, field in self.columns]

    @property
    def hint_rows(self) -> list[forms.BoundField]:
        return [self[field] for hint, field in self.hints if hint.uses]

    @property
    def words_of_disks(self) -> list[str]:
        return [hint.word for hint, _ in self.hints if hint.is_of_disks]

    def answers(self, context: dict[str, str]) -> dict[str, Any]:
        """Return the answers in the shape of experiments.imports.pipeline.checked_answers."""
        data = self.cleaned_data
        files: dict[str, dict[str, Any]] = {}
        for file, names in self.asked:
            own = {part: data[names[part]] for part in ("configuration", "vm_count")}
            own_context = {part: str(value) for part, value in own.items() if value not in (None, "")}
            files[file["sha256"]] = {
                "runs": dict(self._said_of(file).get("runs", {})),
                "parts": {part["name"]: form.answers() for of, part, form in self.parts if of is file},
                "leave_out": data[names["leave_out"]],
                "context": {**self._hinted_context(file), **own_context},
            }
        for file, runs in self.runs:
            of_file = files[file["sha256"]]["runs"]
            for run, names in runs:  # what is not shown here was said by a program, and stays
                own = {name: text for name, text in of_file.pop(str(run["line"]), {}).items() if name not in names}
                own |= {part: data[name] for part, name in names.items() if data[name]}
                if own:
                    of_file[str(run["line"])] = own
        mapped: dict[str, dict[str, str]] = {}
        create: dict[str, dict[str, dict[str, str]]] = {}
        for kind, name, field, new in self.names:
            fields = {n.split("-", 2)[2]: str(data[n]) for n in new if data[n]}
            if data[field] == NEW:
                create.setdefault(kind, {})[name] = {**services.fields_for(kind, name), **fields}
            elif data[field]:
                mapped.setdefault(kind, {})[name] = data[field]
            elif fields.get("slug"):
                create.setdefault(kind, {})[name] = fields
        columns = {header: data[field] for header, field in self.columns}
        return {"context": context, "files": files, "names": mapped, "create": create, "columns": columns}

    def _hinted_context(self, file: dict[str, Any]) -> dict[str, str]:
        """Return one file's context that this form does not show, with the hints from its name that are used."""
        own = {
            name: text for name, text in self._own_context(file).items() if name not in ("configuration", "vm_count")
        }
        mine = [(hint, field) for hint, field in self.hints if file["name"] in hint.files and hint.uses]
        for hint, _ in mine:
            for name, text in (pair for use in hint.uses for pair in use.items()):
                if own.get(name) == text:
                    del own[name]
        for hint, field in mine:
            own |= next((use for use in hint.uses if ",".join(use) == self.cleaned_data[field]), {})
        return own


_USES = {
    "hypervisor": "the hypervisor {}",
    "guest_fs": "the guest file system {}",
    "host_fs": "the host file system {}",
    "vm_count": "the number of virtual machines at once, {}",
    "image_format": "the image format {}",
    "cache_mode": "the cache mode {}",
}


def _of(some: int, everything: int) -> str:
    if some < everything:
        return f"{some:,} of {everything:,} file names"
    return "all file names" if everything > 1 else "its file name"


def _use_sentence(use: file_names.Values, names: dict[tuple[str, str], str]) -> str:
    """Return "the guest file system XFS" for a use."""
    if use == {"hypervisor": "native"}:
        return "native, no hypervisor"
    return " and ".join(_USES[field].format(names.get((field, value), value)) for field, value in use.items())


def left_open(kind: str, name: str) -> forms.Field:
    """Return a field of a new entry that is optional unless the entry is chosen."""
    if name == "slug":
        return forms.SlugField(required=False, max_length=40, help_text="Small letters, digits and hyphens.")
    column = services.MODELS[kind]._meta.get_field(name)
    assert isinstance(column, Field)  # no relation to other rows
    field = column.formfield(required=False)
    assert field is not None
    return field


def _choice(choices: list[tuple[str, str]], empty: str) -> forms.ChoiceField:
    return forms.ChoiceField(required=False, choices=[("", empty), *choices])
