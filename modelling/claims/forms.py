"""Validate the filters of the pages on claims."""

from typing import Any

from django import forms

from experiments.models import Claim
from modelling.evidence import names
from modelling.models import ClaimVerdict

_ANY = ("", "Any")


class ClaimFilter(forms.Form):
    """The filter of a paper's claims: `?verdict=contradicted&scope=others&workload=varmail&kind=ordering`."""

    verdict = forms.ChoiceField(required=False, choices=[_ANY, *ClaimVerdict.Kind.choices])
    scope = forms.ChoiceField(required=False, label="Judged by", choices=ClaimVerdict.Scope.choices)
    kind = forms.ChoiceField(required=False, choices=[_ANY, *Claim.Kind.choices])
    workload = forms.CharField(required=False)

    def __init__(self, data: Any) -> None:
        super().__init__({**data.dict(), "scope": data.get("scope") or ClaimVerdict.Scope.OWN})
        self.fields["workload"].widget = forms.Select(choices=[_ANY, *names.names()["workload"].items()])
        for field in self.fields.values():
            field.error_messages["invalid_choice"] = "%(value)r is not one of these."

    def clean_workload(self) -> str:
        """Return the slug of a name; aliases and any case are accepted."""
        name = self.cleaned_data["workload"]
        slug = names.slug_for("workload", name) if name else ""
        if slug is None:
            raise forms.ValidationError("%(value)r is no workload here.", params={"value": name})
        return slug
