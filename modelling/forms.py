"""The question as a page or the API asks it, checked."""

from typing import Any

from django import forms

from . import catalogue
from .question import GRADES, Question

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
    """A name from the catalogue; aliases and any case are accepted and become the slug."""

    def __init__(self, kind: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.kind = kind
        self.widget = forms.Select(choices=self._choices)  # read when shown; the API never shows it

    def _choices(self) -> list[tuple[str, str]]:
        empty = [] if self.required else [("", "Any")]
        return [*empty, *catalogue.names()[self.kind].items()]

    @property
    def allowed(self) -> list[str]:
        """The slugs it stands for, in the catalogue's order."""
        return list(catalogue.names()[self.kind])

    def clean(self, value: Any) -> str | None:
        name = super().clean(value)
        if not name:
            return None
        slug = catalogue.slug_for(self.kind, name)
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
        return Question(axis=self.axis, **{k: v if v != "" else None for k, v in self.cleaned_data.items()})
