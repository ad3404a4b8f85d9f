"""The forms of imports: the context of uploaded files, and answers to what the reading found."""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.db.models import Field

from experiments.catalogue import services
from experiments.imports import file_names, normalise
from experiments.models import CaseStudy, ImportBatch
from experiments.readers.table_columns import FIELDS, IGNORED, PARAMETER
from kdb.web.form_types import field_of

MAX_RUNS_SHOWN = 100  # on the page of an import
NEW = "new"  # no slug: a reserved word (experiments.rules.entry_names)


class SeveralFilesInput(forms.ClearableFileInput):
    allow_multiple_selected = True


class SeveralFilesField(forms.FileField):
    """One or more files; cleans to a list."""

    widget = SeveralFilesInput

    def clean(self, data: Any, initial: Any = None) -> "list[UploadedFile[Any]]":
        return [super(SeveralFilesField, self).clean(file, initial) for file in data or [None]]


class ContextForm(forms.Form):
    """The context that all files of an import have in common and do not say themselves."""

    # Shown first, because the output of a benchmark never tells these.
    MAIN = ("configuration", "hypervisor", "host_fs", "guest_fs", "vm_count")

    def __init__(
        self, data: Any = None, *, case_study: CaseStudy, like: "ContextForm | None" = None, **kwargs: Any
    ) -> None:
        """like : another form of the case study, whose fields are copied to save queries"""
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
            field.label = FIELDS[name].label
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
        label="Result files, or ZIPs of them (also with a manifest.toml)"
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


class FileForm(forms.Form):
    """The answers about one file, which override those about all of them."""

    leave_out = forms.BooleanField(required=False)
    configuration = forms.CharField(required=False, widget=forms.Select)
    vm_count = forms.IntegerField(required=False, min_value=0)

    def __init__(self, data: Any, *, file: dict[str, Any], given: Mapping[str, Any], slugs: list[str]) -> None:
        context = given.get("context", {})
        initial = {"leave_out": given.get("leave_out", False), "configuration": context.get("configuration", "")}
        super().__init__(
            data, prefix=_prefix("file", file), initial={**initial, "vm_count": context.get("vm_count", "")}
        )
        labels = {"leave_out": "Leave out", "configuration": "Configuration of", "vm_count": "Virtual machines of"}
        for name, label in labels.items():
            self.fields[name].label = f"{label} {file['name']}"
        choices = [("", "as said for all"), *((slug, slug) for slug in slugs)]
        self.fields["configuration"].widget = forms.Select(choices=choices)

    def context(self) -> dict[str, str]:
        answers = ((name, self.cleaned_data[name]) for name in ("configuration", "vm_count"))
        return {name: str(value) for name, value in answers if value not in (None, "")}


class RunForm(forms.Form):
    """The context of the runs on one line."""

    LENGTHS = {"configuration": 80, "guest_fs": 60, "vm_count": 5, "operation": 40}

    def __init__(self, data: Any, *, file: dict[str, Any], line: int, given: Mapping[str, str]) -> None:
        super().__init__(data, prefix=f"{_prefix('run', file)}-{line}", initial=dict(given))
        for name, length in self.LENGTHS.items():
            self.fields[name] = forms.CharField(
                required=False,
                max_length=length,
                label=f"{FIELDS[name].label} of the run on line {line} of {file['name']}",
                widget=forms.TextInput(attrs={"list": f"known-{name}", "size": 12}),
            )

    def context(self) -> dict[str, str]:
        return {name: text for name, text in self.cleaned_data.items() if text}


class HintsForm(forms.Form):
    """Asks which hints in file names to use, of those that the context of all files does not answer already."""

    def __init__(self, data: Any, *, batch: ImportBatch, contexts: Sequence[tuple[str, Mapping[str, str]]]) -> None:
        """contexts : name and own context of each file that is not left out"""
        super().__init__(data, prefix="hint")
        study, context_of_all = batch.case_study, batch.answers.get("context", {})
        self.hints = [
            hint
            for hint in (
                file_names.hints((name for name, _ in contexts), services.spellings(study))
                if batch.full_report["files"]
                else ()
            )
            if not any(use.items() <= context_of_all.items() for use in hint.uses)
        ]
        fields = ("hypervisor", "guest_fs", "host_fs")
        names = {(f, slug): name for f in fields for slug, name in services.choices(normalise.REFERENCES[f], study)}
        for hint in self.hints:
            own = [context for name, context in contexts if name in hint.files]
            used = next((use for use in hint.uses if all(use.items() <= context.items() for context in own)), {})
            if hint.uses:
                self.fields[hint.word] = forms.ChoiceField(
                    required=False,
                    label=f"“{hint.word}”, in {_in_files(len(hint.files), len(contexts))}, is",
                    choices=[("", "not used"), *((",".join(use), _use_sentence(use, names)) for use in hint.uses)],
                    initial=",".join(used),
                )

    @property
    def words_of_disks(self) -> list[str]:
        return [hint.word for hint in self.hints if hint.is_of_disks]

    def context(self, file_name: str, context: Mapping[str, str]) -> dict[str, str]:
        """Return a file's context with the hints of its name that are used, and without those that are not."""
        hints = [hint for hint in self.hints if file_name in hint.files and hint.uses]
        offered = {pair for hint in hints for use in hint.uses for pair in use.items()}
        own = dict(context.items() - offered)
        own = {name: own[name] for name in context if name in own}
        for hint in hints:
            own |= next((use for use in hint.uses if ",".join(use) == self.cleaned_data[hint.word]), {})
        return own


class ColumnsForm(forms.Form):
    """Asks what each column that is not of the template holds."""

    def __init__(self, data: Any, *, batch: ImportBatch) -> None:
        super().__init__(data, prefix="column")
        given = batch.answers.get("columns", {})
        foreign = [entry["name"] for entry in batch.full_report["unknown"] if entry["kind"] == "column"]
        self.headers = list(dict.fromkeys([*foreign, *given]))
        for number, header in enumerate(self.headers):
            meaning = given.get(header, "")
            choices = {"": "not known yet", IGNORED: "nothing: ignore it"}
            choices[PARAMETER + header] = "a parameter of the load"
            if meaning.startswith(PARAMETER):
                choices.setdefault(meaning, f"the parameter {meaning.removeprefix(PARAMETER)}")
            choices |= {name: name for name in ("pair", *FIELDS)}
            self.fields[str(number)] = forms.ChoiceField(
                required=False, label=f"The column “{header}” is", choices=[*choices.items()], initial=meaning
            )

    def columns(self) -> dict[str, str]:
        return {header: self.cleaned_data[str(number)] for number, header in enumerate(self.headers)}


class NamesForm(forms.Form):
    """Asks which entry of the catalogue each unknown name means, or for a new entry."""

    def __init__(self, data: Any, *, batch: ImportBatch) -> None:
        super().__init__(data, prefix="name")
        mapped, created = batch.answers.get("names", {}), batch.answers.get("create", {})
        unknown = [(entry["kind"], entry["name"]) for entry in batch.full_report["unknown"]]
        given = [(kind, name) for names in (mapped, created) for kind in names for name in names[kind]]
        self.names = [pair for pair in dict.fromkeys([*unknown, *given]) if pair[0] != "column"]
        for number, (kind, name) in enumerate(self.names):
            new = created.get(kind, {}).get(name, {})
            choices = [("", "not known yet"), *services.choices(kind, batch.case_study)]
            needs_a_name_only = kind in services.NEED_A_NAME_ONLY
            if needs_a_name_only:
                choices.insert(1, (NEW, f"a new {kind.replace('_', ' ')}, called so"))
            self.fields[str(number)] = forms.CharField(
                required=False,
                label=f"{name} is",
                initial=mapped.get(kind, {}).get(name, "") or (NEW if new and needs_a_name_only else ""),
                widget=forms.Select(choices=choices),
            )
            for field_name, field in fields_of_entry(kind, new).items():
                field.help_text = ""
                self.fields[f"{number}-{field_name}"] = field

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [
            {
                "kind": kind.replace("_", " "),
                "field": self[str(number)],
                "new": [self[f"{number}-{field}"] for field in services.FIELDS[kind]],
            }
            for number, (kind, _) in enumerate(self.names)
        ]

    def answers(self) -> dict[str, dict[str, dict[str, Any]]]:
        """Return "names" and "create" of an import's answers."""
        answers: dict[str, dict[str, dict[str, Any]]] = {"names": {}, "create": {}}
        for number, (kind, name) in enumerate(self.names):
            chosen = self.cleaned_data[str(number)]
            texts = ((field, self.cleaned_data[f"{number}-{field}"]) for field in services.FIELDS[kind])
            fields = {field: str(text) for field, text in texts if text}
            if chosen == NEW:
                fields = {**services.fields_for(kind, name), **fields}
            if chosen and chosen != NEW:
                answers["names"].setdefault(kind, {})[name] = chosen
            elif chosen or fields.get("slug"):
                answers["create"].setdefault(kind, {})[name] = fields
        return answers


class AnswersForms:
    """The user's answers about an import: a form of each file, part and run, and of hints, columns and names."""

    def __init__(self, data: Any = None, *, batch: ImportBatch, context_form: ContextForm) -> None:
        study, report = batch.case_study, batch.full_report
        self.given: dict[str, dict[str, Any]] = batch.answers.get("files", {})
        slugs = study.configurations.order_by("slug").values_list("slug", flat=True)
        self.slugs = list(dict.fromkeys([*slugs, *report["new_configurations"]]))
        self.study = study
        self.files = [
            (file, FileForm(data, file=file, given=self.given.get(file["sha256"], {}), slugs=self.slugs))
            for file in report["files"]
        ]
        self.parts = [
            (file, part, self._part_form(data, file, number, part["name"], context_form))
            for file, _ in self.files
            for number, part in enumerate(file.get("parts", []))
        ]
        self.runs = list(self._runs(data))
        own = [(file["name"], self._context_of(file)) for file, _ in self.files if not file["left_out"]]
        self.hints = HintsForm(data, batch=batch, contexts=own)
        self.columns = ColumnsForm(data, batch=batch)
        self.names = NamesForm(data, batch=batch)

    def _part_form(self, data: Any, file: dict[str, Any], number: int, name: str, like: ContextForm) -> "PartForm":
        given = self.given.get(file["sha256"], {}).get("parts", {}).get(name, {})
        initial = {**given.get("context", {}), "leave_out": given.get("leave_out", False)}
        prefix = f"{_prefix('part', file)}-{number}"
        return PartForm(data, case_study=self.study, like=like, prefix=prefix, initial=initial)

    def _runs(self, data: Any) -> Iterator[tuple[dict[str, Any], list[tuple[dict[str, Any], RunForm]]]]:
        """Yield each file with several runs, or with an ambiguous one, and its first runs with their forms."""
        left = MAX_RUNS_SHOWN
        for file, _ in self.files:
            runs = file.get("runs", [])[:left]
            if len(runs) > 1 or any(run["could_be"] for run in runs):
                left -= len(runs)
                given = self.given.get(file["sha256"], {}).get("runs", {})
                yield (
                    file,
                    [
                        (run, RunForm(data, file=file, line=run["line"], given=given.get(str(run["line"]), {})))
                        for run in runs
                    ],
                )

    @property
    def forms(self) -> list[forms.Form]:
        runs = [form for _, of_file in self.runs for _, form in of_file]
        parts = [form for *_, form in self.parts]
        return [*(form for _, form in self.files), *parts, *runs, self.hints, self.columns, self.names]

    def is_valid(self) -> bool:
        return not self.errors

    @property
    def errors(self) -> bool:
        return any(form.errors for form in self.forms)

    @property
    def known(self) -> dict[str, list[str]]:
        """Return field to suggested values, for the forms of single runs."""
        asked = {name for _, runs in self.runs for run, _ in runs for name in run["could_be"]}
        file_systems = [slug for slug, _ in services.choices("file_system", self.study)] if self.runs else []
        return {"configuration": self.slugs, "guest_fs": file_systems, "operation": sorted(asked)}

    def answers(self, context: dict[str, str]) -> dict[str, Any]:
        """Return the answers in the shape of pipeline.checked_answers; `context` is that of all files."""
        files: dict[str, dict[str, Any]] = {}
        for file, form in self.files:
            kept = self._context_of(file)  # fields that this form does not show stay: a program set them
            kept = {name: text for name, text in kept.items() if name not in ("configuration", "vm_count")}
            files[file["sha256"]] = {
                "runs": dict(self.given.get(file["sha256"], {}).get("runs", {})),
                "parts": {part["name"]: part_form.answers() for of, part, part_form in self.parts if of is file},
                "leave_out": form.cleaned_data["leave_out"],
                "context": {**self.hints.context(file["name"], kept), **form.context()},
            }
        for file, runs in self.runs:
            of_file = files[file["sha256"]]["runs"]
            for run, run_form in runs:
                own = of_file.pop(str(run["line"]), {})
                own = {name: text for name, text in own.items() if name not in RunForm.LENGTHS} | run_form.context()
                if own:
                    of_file[str(run["line"])] = own
        return {"context": context, "files": files, **self.names.answers(), "columns": self.columns.columns()}

    def _context_of(self, file: dict[str, Any]) -> dict[str, str]:
        return dict(self.given.get(file["sha256"], {}).get("context", {}))


def _prefix(kind: str, file: dict[str, Any]) -> str:
    return f"{kind}-{file['sha256'][:16]}"


_USES = {
    "hypervisor": "the hypervisor {}",
    "guest_fs": "the guest file system {}",
    "host_fs": "the host file system {}",
    "vm_count": "the number of virtual machines at once, {}",
    "image_format": "the image format {}",
    "cache_mode": "the cache mode {}",
}


def _in_files(some: int, everything: int) -> str:
    if some < everything:
        return f"{some:,} of {everything:,} file names"
    return "all file names" if everything > 1 else "its file name"


def _use_sentence(use: file_names.Values, names: dict[tuple[str, str], str]) -> str:
    """Return "the guest file system XFS" for a use."""
    if use == {"hypervisor": "native"}:
        return "native, no hypervisor"
    return " and ".join(_USES[field].format(names.get((field, value), value)) for field, value in use.items())


def fields_of_entry(kind: str, initial: Mapping[str, Any]) -> dict[str, forms.Field]:
    """Return the fields of a new entry, which are optional unless it is chosen."""
    fields: dict[str, forms.Field] = {}
    for name in services.FIELDS[kind]:
        if name == "slug":
            fields[name] = forms.SlugField(
                required=False, max_length=40, help_text="Small letters, digits and hyphens."
            )
        else:
            column = services.MODELS[kind]._meta.get_field(name)
            assert isinstance(column, Field)  # no relation to other rows
            field = column.formfield(required=False)
            assert field is not None
            fields[name] = field
        fields[name].label, fields[name].initial = name.replace("_", " ").capitalize(), initial.get(name, "")
    return fields


def _choice(choices: list[tuple[str, str]], empty: str) -> forms.ChoiceField:
    return forms.ChoiceField(required=False, choices=[("", empty), *choices])
