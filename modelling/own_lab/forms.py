"""The forms that check what pages and the API are told of laboratories."""

from django import forms

from experiments.models.fields import check_slug


def refuse_visitors(slug: str) -> None:
    """Refuse names that laboratories of visitors have, and their published case studies."""
    if slug.startswith(("visit-", "visitor-")):
        raise forms.ValidationError("Such names are those of visitors.")


class LaboratoryForm(forms.Form):
    """A laboratory of one's own."""

    slug = forms.SlugField(
        max_length=40, validators=[check_slug, refuse_visitors], label="Short name", help_text="For addresses."
    )
    name = forms.CharField(max_length=200, label="Name")


class MemberForm(forms.Form):
    """Somebody who shall see its numbers."""

    username = forms.CharField(max_length=150, label="User name")
