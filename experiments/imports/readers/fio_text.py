"""fio's text for people: known, and not read, because its figures are rounded and their units change by line."""

import re

from .base import Reading, Refusal, text_of
from .fio_json import FioJson
from .fio_terse import FioTerse

_JOB = re.compile(rb"^.{0,200}: \(groupid=\d+, jobs=\d+\): err= ?\d", re.MULTILINE)
_OLD = re.compile(rb"(?:^|[\n>]) {0,4}(?:read|write) ?: (?:io=|IOPS=)", re.IGNORECASE)


class FioText:
    name = "fio-text"

    def recognises(self, data: bytes) -> bool:
        is_text = bool(_JOB.search(data[: 2**20]) or _OLD.search(data[: 2**20]))
        return is_text and not FioJson().recognises(data) and not FioTerse().recognises(data)

    def read(self, data: bytes) -> Reading:
        found = re.search(r"^(fio-\d\S{0,20})[ \t\r]{0,80}$", text_of(data[: 2**20]), re.MULTILINE)
        version = found[1].removeprefix("fio-") if found else ""
        mark = _JOB.search(data) or _OLD.search(data)
        line = data.count(b"\n", 0, mark.start()) + 1 if mark else None
        reason = "this is fio's text for people, whose figures are rounded; run fio with --output-format=json"
        return Reading(self.name, version, "fio", refused=(Refusal(line, reason),))
