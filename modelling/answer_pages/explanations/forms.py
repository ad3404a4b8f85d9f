"""The form of an explanation."""

from typing import Any

from django import forms

from modelling.evidence.axes import AXES
from modelling.evidence.forms import LONGEST_KEY, QuestionForm, entry_error


class ExplanationForm(QuestionForm):
    """An explanation of two entries; without entries, of the best and the last of the answer."""

    needs = None  # type: ignore[assignment]  # it recommends nothing
    a = forms.CharField(required=False, max_length=LONGEST_KEY)
    b = forms.CharField(required=False, max_length=LONGEST_KEY)

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
