"""Forms of rankings, comparisons and mixes, and of a visitor's machine and question."""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from itertools import product
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.urls import reverse
from django.utils.choices import CallableChoiceIterator

from kdb.disk_path import SETTINGS
from kdb.web.widgets import Select
from modelling.answers.content import MeasuredRatio, RankedEntry
from modelling.answers.words import WEIGHT_DECIMALS
from modelling.ask.selectors import (
    DISKS,
    FACTS_OF_MACHINE,
    LONGEST_TEXT,
    MACHINE_FIELDS,
    Machine,
    Reading,
    Said,
    machine_fields,
    parse_host_storage,
    read_text,
)
from modelling.evidence import choices, names
from modelling.evidence.axes import AXES, KINDS, axis_left_open, entry_key, entry_label
from modelling.evidence.forms import (
    LONGEST_KEY,
    AnyWorkloadForm,
    AskForm,
    QuestionForm,
    axes_with,
    axis_choices,
    entry_error,
    shown,
)
from modelling.evidence.question import Question
from modelling.evidence.words import counted

MOST_ENTRIES = 6  # entries of a comparison


# Fields of an answer that CSV may have the items of, a row each: its entries, or the points of its chart.
CSV_ROWS = {"entries": RankedEntry, "side_by_side": MeasuredRatio}


class RankingForm(QuestionForm):
    """A question to the API, with a machine to compare with its evidence, and what CSV has rows of."""

    field_order = (*QuestionForm.field_order, *MACHINE_FIELDS)

    def __init__(self, data: Any, *, axis: str) -> None:
        super().__init__(data, axis=axis)
        self.fields |= machine_fields()
        self.fields["rows"] = forms.ChoiceField(
            required=False,
            choices=[(name, name) for name in CSV_ROWS],
            error_messages={"invalid_choice": f"%(value)r is not in an answer; allowed are {', '.join(CSV_ROWS)}."},
        )


class WeightsField(forms.CharField):
    """ "varmail:60,webserver:40" as a dict of slug and weight; names and aliases are accepted."""

    def clean(self, value: Any) -> dict[str, float]:
        weights: dict[str, float] = {}
        for part in super().clean(value).split(","):
            name, _, number = part.strip().partition(":")
            slug = names.slug_for("workload", name)
            if slug is None:
                known = ", ".join(names.names()["workload"])
                raise forms.ValidationError(f"{name!r} is no workload here; there are {known}.")
            if slug in weights:
                raise forms.ValidationError(f"{slug} is given twice.")
            if not re.fullmatch(rf"[0-9]{{1,6}}([.][0-9]{{1,{WEIGHT_DECIMALS}}})?", number.strip()):
                raise forms.ValidationError(f"{part!r}: a workload, a colon and a number, as in varmail:60.")
            weights[slug] = float(number)
        return _require_share(weights)


def _require_share(weights: dict[str, float]) -> dict[str, float]:
    if not any(weights.values()):
        raise forms.ValidationError("Give at least one workload a share above 0.")
    return weights


class ComparisonForm(QuestionForm):
    """A comparison in the API: two to six different keys, separated by commas."""

    needs = None  # type: ignore[assignment]  # it recommends nothing
    entries = forms.CharField(max_length=MOST_ENTRIES * (LONGEST_KEY + 1))

    def clean_entries(self) -> list[str]:
        keys = [key.strip() for key in self.cleaned_data["entries"].split(",")]
        if errors := [error for key in keys if self.axis in AXES and (error := entry_error(self.axis, key))]:
            raise forms.ValidationError(errors)
        if repeated := [key for place, key in enumerate(keys) if key in keys[:place]]:
            raise forms.ValidationError(f"Give different entries; {repeated[0]} stands here twice.")
        if not 2 <= len(keys) <= MOST_ENTRIES:
            raise forms.ValidationError(f"Give two to {MOST_ENTRIES} entries.")
        return keys


class MixApiForm(AnyWorkloadForm):
    def __init__(self, data: Any, *, axis: str) -> None:
        super().__init__(data, axis=axis)
        self.fields["weights"] = WeightsField(max_length=4_000)


class MixForm(AnyWorkloadForm, AskForm):
    """A mix on pages: a field with the share of each workload, in any unit."""

    def __init__(self, data: Any = None) -> None:
        super().__init__(data)
        self.workloads = list(names.names()["workload"].items())
        for slug, label in self.workloads:
            self.fields[slug] = forms.FloatField(
                required=False, min_value=0, max_value=999_999, label=f"{label}, share", widget=forms.NumberInput
            )

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        weights = {slug: data.get(slug) or 0.0 for slug, _ in self.workloads}
        if not self.errors:
            data["weights"] = _require_share({slug: round(weight, WEIGHT_DECIMALS) for slug, weight in weights.items()})
        return data

    @property
    def question_fields(self) -> list[forms.BoundField]:
        shares = dict(self.workloads)
        return [field for field in self.main_fields if field.name not in shares]

    @property
    def shares(self) -> list[forms.BoundField]:
        return [self[slug] for slug, _ in self.workloads]


class VisitorForm(AskForm):
    """A visitor's machine and question, partly as free text. The answer chooses what they leave open."""

    field_order = (
        *("workload", "text", "hypervisor", "disks", "images", "guest_os_family", "vm_count"),
        *("axis", "guest_fs", "host_fs", "host_storage", "storage", "benchmark", "grade", "evidence", "metric"),
        "needs",
        *SETTINGS,
    )
    reading: Said | None = None  # of the text, if there is one
    chosen: Reading | None = None  # the reading that is answered
    compared: tuple[str, ...] = ()  # two or more entries of the axis, chosen or named by the text

    def __init__(self, data: Any = None, *, asks: bool = True, compares: bool = False) -> None:
        """asks : whether it is submitted; before that, a missing workload is no error
        compares : whether to offer entries to compare, which are also offered where the data has some"""
        super().__init__(data)
        self.asks = asks and bool({"axis", "workload"} & set(self.data))
        self.compares = compares or bool(set(ENTRIES) & set(self.data))
        self.fields |= machine_fields()
        self.fields["text"] = forms.CharField(
            required=False,
            max_length=LONGEST_TEXT,
            error_messages={"max_length": f"The text has %(show_value)s characters; at most {LONGEST_TEXT} are read."},
            label="What do you want to run, on what?",
            widget=forms.TextInput(attrs={"placeholder": "mail server on Proxmox, SSDs"}),
        )
        self.fields["images"] = forms.CharField(required=False, max_length=40, label="VM disks are on")
        self.fields["workload"].required = self.fields["workload"].widget.is_required = False
        self.fields["vm_count"].label = "Machines at once"
        self.fields["storage"].label = "Only evidence from"
        for name, label in ENTRIES.items():
            choices = CallableChoiceIterator(partial(self._offered_entries, name))
            self.fields[name] = forms.CharField(
                required=False, max_length=LONGEST_KEY, label=label, widget=Select(choices=choices)
            )
        self._offer_choices()
        self.order_fields(self.field_order)

    @classmethod
    def filled_with(
        cls, question: Question, machine: Machine, text: str = "", keys: Sequence[str] = ()
    ) -> "VisitorForm":
        """Return the form filled in with a question and machine. keys : of the compared entries"""
        compared = {"axis": question.axis, **dict(zip(ENTRIES, keys, strict=False))} if keys else {}
        return cls({**_form_data(question, machine), "text": text, **compared})

    def as_understood(self) -> "VisitorForm":
        """Return the form filled in with the reading of its text."""
        data = self.given
        return VisitorForm({**data, "images": data.get("images") or data.get("host_fs", "")})

    @property
    def given(self) -> dict[str, str]:
        """Return the query parameters of a valid form, with the reading of its text."""
        given = {name: value for name, value in self.cleaned_data.items() if value not in (None, "", ())}
        return {name: ",".join(value) if isinstance(value, tuple) else str(value) for name, value in given.items()}

    @property
    def given_besides_text(self) -> dict[str, str]:
        """Return the query parameters of a valid form that do not come from reading its text."""
        readings = self.reading.readings if self.reading else ()
        read = {pair for reading in readings for pair in reading.filters.items()}
        read |= {pair for one in readings[:1] for pair in (("axis", one.axis), ("workload", one.workload))}
        return {name: value for name, value in self.given.items() if name != "text" and (name, value) not in read}

    @property
    def is_open(self) -> bool:
        """Return whether a valid form names no workload."""
        return not self.cleaned_data["workload"]

    @property
    def leaves_choice_open(self) -> bool:
        """Return whether the text of a valid form names a workload, perhaps a machine, but no axis."""
        is_whole = self.chosen is not None and self.chosen.is_whole and not self.cleaned_data["axis"]
        return is_whole and not self.is_open and self.given_besides_text.keys() <= {"workload", *FACTS_OF_MACHINE}

    @property
    def is_answered_by_page(self) -> bool:
        """Return whether a page or guide answers the text of a valid form, which names no axis."""
        return self.leaves_choice_open and self.reading is not None and bool(self.reading.pages or self.reading.guides)

    def clean_images(self) -> str:
        return parse_host_storage(self.cleaned_data["images"])

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if (on := data.get("images")) and on not in names.names()["images"]:
            if data.get("host_fs") not in (None, "", on):
                self.add_error("images", f"The address says {data['host_fs']!r} as well (host_fs); give one of them.")
            data["host_fs"], data["images"] = on, ""
        if text := data.get("text"):
            self.reading = read_text(text)
            self.chosen = chosen = self.reading.reading_beside(data)
            if chosen:
                read = {"axis": "" if chosen.is_whole else chosen.axis, "workload": chosen.workload, **chosen.filters}
                data |= {name: value for name, value in read.items() if value and not data.get(name)}
                self.compared = chosen.entries if len(chosen.entries) > 1 and data["axis"] == chosen.axis else ()
        if chosen_entries := {name: data[name] for name in ENTRIES if data.get(name)}:
            self._check_entries(data.get("axis") or _open_axis(data), chosen_entries)
        if not data.get("workload") and "workload" not in self.errors and self.asks and not text:
            self.add_error("workload", "A workload is required: choose one, or write what you run.")
        return data

    def _check_entries(self, axis: str, chosen: Mapping[str, str]) -> None:
        """Set the entries to compare, or add errors. chosen : field to key"""
        self.compared = tuple(chosen.values())
        for place, (name, key) in enumerate(chosen.items()):
            if error := entry_error(axis, key):
                self.add_error(name, error)
            elif key in self.compared[:place]:
                self.add_error(name, f"{names.label(AXES[axis], key)} is chosen twice: give different entries.")
        if len(chosen) == 1:
            self.add_error("b" if "a" in chosen else "a", "Give two to six entries, or none.")

    def other_axes(self) -> list[tuple[str, str]]:
        """Return label and comparison address of the axes with all chosen entries, if the requested one lacks some."""
        axes = [axis for axis in AXES if self.compared and all(axis in axes_with(key) for key in self.compared)]
        asked = {name: value for name in self.fields if (value := self.data.get(name))}
        labels = {axis: AXES[axis].label.lower() for axis in axes if self.data.get("axis") not in axes}
        return [(label, f"{reverse('compare')}?{urlencode({**asked, 'axis': axis})}") for axis, label in labels.items()]

    def question(self) -> Question:
        self.axis = self.cleaned_data["axis"] or _open_axis(self.cleaned_data)
        return super().question()

    # Fields and choices for templates

    @property
    def load_fields(self) -> list[forms.BoundField]:
        return [self["workload"]]

    @property
    def machine_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in ("hypervisor", "disks", "images", "guest_os_family", "vm_count")]

    @property
    def further_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in _FURTHER_FIELDS if name != "axis" or not self.compares]

    @property
    def entry_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in ("axis", *ENTRIES)]

    @cached_property
    def _entries(self) -> dict[str, str]:
        return dict(entry_choices(self._given.get("axis") or _open_axis(self._given), names.names()))

    def _offered_entries(self, name: str) -> list[tuple[str, str]]:
        """Return the choices of an entry field, including the chosen entry even if it is invalid."""
        chosen = self.data.get(name) or ""
        return [("", "–"), *({chosen: chosen} | self._entries if chosen else self._entries).items()]

    def _offer_choices(self) -> None:
        """Show the number of case studies behind each choice; lazily, as it is only needed for rendering."""
        for name, empty in _OFFERED.items():
            field = self.fields[name]
            field.widget = Select(field.widget.attrs, CallableChoiceIterator(partial(self._choices_of, name, empty)))

    def _choices_of(self, name: str, empty: str) -> list[tuple[Any, Any]]:
        """Return the choices of a field, those without any comparison in a group at the end."""
        counts = self._evidence.case_studies.get(_COUNTED_AS.get(name, name), {})
        column = _COUNTED_AS.get(name, name)
        used, chosen = self._evidence.used.get(column), self._given.get(column)
        systems = names.names()["file_system"]
        offered = {
            value: label
            for value, label in self._values[column].items()
            if not used or value not in systems or value in used or value == chosen
        }
        nowhere = [(value, label) for value, label in offered.items() if counts.get(value) == 0]
        leading = [
            (value, f"{label} ({counted(counts[value], 'case study', 'case studies')})" if value in counts else label)
            for value, label in offered.items()
            if counts.get(value) != 0
        ]
        return [("", empty), *leading, *([("No comparison yet", nowhere)] if nowhere else [])]

    @cached_property
    def _given(self) -> dict[str, Any]:
        """Return the valid fields so far."""
        self.is_valid()
        given = dict(self.cleaned_data) if self.is_bound else {}
        if given.get("images"):  # host storage that no case study has filters nothing, but settles the host file system
            given["axis"] = given.get("axis") or _open_axis(given)
        return given

    @cached_property
    def _values(self) -> Mapping[str, Mapping[Any, str]]:
        """Return field of a question to its values with labels."""
        known = names.names()
        counts = {*names.vm_counts(), *filter(None, [self._given.get("vm_count")])}
        return {
            **{name: known[name] for name in ("workload", "guest_os_family")},
            "hypervisor": known["hypervisor_or_native"],
            "guest_fs": known["file_system"],
            "host_fs": {**known["file_system"], **known["images"]},
            "storage": DISKS,
            "vm_count": {count: str(count) for count in sorted(counts)},
            "axis": dict(axis_choices()),
        }

    @cached_property
    def _evidence(self) -> choices.ChoiceEvidence:
        given = {name: value for name, value in self._given.items() if name in _COUNTED_FOR}
        return choices.count_evidence(self._values, given)


# Field with numbers of case studies to its label for no choice.
_OFFERED = {
    "workload": "Choose one",
    "hypervisor": "Not decided",
    "disks": "Not said",
    "images": "Not decided",
    "guest_os_family": "Not said",
    "vm_count": "Any number",
    "guest_fs": "Not decided",
    "axis": "What is left open",
}
_FURTHER_FIELDS = ("axis", "guest_fs", "host_storage", "storage", "benchmark", "grade", "evidence", "metric")
_COUNTED_AS = {"disks": "storage", "images": "host_fs"}  # field of the machine to that of the evidence
_COUNTED_FOR = ("axis", *(name for name in QuestionForm.field_order if name != "needs"))


# Query parameters of compared entries, with their labels.
ENTRIES = dict(zip("abcdef", ("First", "Second", "Third", "Fourth", "Fifth", "Sixth"), strict=True))


def entry_choices(axis: str, names: dict[str, dict[str, str]]) -> list[tuple[str, str]]:
    """Return key and label of every possible entry of the axis; configurations without cache mode."""
    asked = AXES[axis]
    if asked.setting and asked.setting.of:  # releases: only those that case studies state
        return list(names[axis].items())
    columns = [[""] if column in asked.optional else names[KINDS[column]] for column in asked.entry]
    keys = [entry_key(asked, values) for values in product(*columns)]
    return [(key, entry_label(asked, key, names)) for key in keys]


def _open_axis(fields: Mapping[str, Any]) -> str:
    host = fields.get("host_fs") or fields.get("host_storage") or fields.get("images")
    return axis_left_open(fields.get("hypervisor"), fields.get("guest_fs"), host)


def _form_data(question: Question, machine: Machine) -> dict[str, str]:
    """Return the form data of a question and machine, without the axis where it follows from what is open."""
    asked = shown(question)
    images = machine.images or question.host_fs
    if question.axis == _open_axis({**question.as_dict(), **machine.given}):
        del asked["axis"]
    return {**asked, **machine.given, **({"images": images} if images else {})}


class RateForm(AskForm):
    """A question, and the rate that each machine needs."""

    rate = forms.FloatField(
        min_value=0.001,
        max_value=1e9,
        label="Rate wanted for each machine",
        error_messages={"required": "Give the rate that each machine is to have, a number above 0."},
    )
    field_order = (*AskForm.field_order, "rate")

    def __init__(self, data: Any = None) -> None:
        super().__init__(data)
        self.fields["rate"].widget.attrs["step"] = "any"
