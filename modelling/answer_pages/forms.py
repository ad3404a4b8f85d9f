"""Checks what a visitor has and leaves open, and a ranking with the machine it is held against."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import product
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.urls import reverse
from django.utils.choices import CallableChoiceIterator

from kdb.disk_path import SETTINGS
from kdb.web.widgets import Select
from modelling.answers.words import WEIGHT_DECIMALS
from modelling.ask.selectors import (
    BACKENDS,
    DISKS,
    KEPT_FACTS,
    LONGEST_TEXT,
    MACHINE_FIELDS,
    Machine,
    Reading,
    Said,
    images_lie_on,
    machine_fields,
    understood,
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

MOST_ENTRIES = 6  # of a comparison
MOST_WORKLOADS = 20  # of a table


class RankingForm(QuestionForm):
    """A question as a program asks it, with the machine that its evidence is held against."""

    field_order = (*QuestionForm.field_order, *MACHINE_FIELDS)

    def __init__(self, data: Any, *, axis: str) -> None:
        super().__init__(data, axis=axis)
        self.fields |= machine_fields()


class WorkloadsField(forms.CharField):
    """ "varmail,webserver" as slugs; names and aliases are accepted."""

    def clean(self, value: Any) -> list[str]:
        slugs: list[str] = []
        for name in super().clean(value).split(","):
            slugs.append(_further_workload(name.strip(), slugs))
        if len(slugs) > MOST_WORKLOADS:
            raise forms.ValidationError(f"{len(slugs)} workloads; at most {MOST_WORKLOADS} are shown in one table.")
        return slugs


class WeightsField(forms.CharField):
    """ "varmail:60,webserver:40" as a dict of slug and weight; names and aliases are accepted."""

    def clean(self, value: Any) -> dict[str, float]:
        weights: dict[str, float] = {}
        for part in super().clean(value).split(","):
            name, _, number = part.strip().partition(":")
            slug = _further_workload(name, weights)
            if not re.fullmatch(rf"[0-9]{{1,6}}([.][0-9]{{1,{WEIGHT_DECIMALS}}})?", number.strip()):
                raise forms.ValidationError(f"{part!r}: a workload, a colon and a number, as in varmail:60.")
            weights[slug] = float(number)
        return _some(weights)


def _further_workload(name: str, others: Collection[str]) -> str:
    """Return the slug of the workload. Raises ValidationError where there is none, or it is among the others."""
    slug = names.slug_for("workload", name)
    if slug is None:
        raise forms.ValidationError(f"{name!r} is no workload here; there are {', '.join(names.names()['workload'])}.")
    if slug in others:
        raise forms.ValidationError(f"{slug} is given twice.")
    return slug


def _some(weights: dict[str, float]) -> dict[str, float]:
    if not any(weights.values()):
        raise forms.ValidationError("Give at least one workload a share above 0.")
    return weights


class ComparisonForm(QuestionForm):
    """A comparison as a program asks for it: two to six different keys, separated by commas."""

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
    """A field for each workload of the catalogue, in percent or any other unit."""

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
            data["weights"] = _some({slug: round(weight, WEIGHT_DECIMALS) for slug, weight in weights.items()})
        return data

    @property
    def question_fields(self) -> list[forms.BoundField]:
        shares = dict(self.workloads)
        return [field for field in self.main_fields if field.name not in shares]

    @property
    def shares(self) -> list[forms.BoundField]:
        return [self[slug] for slug, _ in self.workloads]


class TableForm(AnyWorkloadForm):
    """One question under several workloads."""

    def __init__(self, data: Any, *, axis: str) -> None:
        super().__init__(data, axis=axis)
        self.fields["workloads"] = WorkloadsField(max_length=1000)

    def questions(self) -> list[Question]:
        return [replace(self.question(), workload=workload) for workload in self.cleaned_data["workloads"]]


class VisitorForm(AskForm):
    """A visitor's machine and question, in his words. What he leaves open is what the answer chooses."""

    field_order = (
        *("workload", "text", "hypervisor", "disks", "images", "guest_os_family", "vm_count"),
        *("axis", "guest_fs", "host_fs", "host_storage", "storage", "benchmark", "grade", "evidence", "metric"),
        "needs",
        *SETTINGS,
    )
    reading: Said | None = None  # of the text, where there is one
    chosen: Reading | None = None  # of its readings
    compared: tuple[str, ...] = ()  # entries of the axis that are chosen, or the text names, where they are two or more

    def __init__(self, data: Any = None, *, asks: bool = True, compares: bool = False) -> None:
        """asks : whether it is sent off; while choices are made no workload is missed yet
        compares : whether entries to compare are offered; they are as well where the data has some"""
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
    def showing_all(
        cls, question: Question, machine: Machine, text: str = "", keys: Sequence[str] = ()
    ) -> "VisitorForm":
        """Return the form with what was asked filled in. keys : of what is compared"""
        compared = {"axis": question.axis, **dict(zip(ENTRIES, keys, strict=False))} if keys else {}
        return cls({**_asked(question, machine), "text": text, **compared})

    def as_understood(self) -> "VisitorForm":
        """Return the form with what its words were read as filled in."""
        data = self.given
        return VisitorForm({**data, "images": data.get("images") or data.get("host_fs", "")})

    @property
    def given(self) -> dict[str, str]:
        """Return what a valid form was given, and its words were read as, as an address has it."""
        given = {name: value for name, value in self.cleaned_data.items() if value not in (None, "", ())}
        return {name: ",".join(value) if isinstance(value, tuple) else str(value) for name, value in given.items()}

    @property
    def given_beside_text(self) -> dict[str, str]:
        """Return what was chosen beside the words of a valid form: what they are not read as by themselves."""
        readings = self.reading.readings if self.reading else ()
        read = {pair for reading in readings for pair in reading.filters.items()}
        read |= {pair for one in readings[:1] for pair in (("axis", one.axis), ("workload", one.workload))}
        return {name: value for name, value in self.given.items() if name != "text" and (name, value) not in read}

    @property
    def is_open(self) -> bool:
        """Tell whether a valid form names no workload yet: words that leave it to be chosen, or a machine alone."""
        return not self.cleaned_data["workload"]

    @property
    def leaves_choice_open(self) -> bool:
        """Return whether the text of a valid form names a workload, perhaps a machine, and nothing to choose."""
        is_whole = self.chosen is not None and self.chosen.is_whole and not self.cleaned_data["axis"]
        return is_whole and not self.is_open and self.given_beside_text.keys() <= {"workload", *KEPT_FACTS}

    @property
    def is_answered_by_page(self) -> bool:
        """Return whether the text of a valid form asks what a page or a guide says, and names nothing to choose."""
        return self.leaves_choice_open and self.reading is not None and bool(self.reading.pages or self.reading.guides)

    def clean_images(self) -> str:
        return images_lie_on(self.cleaned_data["images"])

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if (on := data.get("images")) and on not in BACKENDS:
            if data.get("host_fs") not in (None, "", on):
                self.add_error("images", f"The address says {data['host_fs']!r} as well (host_fs); give one of them.")
            data["host_fs"], data["images"] = on, ""
        if text := data.get("text"):
            self.reading = understood(text)
            self.chosen = chosen = self.reading.reading_beside(data)
            if chosen:
                read = {"axis": "" if chosen.is_whole else chosen.axis, "workload": chosen.workload, **chosen.filters}
                data |= {name: value for name, value in read.items() if value and not data.get(name)}
                self.compared = chosen.entries if len(chosen.entries) > 1 and data["axis"] == chosen.axis else ()
        if chosen_entries := {name: data[name] for name in ENTRIES if data.get(name)}:
            self._check_entries(data.get("axis") or _left_open(data), chosen_entries)
        if not data.get("workload") and "workload" not in self.errors and self.asks and not text:
            self.add_error("workload", "A workload is required: choose one, or write what you run.")
        return data

    def _check_entries(self, axis: str, chosen: Mapping[str, str]) -> None:
        """Take the entries to compare, or say what is wrong with them. chosen : field to key"""
        self.compared = tuple(chosen.values())
        for place, (name, key) in enumerate(chosen.items()):
            if error := entry_error(axis, key):
                self.add_error(name, error)
            elif key in self.compared[:place]:
                self.add_error(name, f"{names.label(AXES[axis], key)} is chosen twice: give different entries.")
        if len(chosen) == 1:
            self.add_error("b" if "a" in chosen else "a", "Give two to six entries, or none.")

    def other_axes(self) -> list[tuple[str, str]]:
        """Return the axes to which all chosen entries belong, where the asked one is not among them: label and where
        they are compared on it."""
        axes = [axis for axis in AXES if self.compared and all(axis in axes_with(key) for key in self.compared)]
        asked = {name: value for name in self.fields if (value := self.data.get(name))}
        labels = {axis: AXES[axis].label.lower() for axis in axes if self.data.get("axis") not in axes}
        return [(label, f"{reverse('compare')}?{urlencode({**asked, 'axis': axis})}") for axis, label in labels.items()]

    def question(self) -> Question:
        self.axis = self.cleaned_data["axis"] or _left_open(self.cleaned_data)
        return super().question()

    @property
    def facts(self) -> dict[str, Any]:
        """Return what is said of the machine, as an address and a kept machine have it."""
        if not self.is_bound or not self.is_valid():
            return {}
        data = {**self.cleaned_data, "images": self.cleaned_data["images"] or self.cleaned_data["host_fs"]}
        return {name: data[name] for name in KEPT_FACTS if data[name]}

    # What is offered

    @property
    def load_fields(self) -> list[forms.BoundField]:
        return [self["workload"]]

    @property
    def machine_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in ("hypervisor", "disks", "images", "guest_os_family", "vm_count")]

    @property
    def further_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in _FURTHER if name != "axis" or not self.compares]

    @property
    def entry_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in ("axis", *ENTRIES)]

    @cached_property
    def _entries(self) -> dict[str, str]:
        return dict(entry_choices(self._given.get("axis") or _left_open(self._given), names.names()))

    def _offered_entries(self, name: str) -> list[tuple[str, str]]:
        """Return the entries that may be compared, with the chosen one, whatever it is."""
        chosen = self.data.get(name) or ""
        return [("", "–"), *({chosen: chosen} | self._entries if chosen else self._entries).items()]

    def _offer_choices(self) -> None:
        """Offer every choice with how many case studies lie behind it; worked out when the form is shown."""
        for name, empty in _OFFERED.items():
            field = self.fields[name]
            field.widget = Select(field.widget.attrs, CallableChoiceIterator(partial(self._offered, name, empty)))

    def _offered(self, name: str, empty: str) -> list[tuple[Any, Any]]:
        """Return the choices of a field; those that lead to no comparison come last and apart."""
        counts = self._behind.case_studies.get(_COUNTED_AS.get(name, name), {})
        column = _COUNTED_AS.get(name, name)
        used, chosen = self._behind.used.get(column), self._given.get(column)
        systems = names.names()["file_system"]
        offered = {
            value: label
            for value, label in self._values[column].items()
            if not used or value not in systems or value in used or value == chosen
        }
        nowhere = [(value, label) for value, label in offered.items() if counts.get(value) == 0]
        leading = [(v, _with_count(label, counts.get(v))) for v, label in offered.items() if counts.get(v) != 0]
        return [("", empty), *leading, *([("No comparison yet", nowhere)] if nowhere else [])]

    @cached_property
    def _given(self) -> dict[str, Any]:
        """Return what is chosen, as far as it is understood."""
        self.is_valid()
        given = dict(self.cleaned_data) if self.is_bound else {}
        if given.get("images"):  # no study has them there: they filter nothing, but leave no host file system open
            given["axis"] = given.get("axis") or _left_open(given)
        return given

    @cached_property
    def _values(self) -> Mapping[str, Mapping[Any, str]]:
        """Return field of a question to what may be chosen, with its label."""
        known = names.names()
        counts = {*names.vm_counts(), *filter(None, [self._given.get("vm_count")])}
        return {
            **{name: known[name] for name in ("workload", "guest_os_family")},
            "hypervisor": known["hypervisor_or_native"],
            "guest_fs": known["file_system"],
            "host_fs": {**known["file_system"], **BACKENDS},
            "storage": DISKS,
            "vm_count": {count: str(count) for count in sorted(counts)},
            "axis": dict(axis_choices()),
        }

    @cached_property
    def _behind(self) -> choices.ChoiceEvidence:
        given = {name: value for name, value in self._given.items() if name in _COUNTED_FOR}
        return choices.count_evidence(self._values, given)


# Field that says how much lies behind each choice: what it says where nothing is chosen.
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
_FURTHER = ("axis", "guest_fs", "host_storage", "storage", "benchmark", "grade", "evidence", "metric")
_COUNTED_AS = {"disks": "storage", "images": "host_fs"}  # where the evidence has the same fact
_COUNTED_FOR = ("axis", *(name for name in QuestionForm.field_order if name != "needs"))


# Fields of an address that name what is compared.
ENTRIES = dict(zip("abcdef", ("First", "Second", "Third", "Fourth", "Fifth", "Sixth"), strict=True))


def entry_choices(axis: str, names: dict[str, dict[str, str]]) -> list[tuple[str, str]]:
    """Return every entry that the axis can have, as (key, label); configurations only by hypervisor and pair."""
    asked = AXES[axis]
    if asked.setting and asked.setting.of:  # a release of something: only those that are stated
        return list(names[axis].items())
    columns = [[""] if column in asked.optional else names[KINDS[column]] for column in asked.entry]
    keys = [entry_key(asked, values) for values in product(*columns)]
    return [(key, entry_label(asked, key, names)) for key in keys]


def _with_count(label: str, number: int | None) -> str:
    return label if number is None else f"{label} ({counted(number, 'case study', 'case studies')})"


def _left_open(fields: Mapping[str, Any]) -> str:
    host = fields.get("host_fs") or fields.get("host_storage") or fields.get("images")
    return axis_left_open(fields.get("hypervisor"), fields.get("guest_fs"), host)


def _asked(question: Question, machine: Machine) -> dict[str, str]:
    """Return the fields of the form that a question and a machine fill; the axis where it is not the one left open."""
    asked = shown(question)
    images = machine.images or question.host_fs
    if question.axis == _left_open({**question.as_dict(), **machine.given}):
        del asked["axis"]
    return {**asked, **machine.given, **({"images": images} if images else {})}


class RateForm(AskForm):
    """A question, and the rate that each machine is to have."""

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
