"""Forms that check a question from pages and the API."""

from dataclasses import replace
from functools import partial
from typing import Any

from django import forms
from django.utils.choices import CallableChoiceIterator

from experiments.published_evidence.abilities import ABILITIES
from kdb.disk_path import SETTINGS
from kdb.units import METRICS
from kdb.web.widgets import Select

from . import names
from .axes import AXES, KINDS, entry_parts
from .question import GRADES, PAPERS, Question
from .words import listed


def axis_choices() -> list[tuple[str, str]]:
    """Return the choices of a form field: every axis with its label."""
    return [(axis.name, axis.label) for axis in AXES.values()]


FURTHER_FILTERS = ("host_storage", "storage", "benchmark", "guest_os_family", "grade", "evidence", "metric")


# field of the question: (kind of name in the catalogue, label on the page)
_NAMED_FIELDS = {
    "workload": ("workload", "Workload"),
    "hypervisor": ("hypervisor_or_native", "Hypervisor"),
    "guest_fs": ("file_system", "Guest file system"),
    "host_fs": ("file_system", "Host file system"),
    "host_storage": ("host_storage", "Host storage"),
    "storage": ("storage", "Storage"),
    "benchmark": ("benchmark", "Benchmark"),
    "guest_os_family": ("guest_os_family", "Guest system"),
    **{column: (column, setting.label) for column, setting in SETTINGS.items()},
}


class CatalogueField(forms.CharField):
    """A name from the catalogue: a slug, name or alias as in imports, cleaned to the slug."""

    def __init__(self, kind: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.kind = kind
        # Lazy, as the API never renders it.
        self.widget = Select(choices=CallableChoiceIterator(self._choices))

    def _choices(self) -> list[tuple[str, str]]:
        empty = [] if self.required else [("", "Any")]
        return [*empty, *names.names()[self.kind].items()]

    @property
    def allowed(self) -> list[str]:
        """Return the accepted slugs, in the catalogue's order."""
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


class _Checkboxes(forms.CheckboxSelectMultiple):
    """Checkboxes; an address may also give the values in one parameter, separated by commas."""

    def value_from_datadict(self, data: Any, files: Any, name: str) -> list[str]:
        values = data.getlist(name) if hasattr(data, "getlist") else data.get(name) or []
        texts = [values] if isinstance(values, str) else values
        return [value.strip() for text in texts for value in str(text).split(",") if value.strip()]


class NeedsField(forms.MultipleChoiceField):
    """Abilities that an entry must have, in the order of the table of abilities, each once."""

    widget = _Checkboxes

    def __init__(self) -> None:
        super().__init__(
            required=False,
            label="Must have",
            choices=lambda: [(ability.slug, ability.name) for ability in ABILITIES.values()],
            error_messages={
                "invalid_choice": f"%(value)r is not an ability; allowed are {', '.join(ABILITIES)}.",
            },
        )

    def clean(self, value: Any) -> tuple[str, ...]:
        wanted = super().clean(value)
        return tuple(slug for slug in ABILITIES if slug in wanted)


class QuestionForm(forms.Form):
    """A question on one axis."""

    vm_count = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=32767,
        label="Virtual machines",
        error_messages={"invalid": "Give a whole number of virtual machines, 1 or more."},
    )
    grade = forms.ChoiceField(
        widget=Select,
        required=False,
        label="Evidence at least",
        choices=lambda: [("", "Any"), *((g, g) for g in GRADES)],  # callables, as each form would copy a list
        error_messages={"invalid_choice": "%(value)r is not a grade; allowed are A, B, C, D."},
    )
    evidence = forms.ChoiceField(
        widget=Select,
        required=False,
        label="Evidence from",
        choices=lambda: [("", "All that is published"), (PAPERS, "Reviewed papers only")],
        error_messages={"invalid_choice": f"%(value)r is not known here; allowed is {PAPERS}, or nothing for all."},
    )
    metric = forms.ChoiceField(
        widget=Select,
        required=False,
        label="Compared by",
        choices=lambda: [("", "Any, throughput first"), *((metric.name, metric.label) for metric in METRICS.values())],
        error_messages={"invalid_choice": f"%(value)r is not a metric; allowed are {', '.join(METRICS)}."},
    )
    needs = NeedsField()
    field_order: tuple[str, ...] = (
        "workload",
        "hypervisor",
        "guest_fs",
        "host_fs",
        "vm_count",
        "host_storage",
        "storage",
        "benchmark",
        "guest_os_family",
        "grade",
        "evidence",
        "metric",
        "needs",
        *SETTINGS,
    )

    def __init__(self, data: Any, *, axis: str) -> None:
        super().__init__(data)
        self.axis = axis
        for name, (kind, label) in _NAMED_FIELDS.items():
            self.fields[name] = CatalogueField(kind, label=label, required=name == "workload")
        self.order_fields(self.field_order)

    def question(self) -> Question:
        """Return the question of a valid form."""
        values: dict[str, Any] = {
            name: self.cleaned_data[name] or None for name in QuestionForm.field_order if name != "needs"
        }
        return Question(axis=self.axis, needs=self.cleaned_data.get("needs", ()), **values)


class AnyWorkloadForm(QuestionForm):
    """A question on an axis without a workload."""

    def __init__(self, data: Any = None, **options: Any) -> None:
        super().__init__(data, **options)
        del self.fields["workload"]

    def question(self) -> Question:
        self.cleaned_data["workload"] = ""
        return replace(super().question(), workload="")


def shown(question: Question) -> dict[str, str]:
    """Return the form data of a question."""
    asked = {"axis": question.axis, "workload": question.workload, **question.asked}
    return {name: str(value) for name, value in asked.items()}


class AskForm(QuestionForm):
    """The question on pages: the axis is a field, and VM counts are a choice of those that were run."""

    field_order = ("axis", *QuestionForm.field_order)

    def __init__(self, data: Any = None) -> None:
        axis = (data or {}).get("axis") or "fs-pair"
        super().__init__(data, axis=axis)
        self.fields["axis"] = forms.ChoiceField(
            widget=Select,
            label="What to choose",
            choices=axis_choices,
            required=False,
            error_messages={"invalid_choice": "%(value)r cannot be ranked; choose from the list."},
        )
        self.fields["workload"].widget = Select(
            choices=CallableChoiceIterator(lambda: [("", "Choose one"), *names.names()["workload"].items()])
        )
        self.fields["workload"].widget.is_required = True
        asked = (data or {}).get("vm_count", "")
        self.fields["vm_count"].widget = Select(choices=CallableChoiceIterator(partial(_vm_count_choices, asked)))
        self.order_fields(self.field_order)

    @property
    def main_fields(self) -> list[forms.BoundField]:
        return [field for field in self if field.name not in (*FURTHER_FILTERS, "needs", *SETTINGS)]

    @property
    def further_fields(self) -> list[forms.BoundField]:
        return [field for field in self if field.name in FURTHER_FILTERS]

    @property
    def setting_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in SETTINGS]

    @property
    def has_settings(self) -> bool:
        return any(field.value() or field.errors for field in self.setting_fields)

    @property
    def has_further_filters(self) -> bool:
        return any(field.value() or field.errors for field in self.further_fields)


def _vm_count_choices(asked: str) -> list[tuple[Any, Any]]:
    counts = names.vm_counts()
    others = [asked] if asked and asked not in map(str, counts) else []
    return [("", "Any"), *((n, n) for n in [*counts, *others])]


LONGEST_KEY = 200  # three slugs and a cache mode


def axes_with(key: str) -> list[str]:
    """Return the axes on which this key is an entry."""
    return [axis for axis in AXES if not _fault(axis, key)]


def entry_error(axis: str, key: str) -> str:
    """State what is wrong with an entry's key, or "". It need not be ranked, as the model predicts others, too."""
    fault = _fault(axis, key)
    others = [AXES[other].label.lower() for other in axes_with(key)] if fault else []
    return f"{fault} It is an entry of the axis {listed(others, 'or')}." if others else fault


def _fault(axis: str, key: str) -> str:
    try:
        parts = entry_parts(AXES[axis], key)
    except ValueError:
        form = {"fs-pair": "btrfs-on-ext4", "configuration": "kvm:btrfs-on-ext4"}.get(axis, "a slug")
        setting = AXES[axis].setting
        if setting and setting.of:
            form = next(iter(names.names()[axis]), f"a {setting.of.replace('_', ' ')}, a colon and a release")
        return f"{key!r} is not an entry of this axis; write it like {form}."
    for column, name in parts.items():
        known = names.names()[KINDS[column]]
        is_size = column in SETTINGS and SETTINGS[column].is_bytes and names.slug_for(column, name) == name
        if name not in known and not is_size and (name or column not in AXES[axis].optional):
            return f"{name!r} in {key!r} is not known here; allowed are {', '.join(known) or 'none'}."
    return ""
