"""The form of the advisor: a personality or a job file, and choices already made."""

import re
from typing import Any

from django import forms

from modelling.evidence.forms import CatalogueField
from modelling.workloads import profiles, wml
from modelling.workloads.fio_job import fio_profile, is_fio_job

MOST_BYTES = wml.LONGEST_TEXT  # size of an uploaded file; a text has at most as many characters
TOO_LONG = "A personality has at most 1 MiB; this is longer."
EXCERPT = 96  # characters of a refused line that are shown
_UNREADABLE = re.compile("[\0\ud800-\udfff]")


class PersonalityField(forms.CharField):
    """A text that is not stripped, so that lines and columns of errors are right.

    Invalid characters become U+FFFD, which the parser refuses with its place.
    """

    def to_python(self, value: Any) -> str:
        return _UNREADABLE.sub("\N{REPLACEMENT CHARACTER}", super().to_python(value) or "")

    def bound_data(self, data: Any, initial: Any) -> str:
        return self.to_python(data)


class AdviceForm(forms.Form):
    """A load to advise on. A valid form has its `profile`; nothing is stored or executed."""

    profile: profiles.Profile

    personality = PersonalityField(
        label="Filebench personality or fio job file",
        required=False,
        strip=False,
        max_length=wml.LONGEST_TEXT,
        error_messages={"max_length": TOO_LONG},
        widget=forms.Textarea(
            attrs={"rows": 14, "spellcheck": "false", "autocapitalize": "off", "autocomplete": "off", "wrap": "off"}
        ),
    )
    file = forms.FileField(required=False, label="or a file (.f or .fio, 1 MiB at most)")
    hypervisor = CatalogueField("hypervisor", required=False, label="Hypervisor")
    host_fs = CatalogueField("file_system", required=False, label="Host file system")

    def __init__(self, data: Any = None, files: Any = None, **kwargs: Any) -> None:
        file = files.get("file") if files else None
        if file and file.size <= MOST_BYTES:  # treated like a pasted text
            data = data.copy()
            data["personality"] = file.read().decode("utf-8-sig", errors="replace")
        super().__init__(data, files, **kwargs)

    def clean_file(self) -> None:
        file = self.cleaned_data["file"]
        if file and file.size > MOST_BYTES:
            raise forms.ValidationError(TOO_LONG, code="max_length")

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        text = cleaned.get("personality") or ""
        if text.strip():
            self._read(text)
        elif not self.errors:
            self.add_error("personality", "Give a personality or a job file.")
        return cleaned

    def _read(self, text: str) -> None:
        try:
            self.profile = fio_profile(text) if is_fio_job(text) else profiles.profile(wml.parse(text))
        except wml.WmlError as error:
            end = "" if error.reason.endswith("?") else "."
            params = {"line": error.line, "column": error.column, "reason": f"{error.reason}{end}"}
            message = "Line %(line)s, column %(column)s: %(reason)s"
            self.add_error("personality", forms.ValidationError(message, code="refused", params=params))

    @property
    def decided(self) -> dict[str, str | None]:
        """Return the choices of a valid form that are made already."""
        return {name: self.cleaned_data[name] for name in ("hypervisor", "host_fs")}

    @property
    def refused_line(self) -> dict[str, Any] | None:
        """Return an excerpt of the line that the parser refused, before and after the place of the error."""
        refused = [error for error in self.errors.as_data().get("personality", []) if error.code == "refused"]
        if not refused:
            return None
        place = refused[0].params or {}
        line, column = place["line"], place["column"]
        lines = self["personality"].value().split("\n")
        text = lines[line - 1] if line <= len(lines) else ""
        start = max(0, column - 1 - EXCERPT // 2)
        return {
            "number": line,
            "before": ("…" if start else "") + text[start : column - 1],
            "after": text[column - 1 : start + EXCERPT].rstrip(),
        }
