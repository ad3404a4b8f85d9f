"""Word an answer: its title, addresses, summary of evidence and chart. No queries, no HTML."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from experiments.published_evidence.abilities import ABILITIES
from kdb.disk_path import SETTINGS
from kdb.units import METRICS
from modelling.evidence.axes import NATIVE
from modelling.evidence.question import Question
from modelling.evidence.words import STORAGE, counted, listed, machines

from .content import Grounds

WEIGHT_DECIMALS = 6  # decimals of a workload's weight in a mix
# What an entry of an axis is called in a sentence.
THING = {
    "fs-pair": "file-system pair",
    "guest-fs": "guest file system",
    "host-fs": "host file system",
    "host-storage": "host storage",
    "hypervisor": "hypervisor",
    "configuration": "configuration",
    **{setting.axis: setting.in_sentence for setting in SETTINGS.values()},
}
_KIND_OF_FILTER = {
    "hypervisor": "hypervisor",
    "guest_fs": "file_system",
    "host_fs": "file_system",
    "host_storage": "host_storage",
    "storage": "storage",
    "benchmark": "benchmark",
    "guest_os_family": "guest_os_family",
    **{column: column for column in SETTINGS},
}
GRADES = {
    "A": "two or more independent laboratories measured it, with their spread",
    "B": "one laboratory measured it, or no source prints a spread",
    "C": "derived by arithmetic from what a text states, or measured and published without review",
    "D": "stated in words or lists only, without a number",
}


def address(
    question: Question, as_of: int | None = None, beside: Mapping[str, str] | None = None, method: int | None = None
) -> str:
    """Return the canonical address of the question on the site.

    as_of, method : revision and method, which make the address permanent
    beside : further parameters that do not change the answer: the visitor's machine and words
    """
    asked = {"axis": question.axis, "workload": question.workload, **question.asked}
    return "/?" + urlencode({**asked, **(beside or {}), **version_parameters(as_of, method)})


def version_parameters(as_of: int | None, method: int | None) -> dict[str, int]:
    """Return the query parameters that make an address permanent; {} without a revision."""
    named = {"as_of": as_of, "method": method} if as_of else {}
    return {name: value for name, value in named.items() if value}


def api_address(question: Question, **extra: str | int) -> str:
    """Return the address of the same answer as data."""
    query = urlencode({"workload": question.workload, **question.asked, **extra})
    return f"/api/v1/rankings/{question.axis}/?{query}"


def heat_map_address(question: Question, **extra: str | int) -> str:
    """Return the address of the same answer as a grid of guest and host, as data."""
    return f"/api/v1/heat-maps/?{urlencode({'workload': question.workload, **question.asked, **extra})}"


def feed_address(question: Question) -> str:
    """Return the address at which a feed reader follows the question."""
    return "/feed" + address(question)


def comparison_address(question: Question, keys: Iterable[str], **extra: str | int) -> str:
    """Return the address of the comparison of the first six of these entries."""
    entries = dict(zip("abcdef", keys, strict=False))
    query = {"axis": question.axis, "workload": question.workload, **question.filters, **entries, **extra}
    return f"/compare/?{urlencode(query)}"


def comparison_api_address(question: Question, keys: Iterable[str], **extra: str | int) -> str:
    """Return the address of the same comparison as data."""
    query = {"axis": question.axis, "workload": question.workload, **question.filters, "entries": ",".join(keys)}
    return f"/api/v1/comparisons/?{urlencode({**query, **extra}, safe=',:')}"


def mix_address(question: Question, weights: Mapping[str, float], **extra: str | int) -> str:
    """Return the address of the answer under a mix of workloads. weights : workload to share, in any unit"""
    return f"/mix/?{urlencode({'axis': question.axis, **question.asked, **_formatted_weights(weights), **extra})}"


def mix_api_address(question: Question, weights: Mapping[str, float], **extra: str | int) -> str:
    """Return the address of the same answer as data."""
    shares = ",".join(f"{workload}:{weight}" for workload, weight in _formatted_weights(weights).items())
    query = urlencode({"axis": question.axis, **question.asked, "weights": shares, **extra}, safe=",:")
    return f"/api/v1/mixes/?{query}"


def _formatted_weights(weights: Mapping[str, float]) -> dict[str, str]:
    """Return the weights above 0 in the fixed-point notation that the form reads: 0.00005, 1000000."""
    return {
        workload: f"{weight:.{WEIGHT_DECIMALS}f}".rstrip("0").rstrip(".")
        for workload, weight in weights.items()
        if weight
    }


def title(question: Question, names: Mapping[str, Mapping[str, str]], among: Sequence[str] = ()) -> str:
    """State the question in words: "Mail server on KVM: which file-system pair?". among : labels, "KVM or Xen?" """
    text = names["workload"].get(question.workload, question.workload)
    for name, value in question.asked.items():
        label = names[_KIND_OF_FILTER[name]].get(str(value), value) if name in _KIND_OF_FILTER else value
        text += {
            "hypervisor": " natively" if value == NATIVE else f" on {label}",
            "guest_fs": f", guest file system {label}",
            "host_fs": f", host file system {label}",
            "host_storage": f", host storage {label}",
            "vm_count": f", {label} virtual machine{'' if label == 1 else 's'}",
            "storage": f", on {label}",
            "benchmark": f", measured with {label}",
            "guest_os_family": f", {label} guests",
            "grade": f", evidence of grade {label} or better",
            "evidence": ", by reviewed papers alone",
            "metric": f", by {METRICS[str(value)].label}" if name == "metric" else "",
            "needs": f", must have {listed([ABILITIES[need].name.lower() for need in question.needs])}",
            **{column: f", {setting.in_sentence} {label}" for column, setting in SETTINGS.items()},
        }[name]
    return f"{text}: {listed(among, 'or') if among else f'which {THING[question.axis]}'}?"


def summarize_evidence(grounds: Grounds, storage: Mapping[str, str]) -> str:
    """Summarise the evidence: "two laboratories, 12 measurements, hard disk, 2013 to 2021, 1 to 3 machines averaged".

    storage : kind of storage to its name
    """
    parts = [
        counted(number, *name)
        for number, name in (
            (grounds.laboratories, ("laboratory", "laboratories")),
            (grounds.measurements, ("measurement",)),
            (grounds.derived, ("derived value",)),
            (grounds.findings, ("place in tier lists", "places in tier lists")),
        )
        if number
    ]
    if grounds.groups < grounds.laboratories:
        parts[0] += f" of {counted(grounds.groups, 'research group')}"
    if parts:
        parts.append(" and ".join(storage.get(kind, kind) for kind in grounds.storage) or "kind of storage not stated")
    parts += [_span(grounds.years)] if grounds.years else []
    if grounds.vm_counts:
        many = len(grounds.vm_counts) > 1
        parts.append(f"{_span(grounds.vm_counts)} machines averaged" if many else machines(grounds.vm_counts[0]))
    return ", ".join(parts)


def rests_on(grounds: Grounds, hypervisor: str = "") -> str:
    """Return years and disks of the evidence: "under ESXi, 2013 to 2021, hard disks"; "" where nothing is stated.

    hypervisor : of all of it, where the question names none; else ""
    """
    disks = listed([f"{STORAGE.get(kind, kind)}" for kind in grounds.storage])
    under = f"under {hypervisor}" if hypervisor else ""
    return ", ".join(filter(None, (under, _span(grounds.years) if grounds.years else "", disks)))


def never_tried(grounds: Grounds, storage: Mapping[str, str]) -> str:
    """State on which kinds of storage nobody measured for this answer; "" where it has all kinds or no evidence."""
    missing = [name for kind, name in storage.items() if kind not in ("mixed", *grounds.storage)]
    if not missing or not grounds.laboratories:
        return ""
    return f"Nobody tested this on {listed(missing, 'or')}: your disks may differ."


def _span(numbers: Sequence[int]) -> str:
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"


@dataclass(frozen=True)
class Chart:
    """The content of templates/includes/_chart.html.

    size : short, tall or ""; label : for who cannot see it; data : JSON-ready, as static/js/kdb.js reads it
    """

    id: str
    size: str
    label: str
    data: dict[str, Any]

    @property
    def data_id(self) -> str:
        return f"{self.id}-data"


@dataclass(frozen=True)
class Bar:
    """One line of a forest plot: a ratio with its interval, inside it that of the mean where there is one.

    tone : good, bad or None
    """

    label: str
    ratio: float
    low: float | None
    high: float | None
    mean_low: float | None = None
    mean_high: float | None = None
    tone: str | None = None


def forest_plot(number: int, relative: str, reference: str, bars: Sequence[Bar], margin: float | None = None) -> Chart:
    """Draw ratios with their intervals.

    relative : what the ratios are of, "Throughput"; reference : label of what they are against
    margin : difference that matters, a share: shaded on both sides of 1; None: not shaded
    """
    has_means = any(bar.mean_low is not None for bar in bars)
    means = ", the thick part the mean over laboratories" if has_means else ""
    return Chart(
        id=f"chart-part-{number}",
        size="short" if len(bars) < 5 else "tall" if len(bars) > 9 else "",
        label=f"Forest plot: {relative} relative to {reference}; bars: what a new laboratory would see (95 %)"
        f"{means}. The ranking has the numbers.",
        data={
            "kind": "forest",
            "horizontal": True,
            "unit": "×",
            "axis": [
                f"{relative} relative to {reference}, logarithmic",
                "thin: 95 % on other machines, thick: mean" if has_means else "95 % on other machines",
                *([f"grey: a difference below {margin:.0%}"] if margin else []),
            ],
            "band": [1 - margin, 1 / (1 - margin)] if margin else [1, 1],
            "labels": [bar.label for bar in bars],
            "series": [
                {
                    "name": f"Relative {relative.lower()}",
                    "points": [
                        {
                            "value": bar.ratio,
                            "low": bar.low,
                            "high": bar.high,
                            "inner_low": bar.mean_low,
                            "inner_high": bar.mean_high,
                        }
                        for bar in bars
                    ],
                }
            ],
            "tones": [bar.tone for bar in bars],
            "reference": 1,
        },
    )
