"""The question as a page or the API asks it, checked."""

from collections.abc import Iterable
from typing import Any

from django import forms

from modelling.comparisons.comparison import MOST
from modelling.evidence import names
from modelling.evidence.axes import AXES, KINDS, entry_parts
from modelling.evidence.question import GRADES, Question

from . import presentation

FURTHER_FILTERS = ("storage", "benchmark", "guest_os_family", "grade")

# field of the question: (kind of name in the catalogue, label on the page)
_NAMED_FIELDS = {
    "workload": ("workload", "Workload"),
    "hypervisor": ("hypervisor", "Hypervisor"),
    "guest_fs": ("file_system", "Guest file system"),
    "host_fs": ("file_system", "Host file system"),
    "storage": ("storage", "Storage"),
    "benchmark": ("benchmark", "Benchmark"),
    "guest_os_family": ("guest_os_family", "Guest system"),
}


class CatalogueField(forms.CharField):
    """A name from the catalogue; names and aliases are accepted as imports accept them, and become the slug."""

    def __init__(self, kind: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.kind = kind
        self.widget = forms.Select(choices=self._choices)  # read when shown; the API never shows it

    def _choices(self) -> list[tuple[str, str]]:
        empty = [] if self.required else [("", "Any")]
        return [*empty, *names.names()[self.kind].items()]

    @property
    def allowed(self) -> list[str]:
        """The slugs it stands for, in the catalogue's order."""
        return list(names.names()[self.kind])

    def clean(self, value: Any) -> str | None:
        name = super().clean(value)
        if not name:
            return None
        slug = names.slug_for(self.kind, name)
        if slug is None:
            raise forms.ValidationError(
                "%(value)r is not known here; allowed are %(allowed)s.",
                code="unknown",
                params={"value": name, "allowed": ", ".join(self.allowed)},
            )
        return slug


class QuestionForm(forms.Form):
    """One question on one axis. `question()` gives it once the form is valid."""

    vm_count = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=32767,
        label="Virtual machines",
        error_messages={"invalid": "Give a whole number of virtual machines, 1 or more."},
    )
    grade = forms.ChoiceField(
        required=False,
        label="Evidence at least",
        choices=[("", "Any"), *((g, g) for g in GRADES)],
        error_messages={"invalid_choice": "%(value)r is not a grade; allowed are A, B, C, D."},
    )
    field_order = (
        "workload",
        "hypervisor",
        "guest_fs",
        "host_fs",
        "vm_count",
        "storage",
        "benchmark",
        "guest_os_family",
        "grade",
    )

    def __init__(self, data: Any, *, axis: str) -> None:
        super().__init__(data)
        self.axis = axis
        for name, (kind, label) in _NAMED_FIELDS.items():
            self.fields[name] = CatalogueField(kind, label=label, required=name == "workload")
        self.order_fields(self.field_order)

    def question(self) -> Question:
        """The question asked; call it on a valid form only."""
        values = {name: self.cleaned_data[name] or None for name in QuestionForm.field_order}
        return Question(axis=self.axis, **values)


class AskForm(QuestionForm):
    """The question as a person puts it: the axis is one of the fields, VM counts are those that were run."""

    field_order = ("axis", *QuestionForm.field_order)

    def __init__(self, data: Any = None) -> None:
        axis = (data or {}).get("axis") or "fs-pair"
        super().__init__(data, axis=axis)
        self.fields["axis"] = forms.ChoiceField(
            label="What to choose",
            choices=presentation.axis_choices(),
            required=False,
            error_messages={"invalid_choice": "%(value)r cannot be ranked; choose from the list."},
        )
        workloads = names.names()["workload"]
        self.fields["workload"].widget = forms.Select(choices=[("", "Choose one"), *workloads.items()])
        self.fields["workload"].widget.is_required = True
        counts = names.vm_counts()
        asked = (data or {}).get("vm_count", "")
        others = [asked] if asked and asked not in map(str, counts) else []
        self.fields["vm_count"].widget = forms.Select(choices=[("", "Any"), *((n, n) for n in [*counts, *others])])
        self.order_fields(self.field_order)

    @classmethod
    def showing(cls, question: Question) -> "AskForm":
        """The form with the question filled in, slugs in place of aliases."""
        return cls({name: str(value) for name, value in question.as_dict().items() if value is not None})

    @property
    def main_fields(self) -> list[forms.BoundField]:
        return [field for field in self if field.name not in FURTHER_FILTERS]

    @property
    def further_fields(self) -> list[forms.BoundField]:
        return [field for field in self if field.name in FURTHER_FILTERS]

    @property
    def has_further_filters(self) -> bool:
        return any(field.value() or field.errors for field in self.further_fields)


_LONGEST_KEY = 200  # three slugs and a cache mode


def entry_error(axis: str, key: str) -> str:
    """What is wrong with an entry's key, or "". It need not be ranked: the model may speak of any."""
    try:
        parts = entry_parts(AXES[axis], key)
    except ValueError:
        form = {"fs-pair": "btrfs-on-ext4", "configuration": "kvm:btrfs-on-ext4"}.get(axis, "a slug")
        return f"{key!r} is not an entry of this axis; write it like {form}."
    for column, name in parts.items():
        known = names.names()[KINDS[column]]
        if name not in known and (name or column != "cache_mode"):
            return f"{name!r} in {key!r} is not known here; allowed are {', '.join(known) or 'none'}."
    return ""


class ComparisonForm(QuestionForm):
    """Which comparison a program asks for: two to six different keys, separated by commas."""

    entries = forms.CharField(max_length=MOST * (_LONGEST_KEY + 1))

    def clean_entries(self) -> list[str]:
        keys = [key.strip() for key in self.cleaned_data["entries"].split(",")]
        if errors := [error for key in keys if self.axis in AXES and (error := entry_error(self.axis, key))]:
            raise forms.ValidationError(errors)
        if len(set(keys)) != len(keys):
            raise forms.ValidationError("Give different entries.")
        if not 2 <= len(keys) <= MOST:
            raise forms.ValidationError(f"Give two to {MOST} entries.")
        return keys


class ExplanationForm(QuestionForm):
    """Which explanation a program asks for: of two entries, or none for the best and the last of the answer."""

    a = forms.CharField(required=False, max_length=_LONGEST_KEY)
    b = forms.CharField(required=False, max_length=_LONGEST_KEY)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        a, b = cleaned.get("a"), cleaned.get("b")
        if self.axis not in AXES:
            return cleaned
        for name in ("a", "b"):
            key = cleaned.get(name)
            error = entry_error(self.axis, key) if key else ""
            if bool(a) != bool(b) and not key and name not in self.errors:
                error = "Give both entries, or neither for the best and the last of the answer."
            if error:
                self.add_error(name, error)
        if a and a == b:
            self.add_error("b", "Give two different entries.")
        return cleaned


ENTRY_FIELDS = dict(zip("abcdef", ("First", "Second", "Third", "Fourth", "Fifth", "Sixth"), strict=True))


class CompareForm(AskForm):
    """The entries as a person chooses them, from those that the axis can have: two to six, or none for the answer's."""

    field_order = ("axis", *QuestionForm.field_order, *ENTRY_FIELDS)

    def __init__(self, data: Any = None) -> None:
        super().__init__(data)
        known = presentation.entry_choices(self.axis, names.names())
        for name, label in ENTRY_FIELDS.items():
            choices = [("", "As the answer ranks them" if name in "ab" else "–"), *known]
            chosen = (data or {}).get(name) or ""
            others = [(chosen, chosen)] if chosen and chosen not in dict(choices) else []
            self.fields[name] = forms.CharField(
                required=False, max_length=_LONGEST_KEY, label=label, widget=forms.Select(choices=[*choices, *others])
            )
        self.order_fields(self.field_order)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        given = {name: key for name in ENTRY_FIELDS if (key := cleaned.get(name))}
        cleaned["entries"] = list(given.values())
        if self.axis not in AXES or not given:
            return cleaned
        for name, key in given.items():
            if error := entry_error(self.axis, key):
                self.add_error(name, error)
        repeated = [name for name, key in given.items() if list(given.values()).index(key) < list(given).index(name)]
        for name in repeated:
            self.add_error(name, "Give different entries.")
        if len(given) == 1:
            missing = "b" if "a" in given else "a"
            self.add_error(missing, "Give two to six entries, or none for the best and the last of the answer.")
        return cleaned

    @classmethod
    def showing(cls, question: Question, keys: Iterable[str]) -> "CompareForm":
        """The form filled in with what was compared."""
        asked = {name: str(value) for name, value in question.as_dict().items() if value is not None}
        return cls({**asked, **dict(zip(ENTRY_FIELDS, keys, strict=False))})

    @property
    def question_fields(self) -> list[forms.BoundField]:
        return [field for field in self.main_fields if field.name not in ENTRY_FIELDS]

    @property
    def first_entries(self) -> list[forms.BoundField]:
        return [self["a"], self["b"], self["c"]]

    @property
    def further_entries(self) -> list[forms.BoundField]:
        return [self["d"], self["e"], self["f"]]

    @property
    def has_further_entries(self) -> bool:
        return any(field.value() or field.errors for field in self.further_entries)
