"""Checks which entries are to be compared."""

from django import forms

from modelling.evidence.axes import AXES
from modelling.evidence.forms import LONGEST_KEY, QuestionForm, entry_error

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
