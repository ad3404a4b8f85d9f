"""The forms that check what members say of changes, and which month is asked for."""

from typing import Any

from django import forms
from django.utils.timezone import now

from .content import DEEDS, EXCUSED

_WORDS = {
    "acknowledge": "Acknowledge: somebody looks at it",
    "confirm": "Confirm: it is so",
    "excuse": "Excuse: it is known why, and will pass",
    "reopen": "Reopen: it is new again",
}


class HandlingForm(forms.Form):
    """One deed of a member to a change; an excuse has a reason and an end."""

    deed = forms.ChoiceField(choices=[(deed, _WORDS[deed]) for deed in DEEDS], label="What about it")
    reason = forms.CharField(max_length=500, required=False, label="Reason", help_text="Why it is excused; else empty.")
    until = forms.DateField(
        required=False,
        label="Until",
        help_text="Last day of an excuse (2026-12-31); after it the change is new again.",
        widget=forms.DateInput(attrs={"type": "date"}),
    )

    def clean(self) -> dict[str, Any]:
        fields = super().clean() or self.cleaned_data
        is_excuse = DEEDS.get(fields.get("deed", "")) == EXCUSED
        for name in ("reason", "until"):
            if name not in self.errors and bool(fields.get(name)) != is_excuse:
                self.add_error(name, "An excuse needs it." if is_excuse else "Only an excuse has it.")
        if is_excuse and fields.get("until") and fields["until"] < now().date():
            self.add_error("until", "This day is over: name today or a later one.")
        return fields


class MonthForm(forms.Form):
    """The month of which changes are asked for."""

    month = forms.RegexField(
        r"^20\d{2}-(0[1-9]|1[0-2])$",
        required=False,
        label="Month",
        help_text="2026-11; empty: this month.",
        error_messages={"invalid": "Write year and month: 2026-11."},
    )
