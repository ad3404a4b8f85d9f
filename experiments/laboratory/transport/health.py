"""Facts that may explain an outlier: the state of the host's processors and disks. What it does not say is left out."""

import json
from typing import Any, TypedDict, cast

from . import remote
from .ssh import Connection

HOT_CELSIUS = 85  # most processors slow down not far above


class PoolHealth(TypedDict, total=False):
    """The state of a pool's file system. made : ISO date"""

    used_percent: int
    made: str


class DiskHealth(TypedDict, total=False):
    """The state of a disk, as far as SMART tells it."""

    passed: bool
    hours: int
    celsius: int
    worn_percent: int


class Health(TypedDict, total=False):
    """The state of a host.

    turbo : "on", "off"; vulnerable : what the kernel calls so; celsius : the hottest sensor
    io_pressure : % of the minute before the look in which some task waited for a disk (PSI)
    """

    governor: str
    turbo: str
    mitigations: str
    vulnerable: list[str]
    celsius: float
    io_pressure: float
    pools: dict[str, PoolHealth]
    disks: dict[str, DiskHealth]


def look(machine: Connection, pools: list[str]) -> Health:
    """Return the host's health. Raises what remote.call does."""
    return read(remote.call(machine, "health", *pools))


def read(text: str) -> Health:
    """Return what the answer of the verb `health` says."""
    facts: Health = {}
    for key, value in remote.facts(text):
        name, _, rest = value.partition(" ")
        if key == "vulnerable":
            facts.setdefault("vulnerable", []).append(value)
        elif key == "hottest_millidegrees":
            if value.lstrip("-").isdecimal():
                facts["celsius"] = int(value) / 1000
        elif key == "io_pressure":
            if value.replace(".", "", 1).isdecimal():
                facts["io_pressure"] = float(value)
        elif key == "used":
            if rest.isdecimal():
                facts.setdefault("pools", {}).setdefault(name, {})["used_percent"] = int(rest)
        elif key == "made":
            facts.setdefault("pools", {}).setdefault(name, {})["made"] = rest
        elif key == "smart":
            if about := _disk(rest):
                facts.setdefault("disks", {})[name] = about
        else:
            facts |= cast(Health, {key: value})
    return facts


def _disk(text: str) -> DiskHealth:
    """Return what every kind of disk states alike in smartctl's JSON: no attributes with a maker's own meaning."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    places = {
        "passed": ("smart_status", "passed"),
        "hours": ("power_on_time", "hours"),
        "celsius": ("temperature", "current"),
        "worn_percent": ("nvme_smart_health_information_log", "percentage_used"),
    }
    figures = {name: _at(document, *place) for name, place in places.items()}
    if figures["worn_percent"] is None:
        figures["worn_percent"] = _at(document, "endurance_used", "current_percent")
    return cast(DiskHealth, {name: value for name, value in figures.items() if isinstance(value, int)})


def _at(document: Any, outer: str, inner: str) -> Any:
    part = document.get(outer) if isinstance(document, dict) else None
    return part.get(inner) if isinstance(part, dict) else None


def in_words(health: Health) -> list[tuple[str, str]]:
    """Return (label, text) of what is known."""
    clock = [health.get("governor", ""), f"turbo {health['turbo']}" if "turbo" in health else ""]
    lines = [("Processor clock", ", ".join(filter(None, clock)))]
    lines.append(("Hottest sensor", f"{health['celsius']:.0f} \N{DEGREE SIGN}C" if "celsius" in health else ""))
    waited = f"in {health['io_pressure']:.1f} % of the minute before" if "io_pressure" in health else ""
    lines.append(("Tasks waited for disks", waited))
    off = ["mitigations are off"] if health.get("mitigations") == "off" else []
    listed = ", ".join([*off, *(f"vulnerable: {name}" for name in health.get("vulnerable", []))])
    lines.append(("Kernel", listed))
    for path, pool in health.get("pools", {}).items():
        made = f", made {pool['made']}" if "made" in pool else ""
        used = f"{pool['used_percent']} % full" if "used_percent" in pool else "not known how full"
        lines.append((f"File system of {path}", used + made))
    for name, about in health.get("disks", {}).items():
        words = [
            "SMART passed" if about.get("passed") else "SMART failed" if "passed" in about else "",
            f"{about['worn_percent']} % worn" if "worn_percent" in about else "",
            f"{about['hours']:,} h on" if "hours" in about else "",
            f"{about['celsius']} \N{DEGREE SIGN}C" if "celsius" in about else "",
        ]
        lines.append((f"Disk {name}", ", ".join(filter(None, words))))
    return [(label, text) for label, text in lines if text]


def warnings(health: Health) -> list[str]:
    """Return the sentences about the host's health that a result should carry."""
    sentences = []
    if health.get("celsius", 0) >= HOT_CELSIUS:
        sentences.append(f"The host was at {health['celsius']:.0f} \N{DEGREE SIGN}C: it may have slowed down.")
    for name, about in health.get("disks", {}).items():
        if about.get("passed") is False:
            sentences.append(f"Disk {name} fails its own SMART check.")
        if about.get("worn_percent", 0) >= 100:
            sentences.append(f"Disk {name} is worn out by its own count ({about['worn_percent']} %).")
    return sentences
