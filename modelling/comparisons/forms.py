"""Checks which entries are to be compared."""

from collections.abc import Iterable
from itertools import product
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.urls import reverse

from modelling.evidence import names
from modelling.evidence.axes import AXES, KINDS, entry_key, entry_label
from modelling.evidence.forms import LONGEST_KEY, AskForm, QuestionForm, axes_with, entry_error, shown
from modelling.evidence.question import Question

from .comparison import MOST


class ComparisonForm(QuestionForm):
    """A comparison as a program asks for it: two to six different keys, separated by commas."""

    needs = None  # type: ignore[assignment]  # it recommends nothing
    entries = forms.CharField(max_length=MOST * (LONGEST_KEY + 1))

    def clean_entries(self) -> list[str]:
        keys = [key.strip() for key in self.cleaned_data["entries"].split(",")]
        if errors := [error for key in keys if self.axis in AXES and (error := entry_error(self.axis, key))]:
            raise forms.ValidationError(errors)
        if repeated := [key for place, key in enumerate(keys) if key in keys[:place]]:
            raise forms.ValidationError(f"Give different entries; {repeated[0]} stands here twice.")
        if not 2 <= len(keys) <= MOST:
            raise forms.ValidationError(f"Give two to {MOST} entries.")
        return keys


ENTRY_FIELDS = dict(zip("abcdef", ("First", "Second", "Third", "Fourth", "Fifth", "Sixth"), strict=True))


class CompareForm(AskForm):
    """The entries as a person chooses them, from those that the axis can have: two to six, or none for the answer's."""

    needs = None  # type: ignore[assignment]  # it recommends nothing
    field_order = ("axis", *QuestionForm.field_order, *ENTRY_FIELDS)

    def __init__(self, data: Any = None, *, axis: str = "") -> None:
        """axis : whose entries are offered by a form that nothing was asked with yet"""
        super().__init__(data)
        self.axis = axis or self.axis
        self.initial = {"axis": self.axis}
        known = entry_choices(self.axis, names.names())
        self.fields["axis"].widget.attrs |= {
            "hx-get": reverse("compare"),
            "hx-target": "#entries",
            "hx-swap": "outerHTML",
        }
        for name, label in ENTRY_FIELDS.items():
            choices = [("", "As the answer ranks them" if name in "ab" else "–"), *known]
            chosen = (data or {}).get(name) or ""
            others = [(chosen, chosen)] if chosen and chosen not in dict(choices) else []
            self.fields[name] = forms.CharField(
                required=False, max_length=LONGEST_KEY, label=label, widget=forms.Select(choices=[*choices, *others])
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
            chosen = names.label(AXES[self.axis], given[name]) if name not in self.errors else given[name]
            self.add_error(name, f"{chosen} is chosen twice: give different entries, or leave this one open.")
        if len(given) == 1:
            missing = "b" if "a" in given else "a"
            self.add_error(missing, "Give two to six entries, or none for the best and the last of the answer.")
        return cleaned

    @classmethod
    def showing_entries(cls, question: Question, keys: Iterable[str]) -> "CompareForm":
        """Return the form filled in with what was compared."""
        return cls({**shown(question), **dict(zip(ENTRY_FIELDS, keys, strict=False))})

    def elsewhere(self) -> list[tuple[str, str]]:
        """Return the axes to which all given entries belong, where this one is not among them: label and where they are
        compared on it."""
        given = [key for name in ENTRY_FIELDS if (key := self.data.get(name))]
        axes = [axis for axis in AXES if given and all(axis in axes_with(key) for key in given)]
        asked = {name: value for name in self.fields if (value := self.data.get(name))}
        addresses = [f"{reverse('compare')}?{urlencode({**asked, 'axis': axis})}" for axis in axes]
        labels = [AXES[axis].label.lower() for axis in axes]
        return [] if self.axis in axes else list(zip(labels, addresses, strict=True))

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


def entry_choices(axis: str, names: dict[str, dict[str, str]]) -> list[tuple[str, str]]:
    """Return every entry that the axis can have, as (key, label); configurations only by hypervisor and pair."""
    if axis not in AXES:
        return []
    asked = AXES[axis]
    if asked.setting and asked.setting.of:  # a release of something: only those that are stated
        return list(names[axis].items())
    columns = [[""] if column in asked.optional else names[KINDS[column]] for column in asked.entry]
    keys = [entry_key(asked, values) for values in product(*columns)]
    return [(key, entry_label(asked, key, names)) for key in keys]
