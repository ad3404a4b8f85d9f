"""Tell mypy the types of Django's forms."""

from typing import TYPE_CHECKING, TypeVar

from django import forms

if TYPE_CHECKING:
    from django.forms import ModelChoiceField as ModelChoiceField
    from django.forms import ModelForm as ModelForm
else:  # the stubs make these classes generic, which they are not at runtime

    class ModelChoiceField(forms.ModelChoiceField):
        def __class_getitem__(cls, model):
            return cls

    class ModelForm(forms.ModelForm):
        def __class_getitem__(cls, model):
            return cls


Kind = TypeVar("Kind", bound=forms.Field)


def field_of(form: forms.BaseForm, name: str, kind: type[Kind]) -> Kind:
    """Return the form's field of this name, which was declared as one of this kind."""
    field = form.fields[name]
    assert isinstance(field, kind)
    return field
