"""The form in which a user makes an API token."""

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.utils.timezone import now

from kdb.accounts import tokens
from kdb.models import ApiToken

_LIFETIMES = {"30": "30 days", "365": "a year", "": "until it is revoked"}


class TokenForm(forms.Form):
    name = forms.CharField(max_length=80, label="Where it is used")
    scopes = forms.MultipleChoiceField(
        choices=[scope for scope in ApiToken.Scope.choices if scope[0] != ApiToken.Scope.RUNNER],
        widget=forms.CheckboxSelectMultiple,
        initial=["read", "import"],
        label="It may",
    )
    laboratory = forms.SlugField(max_length=40, required=False, label="In the laboratory (short name; to measure only)")
    days = forms.ChoiceField(choices=list(_LIFETIMES.items()), required=False, label="Valid for", initial="365")

    def __init__(self, *args: Any, user: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user

    def clean_name(self) -> str:
        name = self.cleaned_data["name"]
        if ApiToken.objects.filter(user=self.user, name=name, revoked_at__isnull=True).exists():
            raise forms.ValidationError("You have a token of this name; revoke it first, or choose another.")
        return name

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if fault := tokens.scope_fault(data.get("scopes", []), data.get("laboratory", "")):
            self.add_error("laboratory", fault)
        return data

    @property
    def expires_at(self) -> datetime | None:
        days = self.cleaned_data["days"]
        return now() + timedelta(days=int(days)) if days else None
