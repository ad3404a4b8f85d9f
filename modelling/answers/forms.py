"""What is asked of an answer besides its question."""

from typing import Any

from django import forms

from modelling.evidence.forms import AskForm


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
