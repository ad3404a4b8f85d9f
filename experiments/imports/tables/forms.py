"""The forms of a published table, one a step: each takes the conditions so far and returns them with its answers."""

import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.db.models import Field, URLField
from django.utils.text import slugify
from django.utils.timezone import localdate

from experiments.case_studies.forms import draft_forms
from experiments.catalogue import services
from experiments.imports import normalise
from experiments.imports.forms import NEW, fields_of_entry
from experiments.models import CaseStudy, Publication
from experiments.readers.table_columns import FIELDS, IGNORED, PARAMETER
from experiments.rules.entry_names import NATIVE, fold
from kdb.disk_path import SETTINGS
from kdb.units import METRICS, UNITS

from .conditions import FACTS, IS_A, ConditionsError
from .drafting import TableReading, known_names
from .parsing import MAX_BYTES, PlainTable
from .suggestions import VALUE, close_entry
from .wizard import Document, conditions, document_of

WORDS = "words"  # role of a column whose words each mean several settings
MAX_WORDS = 200  # of one column, that the user is asked about
MAX_QUESTIONS = 100  # words on one page: a request has at most 1,000 fields
MAX_BASES = 60  # words that may identify the row that percentages refer to
NO_NAME = "none"  # no slug: a reserved word (experiments.rules.entry_names)
METRIC_CHOICES = [("", "by the unit"), *((metric.name, metric.label) for metric in METRICS.values())]
OF_THE_NUMBER = ("unit", "metric", "standard_deviation", "minimum", "maximum", "repetition", "repetitions", "reference")


def label_of(column: str) -> str:
    """Return how a column of the template reads in a form."""
    if column.startswith(PARAMETER):
        return f"Parameter {column.removeprefix(PARAMETER)}"
    return FIELDS[column].label if column in FIELDS else column.replace("_", " ").capitalize()


def _column_choices() -> list[tuple[str, list[tuple[str, str]]]]:
    load = (*normalise.WORKLOAD, "operation", "block_size_bytes", "vm_count", "working_set_bytes")
    settings = [name for name in normalise.CONFIGURATION if name != "configuration"]
    number = [*OF_THE_NUMBER, "source", "note"]
    rest = [name for name in FIELDS if name not in (*load, *settings, *number, VALUE)]
    groups = {"The load": load, "Where it ran": settings, "Beside a number": number, "Rarely": ["pair", *rest]}
    return [(name, [(column, label_of(column)) for column in columns]) for name, columns in groups.items()]


class PasteForm(forms.Form):
    """A table, pasted or as a file, and perhaps its conditions."""

    text = forms.CharField(
        required=False,
        label="Paste it here",
        max_length=MAX_BYTES,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 12, "spellcheck": "false"}),
    )
    file = forms.FileField(required=False, label="or choose a file: a web page, CSV, Markdown, text, XLSX")
    conditions = forms.FileField(required=False, label="Its conditions, where you have them (TOML)")

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        if bool(data.get("text", "").strip()) == bool(data.get("file")):
            raise forms.ValidationError("Paste a table, or choose a file: one of the two.")
        if data.get("file") and data["file"].size > MAX_BYTES:
            self.add_error("file", f"{data['file'].size:,} bytes; at most {MAX_BYTES:,} are read.")
        return data

    def clean_conditions(self) -> Document:
        return _document(self.cleaned_data["conditions"])


class ConditionsForm(forms.Form):
    conditions = forms.FileField(label="A file of conditions (TOML)")

    def clean_conditions(self) -> Document:
        return _document(self.cleaned_data["conditions"])


def _document(file: "UploadedFile[Any] | None") -> Document:
    if file is None:
        return {}
    try:
        return document_of(file.read(2**20).decode())
    except UnicodeDecodeError as error:
        raise forms.ValidationError("It is no UTF-8 text.") from error
    except ConditionsError as error:
        raise forms.ValidationError(str(error)) from error


class StepForm(forms.Form):
    """A step of the wizard, whose fields depend on the table and on the answers so far."""

    def __init__(self, data: Any = None, *, table: PlainTable, document: Document, reading: TableReading) -> None:
        super().__init__(data)
        self.table, self.previous, self.reading = table, document, reading
        self.build()

    def build(self) -> None:
        raise NotImplementedError

    def document(self) -> Document:
        """Return the conditions with what this step says, of a form that is valid."""
        raise NotImplementedError

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if not self.errors:
            try:
                conditions(self.document())
            except ConditionsError as error:
                raise forms.ValidationError(str(error)) from error
        return data

    def text(self, name: str, label: str, initial: Any = "", known: str = "", most: int = 200) -> None:
        """Add a field for a text. known : the list of what may be chosen"""
        widget = forms.TextInput(attrs={"list": known} if known else {})
        self.fields[name] = forms.CharField(
            required=False, label=label, initial=initial, max_length=most, widget=widget
        )

    def choice(self, name: str, label: str, choices: list[Any], initial: Any = "") -> None:
        """Add a field for one of several; what is kept already may stay."""
        known = {value for value, text in choices if isinstance(text, str)}
        known |= {value for _, group in choices if not isinstance(group, str) for value, _ in group}
        if initial and initial not in known:
            choices = [*choices, (initial, label_of(initial))]
        self.fields[name] = forms.ChoiceField(required=False, label=label, initial=initial, choices=choices)


# Columns


class ColumnsForm(StepForm):
    """The step that asks what each column holds."""

    NUMBERS = ("unit", "workload", "operation", "block_size_bytes", "metric")

    def build(self) -> None:
        document = self.previous
        choices = [
            ("", "not said yet"),
            (IGNORED, "nothing: leave it out"),
            (VALUE, "numbers: a measurement each"),
            (WORDS, "several settings, by its words"),
            (PARAMETER, "a parameter of the load, called so"),
            *_column_choices(),
        ]
        bases = self._bases()
        for at, heading in enumerate(self.table.header):
            numbers = document.get("values", {}).get(heading)
            role = VALUE if numbers is not None else document.get("columns", {}).get(heading, "")
            if not role and heading in document.get("words", {}):
                role = WORDS
            if role.startswith(PARAMETER) and fold(role.removeprefix(PARAMETER)) == fold(heading):
                role = PARAMETER
            self.choice(f"role-{at}", f"{heading} holds", choices, role)
            numbers = numbers or {}
            self.text(f"unit-{at}", "Unit", numbers.get("unit", ""), "known-unit", 40)
            self.text(f"workload-{at}", "Workload", numbers.get("workload", ""), "known-workload", 80)
            self.text(f"operation-{at}", "Operation", numbers.get("operation", ""), "known-operation", 40)
            self.text(f"block_size_bytes-{at}", "Block size", numbers.get("block_size_bytes", ""), most=20)
            self.choice(f"metric-{at}", "What is measured", METRIC_CHOICES, numbers.get("metric", ""))
            self.text(
                f"parameters-{at}", "Parameters, like threads = 8", _pairs_text(_parameters_of(numbers)), most=500
            )
            if any("%" in row[at] for row in self.table.rows) or "%" in heading:
                self.fields[f"percent_of-{at}"] = forms.MultipleChoiceField(
                    required=False,
                    label="Percentages are of the row that has",
                    choices=bases,
                    initial=["\t".join(pair) for pair in numbers.get("percent_of", {}).items()],
                    widget=forms.CheckboxSelectMultiple,
                )

    def _bases(self) -> list[tuple[str, str]]:
        """Return headings and words that tell rows apart: choices for the row that percentages refer to."""
        bases = []
        for at, heading in enumerate(self.table.header):
            words = dict.fromkeys(row[at] for row in self.table.rows)
            if 1 < len(words) <= MAX_BASES and heading not in self.previous.get("values", {}):
                bases += [(f"{heading}\t{word}", f"{heading}: {word}"[:80]) for word in words if word]
        return bases[:MAX_BASES]

    @property
    def columns(self) -> list[dict[str, Any]]:
        """Return each column with its fields, and what is stated of its numbers."""
        return [
            {
                "heading": heading,
                "role": self[f"role-{at}"],
                "numbers": [
                    self[name_at]
                    for name in (*self.NUMBERS, "parameters", "percent_of")
                    if (name_at := f"{name}-{at}") in self.fields
                ],
                "facts": [
                    text
                    for name in (*self.NUMBERS, "parameters")
                    if self[f"role-{at}"].value() == VALUE and (text := self[f"{name}-{at}"].value())
                ],
                "is_open": any(name.endswith(f"-{at}") for name in self.errors)
                or (f"percent_of-{at}" in self.fields and not self[f"percent_of-{at}"].value()),
            }
            for at, heading in enumerate(self.table.header)
        ]

    def document(self) -> Document:
        columns: dict[str, str] = {}
        values: dict[str, dict[str, Any]] = {}
        words: dict[str, Any] = {
            heading: meanings for heading, meanings in self.previous.get("words", {}).items() if heading in FIELDS
        }
        for at, heading in enumerate(self.table.header):
            role = self.cleaned_data[f"role-{at}"]
            fields = {name: text for name in self.NUMBERS if (text := self.cleaned_data[f"{name}-{at}"].strip())}
            before = self.previous.get("values", {}).get(heading, {})
            kept = {
                name: value
                for name, value in before.items()
                if name not in (*self.NUMBERS, "percent_of") and not name.startswith(PARAMETER)
            }
            parameters = _split_assignments(self.cleaned_data[f"parameters-{at}"])
            fields = kept | fields | {PARAMETER + name: value for name, value in parameters}
            if bases := self.cleaned_data.get(f"percent_of-{at}"):
                fields["percent_of"] = dict(base.split("\t", 1) for base in bases)
            if role == VALUE and fields:
                values[heading] = fields
            elif role == WORDS:
                distinct = dict.fromkeys(row[at] for row in self.table.rows if row[at])
                words[heading] = self.previous.get("words", {}).get(heading) or {
                    word: {} for word in list(distinct)[:MAX_WORDS]
                }
            elif role:
                columns[heading] = f"{PARAMETER}{heading.casefold()[:80]}" if role == PARAMETER else role
                if heading in self.previous.get("words", {}) and role == self.previous.get("columns", {}).get(heading):
                    words[heading] = self.previous["words"][heading]
        return {**self.previous, "columns": columns, "values": values, "words": words}

    def clean(self) -> dict[str, Any]:
        data = super().clean()
        roles = [data.get(f"role-{at}") for at in range(len(self.table.header))]
        if VALUE not in roles:
            raise forms.ValidationError("At least one column holds numbers.")
        for at, role in enumerate(roles):
            if not all(map(all, _split_assignments(data.get(f"parameters-{at}", "")))):
                self.add_error(f"parameters-{at}", "Like threads = 8; another one after a semicolon.")
            if role and role not in (IGNORED, VALUE, WORDS, PARAMETER) and roles.count(role) > 1:
                self.add_error(f"role-{at}", "Another column is said to hold this, too.")
        return data


def _parameters_of(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the load's parameters among columns of the template, by name."""
    return {name.removeprefix(PARAMETER): value for name, value in fields.items() if name.startswith(PARAMETER)}


def _pairs_text(pairs: Mapping[str, Any], separator: str = "; ") -> str:
    """Return "threads = 8; iodepth = 4": `_pairs` reads the same from it."""
    return separator.join(f"{name} = {value}" for name, value in pairs.items())


def _split_assignments(text: str, separator: str = ";") -> list[tuple[str, str]]:
    """Return "threads = 8; iodepth = 4" as names with their values, "" where one is missing."""
    parts = (part.partition("=") for part in text.split(separator) if part.strip())
    return [(name.strip(), value.strip()) for name, _, value in parts]


# Everywhere


class EverywhereForm(StepForm):
    """The step that asks what holds for the whole table and stands in no column."""

    MAIN = (
        *("hypervisor", "host_fs", "backend", "guest_fs", "guest_access", "vm_count"),
        *("workload", "benchmark", "block_size_bytes", "operation", "unit"),
    )
    BESIDE = ("metric", "repetitions", "working_set_bytes", "reference")

    def build(self) -> None:
        everywhere = self.previous.get("everywhere", {})
        in_columns = set(self.previous.get("columns", {}).values())
        asked = dict.fromkeys((*self.MAIN, *normalise.CONTEXT, *self.BESIDE))
        self.asked = [name for name in asked if name not in {*in_columns, "configuration", "storage_kind"}]
        for name in self.asked:
            initial = everywhere.get(name, "")
            if name in normalise.CHOICES:
                self.choice(name, label_of(name), [("", "not stated"), *_settings_of(name)], initial)
            elif name == "metric":
                self.choice(name, label_of(name), METRIC_CHOICES, initial)
            else:
                self.text(name, label_of(name), initial, _datalist_of(name), 2_000 if name == "note" else 200)
        self.fields["parameters"] = forms.CharField(
            required=False,
            label="Parameters of the load, one a line, like iodepth = 64",
            initial=_pairs_text(_parameters_of(everywhere), "\n"),
            max_length=4_000,
            widget=forms.Textarea(attrs={"rows": 3}),
        )
        self.choice(
            "decimal",
            "Before the decimals stands",
            [(".", "a point: 1,234.5"), (",", "a comma: 1.234,5")],
            self.previous.get("decimal", "."),
        )

    @property
    def main(self) -> list[forms.BoundField]:
        return [self[name] for name in self.asked if name in self.MAIN]

    @property
    def further(self) -> list[forms.BoundField]:
        return [self[name] for name in (*self.asked, "parameters", "decimal") if name not in self.MAIN]

    def clean_parameters(self) -> str:
        text: str = self.cleaned_data["parameters"]
        for line in filter(str.strip, text.splitlines()):
            if not all(part.strip() for part in line.partition("=")):
                raise forms.ValidationError(f"{line.strip()[:60]!r} is not like iodepth = 64.")
        return text

    def document(self) -> Document:
        kept = {  # what a file said of columns that are not asked about here
            name: value
            for name, value in self.previous.get("everywhere", {}).items()
            if name not in self.fields and not name.startswith(PARAMETER)
        }
        kept |= {name: text for name in self.asked if (text := self.cleaned_data[name].strip())}
        kept |= {PARAMETER + name: value for name, value in _split_assignments(self.cleaned_data["parameters"], "\n")}
        return {**self.previous, "everywhere": kept, "decimal": self.cleaned_data["decimal"] or "."}


def _settings_of(column: str) -> list[tuple[str, str]]:
    return [
        (value, SETTINGS[column].value_label(value) if column in SETTINGS else value)
        for value in normalise.CHOICES[column]
    ]


def _datalist_of(column: str) -> str:
    """Return the id of the list of suggestions for a column; "" where there is none."""
    kind = normalise.NAMED.get(column)
    return f"known-{kind}" if kind else f"known-{column}" if column in ("operation", "unit") else ""


def lists() -> dict[str, list[str]]:
    """Return the values that each list of suggestions offers, by the list's name."""
    study = CaseStudy()
    return {
        "unit": [*UNITS, "GB/s", "GiB/s", "Mbit/s", "kIOPS", "ns", "min"],
        "operation": ["mixed", "read", "write", "random-read", "random-write"],
        **{kind: [name for _, name in services.choices(kind, study)] for kind in normalise.KINDS},
    }


# Names


class NamesForm(StepForm):
    """The step that maps the table's words to entries of the catalogue: all words in columns of names, and every other
    name that is not known."""

    def build(self) -> None:
        self.names = known_names(conditions(self.previous))
        study = CaseStudy()
        self.entries = {kind: services.choices(kind, study) for kind in normalise.KINDS}
        self.proposed = {(entry[IS_A], entry["slug"]): entry for entry in self.previous.get("new", [])}
        self.suggested: set[str] = set()  # fields that are filled in from a similar spelling
        asked = list(self._words_of_columns())
        known = {(kind, spelling) for _, _, kind, word, slug in asked for spelling in (fold(word), fold(slug))}
        asked += [("", "", kind, word, "") for kind, word in self.reading.unknown if (kind, fold(word)) not in known]
        asked += [("", "", kind, slug, slug) for kind, slug in self.proposed if (kind, fold(slug)) not in known]
        asked.sort(key=lambda question: bool(question[4]))  # what is not known first
        self.more = max(0, len(asked) - MAX_QUESTIONS)
        self.asked = {_field_name("name", *question[:4]): question for question in asked[:MAX_QUESTIONS]}
        for name, (heading, column, kind, word, slug) in self.asked.items():
            self._add_question(name, heading, column, kind, word, slug)
        self.several = list(self._multi_setting_words())[:MAX_QUESTIONS]

    def _words_of_columns(self) -> Iterator[tuple[str, str, str, str, str]]:
        """Yield heading, column, kind, word and slug so far ("": not known) of each word in the rows that are taken."""
        words = self.previous.get("words", {})
        left_out = {omission.line for omission in self.reading.left_out}
        rows = zip(self.table.lines, self.table.rows, strict=True)
        taken = [row for line, row in rows if line not in left_out]
        for at, heading in enumerate(self.table.header):
            column = self.previous.get("columns", {}).get(heading, "")
            kind = normalise.NAMED.get(column, "")
            if not kind and column not in normalise.CHOICES:
                continue
            for word in list(dict.fromkeys(row[at] for row in taken if row[at]))[:MAX_WORDS]:
                meaning = next(
                    (given for known, given in words.get(heading, {}).items() if fold(known) == fold(word)), None
                )
                if meaning is not None and set(meaning) - {column}:
                    continue  # a file says more of it than can be said here
                known_slug = self.names.find(kind, word) if kind else normalise.value_of_spelling(column, word)
                if kind == "hypervisor" and fold(word) in NATIVE:
                    known_slug = "native"
                slug = (meaning or {}).get(column) or known_slug or ""
                if kind or not known_slug or meaning:
                    yield heading, column, kind, word, slug

    def _add_question(self, name: str, heading: str, column: str, kind: str, word: str, slug: str) -> None:
        if not kind:
            self.choice(name, f"{word} is", [("", "not known yet"), *_settings_of(column)], slug)
            return
        proposed = self.proposed.get((kind, slug))
        near = "" if slug else close_entry(word, self.names.known[kind])
        if near:
            self.suggested.add(name)
        natives = [("native", "native, no hypervisor")] if kind == "hypervisor" else []
        no_name = [(NO_NAME, "no name: leave its rows out")] if heading else []
        choices = [("", "not known yet"), (NEW, "a new one, described below"), *no_name, *natives, *self.entries[kind]]
        self.choice(name, f"{word} is", choices, NEW if proposed else slug or near)
        described = proposed or {"name": word[:80], **services.fields_for(kind, word)}
        for field_name, field in fields_of_entry(kind, described).items():
            if isinstance(field.widget, forms.Textarea):
                field.widget.attrs["rows"] = 2
            self.fields[f"{name}-{field_name}"] = field

    def _multi_setting_words(self) -> Iterator[tuple[str, str, str]]:
        """Yield heading, word and field name of each word that stands for several settings."""
        for heading, of_column in self.previous.get("words", {}).items():
            if heading in self.previous.get("columns", {}) or heading not in self.table.header:
                continue
            for word, given in list(of_column.items())[:MAX_WORDS]:
                name = _field_name("several", heading, word)
                self.text(name, f"{word} means", _pairs_text(given), most=500)
                yield heading, word, name

    @property
    def name_rows(self) -> list[dict[str, Any]]:
        rows = []
        for name, (heading, column, kind, word, slug) in self.asked.items():
            new = [self[f"{name}-{field}"] for field in services.FIELDS[kind]] if kind else []
            is_new = self[name].value() == NEW
            rows.append(
                {
                    "heading": heading,
                    "what": (kind or column).replace("_", " "),
                    "word": word,
                    "field": self[name],
                    "new": new,
                    "is_new": is_new,
                    "is_suggested": name in self.suggested,
                    "is_known": bool(slug) and not is_new,
                }
            )
        return sorted(rows, key=lambda row: row["is_known"])

    @property
    def several_rows(self) -> list[dict[str, Any]]:
        return [{"heading": heading, "field": self[name]} for heading, _, name in self.several]

    def clean(self) -> dict[str, Any]:
        for name, (_, _, kind, word, _) in self.asked.items():
            if kind and self.cleaned_data.get(name) == NEW:
                fields = {
                    field: text
                    for field in services.FIELDS[kind]
                    if (text := str(self.cleaned_data.get(f"{name}-{field}") or ""))
                }
                try:
                    services.new_entry(kind, fields.get("slug", ""), fields, source="")
                except services.EntryError as error:
                    self.add_error(name, str(error).replace("a new ", f"“{word}” as a new ", 1))
        for _, _, name in self.several:
            for part in filter(str.strip, self.cleaned_data.get(name, "").split(";")):
                column, _, value = (piece.strip() for piece in part.partition("="))
                if not value or (column not in FIELDS and not column.startswith((PARAMETER, "parameter "))):
                    self.add_error(
                        name, f"{part.strip()[:60]!r} is not like cache_mode = none; another setting after a semicolon."
                    )
        return super().clean()

    def document(self) -> Document:
        words = {heading: dict(given) for heading, given in self.previous.get("words", {}).items()}
        new: dict[tuple[str, str], dict[str, str]] = dict(self.proposed)
        renamed: dict[tuple[str, str], str] = {}
        leave_out = list(self.previous.get("leave_out", []))
        for name, (heading, column, kind, word, before) in self.asked.items():
            choice = self.cleaned_data[name]
            if kind and choice == NO_NAME:
                reason = f"“{word}” is no {kind.replace('_', ' ')}."
                leave_out.append({"where": {heading: word}, "reason": reason})
                continue
            new_slug = ""
            if kind and choice == NEW:
                fields = {field: str(self.cleaned_data[f"{name}-{field}"] or "") for field in services.FIELDS[kind]}
                new_slug = fields["slug"]
                if before and before != new_slug:
                    new.pop((kind, before), None)
                new[kind, new_slug] = {IS_A: kind, **{name: text for name, text in fields.items() if text}}
            elif before and (kind, before) in new and choice != before:
                del new[kind, before]
            slug = new_slug or choice
            if not heading:
                renamed[kind, fold(word)] = slug
                continue
            of_column = {known: given for known, given in words.get(heading, {}).items() if fold(known) != fold(word)}
            is_plain = kind and self.names.known[kind].get(fold(word)) == slug
            if slug and not is_plain and slug != word:
                of_column[word] = {column: slug}
            words[heading] = of_column
        for heading, word, name in self.several:
            words[heading][word] = dict(_split_assignments(self.cleaned_data[name]))
        document = {**self.previous, "words": {heading: given for heading, given in words.items() if given}}
        document |= {"new": list(new.values()), "leave_out": leave_out}
        for section in ("everywhere", "values"):
            document[section] = _replace_slugs(document.get(section, {}), renamed)
        document["words"] = {heading: _replace_slugs(given, renamed) for heading, given in document["words"].items()}
        return document


def _field_name(*parts: str) -> str:
    """Return a field name that depends on these words alone, so that it stays while the rest of the page changes."""
    return f"{parts[0]}-{sha256(repr(parts).encode()).hexdigest()[:12]}"


def _replace_slugs(fields: Mapping[str, Any], renamed: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    """Return fields, and those inside them, with the slugs that were chosen for words of the catalogue's kinds."""
    return {
        name: _replace_slugs(value, renamed)
        if isinstance(value, dict)
        else renamed.get((normalise.NAMED.get(name, ""), fold(str(value)))) or value
        for name, value in fields.items()
    }


# Rows


class RowsForm(StepForm):
    """Rows that are not taken, each with its reason."""

    def build(self) -> None:
        for rows in self.previous.get("leave_out", []):
            which = ", ".join(map(str, rows.get("lines", []))) or ", ".join(
                f"{heading}: {word}" for heading, word in rows.get("where", {}).items()
            )
            self.fields[_field_name("again", str(rows))] = forms.BooleanField(
                required=False, label=f"Take them again: {which[:100]} ({rows['reason']})"
            )
        self.text("lines", "Lines to leave out, like 4, 7-9")
        self.text("reason", "Why", most=300)

    @property
    def again(self) -> list[forms.BoundField]:
        return [self[name] for name in self.fields if name.startswith("again-")]

    def clean_lines(self) -> list[int]:
        lines: set[int] = set()
        known = set(self.table.lines)
        for part in re.split(r"[,\s]+", self.cleaned_data["lines"].strip().replace("–", "-")):
            if not part:
                continue
            match = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", part)
            if match is None:
                raise forms.ValidationError(f"{part[:20]!r} is no line; lines are like 4, 7-9.")
            first, last = int(match[1]), int(match[2] or match[1])
            matching_lines = {line for line in known if first <= line <= last}
            if not matching_lines:
                raise forms.ValidationError(f"The table has no row on line {part}.")
            lines |= matching_lines
        return sorted(lines)

    def clean(self) -> dict[str, Any]:
        if self.cleaned_data.get("lines") and not self.cleaned_data.get("reason"):
            self.add_error("reason", "Say why these rows are not taken; readers see it.")
        return super().clean()

    def document(self) -> Document:
        kept = [
            rows
            for rows in self.previous.get("leave_out", [])
            if not self.cleaned_data[_field_name("again", str(rows))]
        ]
        if self.cleaned_data["lines"]:
            kept.append({"lines": self.cleaned_data["lines"], "reason": self.cleaned_data["reason"]})
        return {**self.previous, "leave_out": kept}


# Study and source


class SourceForm(StepForm):
    """The step that asks what the study is, what it was measured on, and who published it."""

    SOURCE = {
        "title": "Title of the source",
        "authors": "Authors, one a line",
        "year": "Year",
        "venue": "Where it appeared: journal, blog, forum",
        "address": "Address",
        "doi": "DOI",
        "made_on": "Day on which it was published",
        "read_on": "Day on which you read it",
        "archive_address": "Address of a copy in an archive",
        "note": "What else is known of it",
    }
    MAIN = (
        *("case_study-title", "case_study-slug", "case_study-laboratory", "case_study-procedure"),
        *("case_study-fits_cache", "storage-description", "storage-kind"),
    )

    def build(self) -> None:
        for section, form in draft_forms().items():
            for name in [name for name in form.fields if name in FACTS[section]]:
                self.fields[f"{section}-{name}"] = form.fields[name]
                form.fields[name].required = name in ("title", "slug", "description")
        self.fields["storage-kind"].label = "Kind of disks"
        self.fields["case_study-notes"] = forms.CharField(
            required=False,
            label="Traps and doubts a reader should know, one a line",
            max_length=8_000,
            widget=forms.Textarea(attrs={"rows": 3}),
        )
        for name, label in self.SOURCE.items():
            if name not in ("authors", "made_on"):
                column = Publication._meta.get_field(name)
                assert isinstance(column, Field)
                further: dict[str, Any] = {"assume_scheme": "https"} if isinstance(column, URLField) else {}
                made = column.formfield(required=False, label=label, help_text="", **further)
                assert made is not None
                self.fields[f"source-{name}"] = made
        self.fields["source-authors"] = forms.CharField(
            required=False, label=self.SOURCE["authors"], max_length=4_000, widget=forms.Textarea(attrs={"rows": 2})
        )
        self.fields["source-made_on"] = forms.DateField(required=False, label=self.SOURCE["made_on"])
        for name in ("source-made_on", "source-read_on"):
            self.fields[name].widget = forms.DateInput(attrs={"type": "date"})
        self.fields["source-note"].widget = forms.Textarea(attrs={"rows": 2})
        for name, field in self.fields.items():
            section, _, key = name.partition("-")
            initial = self.previous.get(section, {}).get(key, "")
            field.initial = "\n".join(initial) if isinstance(initial, list) else initial
        if "source" not in self.previous:
            self.fields["source-read_on"].initial = localdate()
        if not self.fields["case_study-slug"].initial and (title := self.previous.get("case_study", {}).get("title")):
            self.fields["case_study-slug"].initial = slugify(title)[:60]

    @property
    def main(self) -> list[forms.BoundField]:
        return [self[name] for name in self.MAIN]

    @property
    def source(self) -> list[forms.BoundField]:
        return [self[f"source-{name}"] for name in self.SOURCE]

    @property
    def further(self) -> list[forms.BoundField]:
        return [self[name] for name in self.fields if name not in self.MAIN and not name.startswith("source-")]

    def document(self) -> Document:
        document = {**self.previous}
        for section in FACTS:
            asked = {
                name.partition("-")[2]: value
                for name, value in self.cleaned_data.items()
                if name.startswith(f"{section}-")
            }
            kept = {name: value for name, value in document.get(section, {}).items() if name not in asked}
            for name, value in asked.items():
                if name in ("authors", "notes"):
                    value = [line.strip() for line in value.splitlines() if line.strip()]
                elif name in ("made_on", "read_on") and value:
                    value = value.isoformat()
                if value not in (None, "", []):
                    kept[name] = value
            document[section] = kept
        return document


FORMS: dict[str, type[StepForm]] = {
    "columns": ColumnsForm,
    "everywhere": EverywhereForm,
    "names": NamesForm,
    "rows": RowsForm,
    "source": SourceForm,
}
