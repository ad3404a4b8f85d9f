"""Facts that may explain an outlier: the state of the host's processors and disks. What it does not say is left out."""

import json
from typing import Any

from . import remote
from .ssh import Connection

HOT_CELSIUS = 85  # most processors slow down not far above


def look(machine: Connection, pools: list[str]) -> dict[str, Any]:
    """Return the host's health, with the keys of `read`. Raises what remote.call does."""
    return read(remote.call(machine, "health", *pools))


def read(text: str) -> dict[str, Any]:
    """Return what the answer of the verb `health` says.

    governor, turbo ("on", "off"), mitigations ("off"): str; vulnerable: list of what the kernel calls so;
    celsius: float, the hottest sensor; pools: path to used_percent (int) and made (ISO date); disks: name to passed
    (bool), hours (int), celsius (int), worn_percent (int), as far as SMART tells them.
    """
    found: dict[str, Any] = {}
    for key, value in remote.facts(text):
        name, _, rest = value.partition(" ")
        if key == "vulnerable":
            found.setdefault("vulnerable", []).append(value)
        elif key == "hottest_millidegrees":
            if value.lstrip("-").isdecimal():
                found["celsius"] = int(value) / 1000
        elif key == "used":
            if rest.isdecimal():
                found.setdefault("pools", {}).setdefault(name, {})["used_percent"] = int(rest)
        elif key == "made":
            found.setdefault("pools", {}).setdefault(name, {})["made"] = rest
        elif key == "smart":
            if about := _disk(rest):
                found.setdefault("disks", {})[name] = about
        else:
            found[key] = value
    return found


def _disk(text: str) -> dict[str, Any]:
    """Return what every kind of disk states alike in smartctl's JSON: no attributes with a maker's own meaning."""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    places = {
        "passed": ("smart_status", "passed"),
        "hours": ("power_on_time", "hours"),
        "celsius": ("temperature", "current"),
        "worn_percent": ("nvme_smart_health_information_log", "percentage_used"),
    }
    found = {name: _at(said, *place) for name, place in places.items()}
    if found["worn_percent"] is None:
        found["worn_percent"] = _at(said, "endurance_used", "current_percent")
    return {name: value for name, value in found.items() if isinstance(value, int)}


def _at(said: Any, outer: str, inner: str) -> Any:
    part = said.get(outer) if isinstance(said, dict) else None
    return part.get(inner) if isinstance(part, dict) else None


def in_words(found: dict[str, Any]) -> list[tuple[str, str]]:
    """Return (label, text) of what is known."""
    clock = [found.get("governor", ""), f"turbo {found['turbo']}" if "turbo" in found else ""]
    said = [("Processor clock", ", ".join(filter(None, clock)))]
    said.append(("Hottest sensor", f"{found['celsius']:.0f} \N{DEGREE SIGN}C" if "celsius" in found else ""))
    off = ["mitigations are off"] if found.get("mitigations") == "off" else []
    listed = ", ".join([*off, *(f"vulnerable: {name}" for name in found.get("vulnerable", []))])
    said.append(("Kernel", listed))
    for path, about in found.get("pools", {}).items():
        made = f", made {about['made']}" if "made" in about else ""
        used = f"{about['used_percent']} % full" if "used_percent" in about else "not known how full"
        said.append((f"File system of {path}", used + made))
    for name, about in found.get("disks", {}).items():
        words = [
            "SMART passed" if about.get("passed") else "SMART failed" if "passed" in about else "",
            f"{about['worn_percent']} % worn" if "worn_percent" in about else "",
            f"{about['hours']:,} h on" if "hours" in about else "",
            f"{about['celsius']} \N{DEGREE SIGN}C" if "celsius" in about else "",
        ]
        said.append((f"Disk {name}", ", ".join(filter(None, words))))
    return [(label, text) for label, text in said if text]


def warnings(found: dict[str, Any]) -> list[str]:
    """Return the sentences about the host's health that a result should carry."""
    said = []
    if found.get("celsius", 0) >= HOT_CELSIUS:
        said.append(f"The host was at {found['celsius']:.0f} \N{DEGREE SIGN}C: it may have slowed down.")
    for name, about in found.get("disks", {}).items():
        if about.get("passed") is False:
            said.append(f"Disk {name} fails its own SMART check.")
        if about.get("worn_percent", 0) >= 100:
            said.append(f"Disk {name} is worn out by its own count ({about['worn_percent']} %).")
    return said
