"""lsblk -J: block devices, with what lies on what. Loop devices and empty ones are passed over; serial numbers too.

    {"blockdevices": [{"name": "sda", "type": "disk", "size": 480103981056, "rota": false, "tran": "sata",
                       "children": [{"name": "sda1", "type": "part", "size": 536870912, "fstype": "ext4", ...}]}]}

Which columns are there is said by -o; sizes are bytes with -b, else texts like "447.1G". Versions up to 2.36 write
"0" and "1" for false and true.

Source: captured with util-linux 2.38.1; lsblk.c.
"""

import re
from typing import Any

from experiments.readers.base import Fact, LineNumbers, Reading, Refusal, TooMuch, text_of, whole_or_nothing

from .json_text import document_of, tree

MAX_DEVICES = 2_000

_NAME = re.compile(r'"name"\s{0,20}:')
_TEXTS = {
    "type": "kind",
    "fstype": "file_system",
    "tran": "transport",
    "model": "model",
    "sched": "scheduler",
    "disc-gran": "discard_granularity",
}
_NUMBERS = {"phy-sec": "physical_sector_bytes", "log-sec": "logical_sector_bytes"}


class Lsblk:
    name = "lsblk"

    def recognises(self, data: bytes) -> bool:
        return b'"blockdevices"' in data[:4096]

    @whole_or_nothing
    def read(self, data: bytes) -> Reading:
        text = text_of(data)
        document = document_of(text)
        if document is None or not isinstance(document.get("blockdevices"), list):
            return Reading(self.name, refused=(Refusal(None, "the JSON of lsblk is cut, or broken"),))
        numbers = LineNumbers(text)
        lines = [numbers.at(match.start()) for match in _NAME.finditer(text)]
        devices = list(tree(document["blockdevices"]))
        if len(devices) > MAX_DEVICES:
            raise TooMuch(len(devices), "block devices", MAX_DEVICES)
        facts: list[Fact] = []
        for number, device in enumerate(devices):
            line = lines[number] if len(lines) == len(devices) else None
            facts += _facts(device, line)
        if not facts:
            return Reading(self.name, refused=(Refusal(None, "lsblk lists no device that holds anything"),))
        return Reading(self.name, facts=tuple(facts))


def _facts(device: dict[str, Any], line: int | None) -> list[Fact]:
    about = str(device.get("name") or "")[:80]
    size = device.get("size")
    if not about or device.get("type") == "loop" or size in (0, "0", "0B", None):
        return []
    values: dict[str, str | int | bool] = {"size_bytes" if str(size).isdecimal() else "size": _plain(size)}
    for key, name in _TEXTS.items():
        if device.get(key) not in (None, "", "0B", 0):
            values[name] = _plain(device[key])
    for key, name in _NUMBERS.items():
        if str(device.get(key)).isdecimal():
            values[name] = int(device[key])
    if (rotates := device.get("rota")) in (True, False, "0", "1"):
        values["rotational"] = rotates in (True, "1")
    mounted = device.get("mountpoints") if isinstance(device.get("mountpoints"), list) else [device.get("mountpoint")]
    if places := [str(place)[:200] for place in mounted or () if place]:
        values["mounted_at"] = ", ".join(places)
    return [Fact(about, name, value, line) for name, value in values.items()]


def _plain(value: Any) -> str | int:
    text = str(value).strip()[:200]
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else text
