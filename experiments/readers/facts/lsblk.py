"""lsblk -J: block devices as a tree. Loop devices, empty ones and serial numbers are ignored.

    {"blockdevices": [{"name": "sda", "type": "disk", "size": 480103981056, "rota": false, "tran": "sata",
                       "children": [{"name": "sda1", "type": "part", "size": 536870912, "fstype": "ext4", ...}]}]}

The option -o chooses the columns; sizes are bytes with -b, else texts like "447.1G". Versions up to 2.36 write
"0" and "1" for false and true.

Source: captured with util-linux 2.38.1; lsblk.c.
"""

from collections.abc import Iterator
from typing import Any

from ..base import Fact, whole_number
from ..reader import Outcome, Reader
from .json_text import numbered_tree

_TEXTS = {
    "type": "kind",
    "fstype": "file_system",
    "tran": "transport",
    "model": "model",
    "sched": "scheduler",
    "disc-gran": "discard_granularity",
}
_NUMBERS = {"phy-sec": "physical_sector_bytes", "log-sec": "logical_sector_bytes"}


class Lsblk(Reader):
    name = "lsblk"
    benchmark, counted = "", "facts"
    nothing = "lsblk lists no device that holds anything"

    def recognises(self, data: bytes) -> bool:
        return b'"blockdevices"' in data[:4096]

    def parse(self, data: bytes) -> Iterator[Outcome]:
        for line, device in numbered_tree(data, "blockdevices", "name", self.name):
            about = str(device.get("name") or "")[:80]
            if about and device.get("type") != "loop" and device.get("size") not in (0, "0", "0B", None):
                for name, value in _values(device).items():
                    yield Fact(about, name, value, line)


def _values(device: dict[str, Any]) -> dict[str, str | int | bool]:
    size = device["size"]
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
    return values


def _plain(value: Any) -> str | int:
    text = str(value).strip()[:200]
    number = whole_number(text)
    return text if number is None else number
