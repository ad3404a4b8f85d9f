"""The forms of the advisor: a personality or shares of operations, and choices already made."""

import re
from typing import Any

from django import forms

from modelling.evidence.forms import CatalogueField
from modelling.workloads import profiles, wml
from modelling.workloads.fio_job import fio_profile, is_fio_job
from modelling.workloads.profiles import Accesses, Profile

from .reasoning import SharesError, profile_from_shares

MOST_BYTES = wml.LONGEST_TEXT  # size of an uploaded file; a text has at most as many characters
TOO_LONG = "A personality has at most 1 MiB; this is longer."

SHARES = ("random_read", "sequential_read", "random_write", "sequential_write", "metadata", "flush", "sync")
SHARE_FIELDS = (*SHARES, "threads", "files", "mean_file_size")
LARGEST_FILE = 2**60
EXCERPT = 96  # characters of a refused line that are shown

_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_SIZE = re.compile(r"([0-9]{1,20}(?:\.[0-9]{1,20})?)\s*([kmgt]?)(?:i?b)?", re.ASCII)
_UNREADABLE = re.compile("[\0\ud800-\udfff]")


class PersonalityField(forms.CharField):
    """A text that is not stripped, so that lines and columns of errors are right.

    Invalid characters become U+FFFD, which the parser refuses with its place.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(
            strip=False, max_length=wml.LONGEST_TEXT, error_messages={"max_length": TOO_LONG}, required=False, **kwargs
        )

    def to_python(self, value: Any) -> str:
        return _UNREADABLE.sub("\N{REPLACEMENT CHARACTER}", super().to_python(value) or "")

    def bound_data(self, data: Any, initial: Any) -> str:
        return self.to_python(data)


class ShareField(forms.FloatField):
    """A share of `whole` (1 or 100), cleaned to 0..1."""

    def __init__(self, *, whole: int = 1, **kwargs: Any) -> None:
        super().__init__(min_value=0, max_value=whole, required=False, **kwargs)
        self.whole = whole

    def clean(self, value: Any) -> float | None:
        share = super().clean(value)
        return None if share is None else share / self.whole


class SizeField(forms.CharField):
    """A size, cleaned to bytes; units are binary, as in Filebench: "16k", "1.5 MiB"."""

    def clean(self, value: Any) -> float | None:
        text = super().clean(value)
        if not text:
            return None
        match = _SIZE.fullmatch(text.lower())
        size = float(match[1]) * _UNITS[match[2]] if match else -1.0
        if not 0 <= size <= LARGEST_FILE:
            raise forms.ValidationError("Give a size in bytes, or like 16k, 128 KiB or 1.5m.", code="invalid")
        return size


class AdviceForm(forms.Form):
    """A load to advise on. A valid form has its `profile`; nothing is stored or executed."""

    whole = 1  # the sum of the shares
    profile: Profile

    personality = PersonalityField(label="Filebench personality or fio job file")
    random_read = ShareField(label="Random reads")
    sequential_read = ShareField(label="Sequential reads")
    random_write = ShareField(label="Random writes")
    sequential_write = ShareField(label="Sequential writes")
    metadata = ShareField(label="Metadata operations")
    flush = ShareField(label="Flushes (fsync)")
    sync = ShareField(label="Synchronous, of the writes")
    threads = forms.IntegerField(required=False, min_value=1, max_value=10**6, label="Threads at work")
    files = forms.IntegerField(  # type: ignore[assignment]  # Django takes it out of the class
        required=False, min_value=1, max_value=10**12, label="Number of files"
    )
    mean_file_size = SizeField(required=False, max_length=60, label="Mean file size")
    hypervisor = CatalogueField("hypervisor", required=False, label="Hypervisor")
    host_fs = CatalogueField("file_system", required=False, label="Host file system")

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        text = cleaned.get("personality") or ""
        shares = [name for name in SHARE_FIELDS if cleaned.get(name) is not None or name in self.errors]
        if text.strip() and shares:
            self.add_error("personality", "Give a personality or the shares, not both.")
        elif text.strip():
            self._read(text)
        elif shares and not self.errors:
            self._read_shares(cleaned)
        elif not self.errors:
            self.add_error("personality", "Give a personality, or the shares by hand.")
        return cleaned

    def _read(self, text: str) -> None:
        try:
            self.profile = fio_profile(text) if is_fio_job(text) else profiles.profile(wml.parse(text))
        except wml.WmlError as error:
            end = "" if error.reason.endswith("?") else "."
            params = {"line": error.line, "column": error.column, "reason": f"{error.reason}{end}"}
            message = "Line %(line)s, column %(column)s: %(reason)s"
            self.add_error("personality", forms.ValidationError(message, code="refused", params=params))

    def _read_shares(self, cleaned: dict[str, Any]) -> None:
        shares = {name: cleaned[name] or 0.0 for name in SHARES}
        metadata, flush, sync = (shares.pop(name) for name in ("metadata", "flush", "sync"))
        try:
            self.profile = profile_from_shares(
                Accesses(**shares),
                metadata=metadata,
                flush=flush,
                sync=sync,
                threads=cleaned["threads"],
                files=cleaned["files"],
                mean_file_bytes=cleaned["mean_file_size"],
            )
        except SharesError as error:
            total = f"{error.total * self.whole:.4g}"
            self.add_error(
                None, f"Reads, writes, metadata and flushes must add up to {self.whole}; these make {total}."
            )


class AdvisorForm(AdviceForm):
    """The form for pages: shares in percent, and the personality may be a file."""

    whole = 100

    def __init__(self, data: Any = None, files: Any = None, **kwargs: Any) -> None:
        file = files.get("file") if files else None
        if file and file.size <= MOST_BYTES:  # treated like a pasted text
            data = data.copy()
            data["personality"] = file.read().decode("utf-8-sig", errors="replace")
        super().__init__(data, files, **kwargs)
        self.fields["file"] = forms.FileField(required=False, label="or a file (.f or .fio, 1 MiB at most)")
        self.fields["personality"].widget = forms.Textarea(
            attrs={"rows": 14, "spellcheck": "false", "autocapitalize": "off", "autocomplete": "off", "wrap": "off"}
        )
        for name in SHARES:
            self.fields[name] = ShareField(whole=self.whole, label=f"{self.fields[name].label}, %")
            self.fields[name].widget.attrs["step"] = "any"
        self.fields["mean_file_size"].widget.attrs["placeholder"] = "16 KiB"

    @classmethod
    def example(cls, workload: str) -> "AdvisorForm":
        """Return the form filled in with a workload of profiles.KNOWN."""
        return cls(initial={"personality": (profiles.PERSONALITIES / f"{workload}.f").read_text("utf-8")})

    def clean_file(self) -> None:
        file = self.cleaned_data["file"]
        if file and file.size > MOST_BYTES:
            raise forms.ValidationError(TOO_LONG, code="max_length")

    @property
    def shares(self) -> list[forms.BoundField]:
        return [self[name] for name in SHARE_FIELDS]

    @property
    def has_shares(self) -> bool:
        return bool(self.non_field_errors()) or any(field.value() or field.errors for field in self.shares)

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
