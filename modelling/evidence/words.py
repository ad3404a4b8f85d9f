"""Word numbers, counts, columns and lists for sentences. No Django."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .axes import COLUMN_LABELS, KINDS

STORAGE = {"hdd": "hard disks", "ssd": "solid state", "nvme": "NVMe", "mixed": "mixed storage"}
_VIRTUALISATION = {
    "full": "full hardware virtualisation",
    "para": "para-virtualisation",
    "emulated": "emulation",
    "container": "a container",
}


def listed(words: Iterable[str], last: str = "and") -> str:
    """Join words: "a", "a and b", "a, b and c"."""
    words = list(words)
    return f" {last} ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def some(words: Iterable[str], most: int = 6) -> str:
    """Join words as `listed`; beyond `most` name the first and count the others: "a, b and 998 others"."""
    words = list(words)
    rest = len(words) - most
    return listed(words) if rest < 2 else listed([*words[:most], f"{rest} others"])


def counted(number: int, singular: str, plural: str = "") -> str:
    """Write a number of things: "one case study", "three case studies", "12 case studies"."""
    small = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    word = small[number] if number < len(small) else str(number)
    return f"{word} {singular if number == 1 else plural or singular + 's'}"


def times(ratio: float) -> str:
    """Write a ratio with two significant digits: "0.35", "1.7", "17"; near one with three: "1.02"."""
    if 0.95 <= ratio < 1.05:
        return f"{ratio:.2f}"
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}" if ratio > 1 else f"{ratio:.2g}"


def load(label: str) -> str:
    """Return a workload inside a sentence: "a mail server", "random file access", "the ATTO transfer test"."""
    first = label.split()[0]
    if first.isupper() and len(first) > 1:
        return f"the {label}"
    return f"a {label.lower()}" if label.lower().endswith("server") else label[:1].lower() + label[1:]


def percent(share: float) -> str:
    """Return a share of one as "63 %"."""
    return f"{share * 100:.0f} %"


def machines(vm_count: int) -> str:
    return counted(vm_count, "virtual machine") if vm_count else "natively"


def size(number: float) -> str:
    """Return the bytes with a binary unit: "15.6 MiB"."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if number < 1024 or unit == "GiB":
            return f"{number:.0f} {unit}" if unit == "bytes" or number >= 100 else f"{number:.3g} {unit}"
        number /= 1024
    raise AssertionError


def column(name: str) -> str:
    return COLUMN_LABELS[name]


def value(names: Mapping[str, Mapping[str, str]], name: str, given: Any) -> str:
    """Return the value of a column of the frame of arms as a reader would write it."""
    if given in (None, ""):
        return "not stated"
    if name == "virtualisation":
        return _VIRTUALISATION.get(str(given), str(given))
    return names.get(KINDS.get(name, ""), {}).get(str(given), str(given))


def stated(names: Mapping[str, Mapping[str, str]], name: str, given: Any) -> str:
    """Write a fact of a configuration with its meaning: "8 GiB memory", "cache writeback"."""
    number = f"{given:g}" if isinstance(given, float) else str(given)
    spelled = {
        "vm_vcpus": f"{number} virtual processors",
        "vm_ram_gib": f"{number} GiB memory",
        "guest_kernel": f"kernel {given}",
        "host_kernel": f"kernel {given}",
        "cache_mode": f"cache {given}",
        "backend": names.get("backend", {}).get(str(given), ""),
        "image_format": f"{given} image",
        "hypervisor_release": f"release {given}",
        "guest_mkfs_options": f"made with {given}",
        "host_mkfs_options": f"made with {given}",
        "guest_io_scheduler": f"I/O scheduler {given}",
        "host_io_scheduler": f"I/O scheduler {given}",
        "guest_mount_options": f"mounted {given}",
        "host_mount_options": f"mounted {given}",
    }
    return spelled.get(name) or value(names, name, given)


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def fact_words(facts: Sequence[Mapping[str, str]]) -> str:
    """Return facts that changed: kernel 6.8 (was 6.1)."""
    return listed(
        [f"{fact['name']} {fact['after'] or 'unknown'} (was {fact['before'] or 'unknown'})" for fact in facts]
    )
