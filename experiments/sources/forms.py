"""The form of a reviewer who has looked at a source."""

from django import forms


class NoteForm(forms.Form):
    note = forms.CharField(label="What you found, and did", max_length=2000, widget=forms.Textarea(attrs={"rows": 2}))
