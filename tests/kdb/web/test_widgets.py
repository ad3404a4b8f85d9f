"""The quick list to choose from says what Django's own says."""

import pytest
from django import forms
from django.test.html import parse_html
from django.utils.choices import CallableChoiceIterator

from kdb.web.widgets import Select

CHOICES = [("", "Any"), ("xfs", "XFS"), ("a<b", 'B & "C"'), ("None of them", [(0, "none"), (7, "seven")])]


@pytest.mark.parametrize("chosen", ["", "xfs", "a<b", 7, "7", None, "unknown"])
@pytest.mark.parametrize("attrs", [{}, {"id": "x", "maxlength": 40, "disabled": True}, {"title": '<">'}])
def test_it_is_the_list_that_django_writes(chosen, attrs):
    quick, slow = (kind(choices=CHOICES).render("fs", chosen, attrs) for kind in (Select, forms.Select))

    assert parse_html(quick) == parse_html(slow)


@pytest.mark.parametrize("required", [True, False])
@pytest.mark.parametrize("choices", [CHOICES, CHOICES[1:]])
def test_a_field_is_required_where_django_says_so(choices, required):
    def written(kind):
        form = forms.Form()
        form.fields["fs"] = forms.ChoiceField(choices=choices, required=required, widget=kind)
        return parse_html(str(form["fs"]))

    assert written(Select) == written(forms.Select)


def test_the_choices_of_a_field_that_may_stay_empty_are_read_once():
    reads = []

    def choices():
        reads.append(1)
        return CHOICES

    form = forms.Form()
    form.fields["fs"] = forms.ChoiceField(required=False, widget=Select)
    form.fields["fs"].widget = Select(choices=CallableChoiceIterator(choices))
    str(form["fs"])

    assert len(reads) == 1
