"""A mix of workloads as a page or the API asks for it, checked."""

import re
from typing import Any

from django import forms

from modelling.evidence import names
from modelling.evidence.forms import AnyWorkloadForm, AskForm

from .words import DECIMALS

_NONE = "Give at least one workload a share above 0."


class WeightsField(forms.CharField):
    """ "varmail:60,webserver:40" as a dict of slug and weight; aliases are accepted."""

    def clean(self, value: Any) -> dict[str, float]:
        text = super().clean(value)
        weights: dict[str, float] = {}
        for part in text.split(","):
            name, _, number = part.strip().partition(":")
            slug = names.slug_for("workload", name)
            if slug is None:
                known = ", ".join(names.names()["workload"])
                raise forms.ValidationError(f"{name!r} is no workload here; there are {known}.")
            if not re.fullmatch(rf"[0-9]{{1,6}}([.][0-9]{{1,{DECIMALS}}})?", number.strip()):
                raise forms.ValidationError(f"{part!r}: a workload, a colon and a number, as in varmail:60.")
            if slug in weights:
                raise forms.ValidationError(f"{slug} is given twice.")
            weights[slug] = float(number)
        return _some(weights)


def _some(weights: dict[str, float]) -> dict[str, float]:
    if not any(weights.values()):
        raise forms.ValidationError(_NONE)
    return weights


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
            data["weights"] = _some({slug: round(weight, DECIMALS) for slug, weight in weights.items()})
        return data

    @property
    def question_fields(self) -> list[forms.BoundField]:
        shares = dict(self.workloads)
        return [field for field in self.main_fields if field.name not in shares]

    @property
    def shares(self) -> list[forms.BoundField]:
        return [self[slug] for slug, _ in self.workloads]
