"""Prepare observed loads and detection results for pages. No queries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from experiments.fleet.aggregation import DiskActivity
from experiments.fleet.selectors import mean_load
from modelling.answers.words import Chart, mix_address
from modelling.evidence.question import Question
from modelling.evidence.words import percent

from .content import HELD_BACK, IDLE, OR, OTHERS, UNLIKE, Mix

SPANS = {"minute": "%H:%M", "hour": "%m-%d %H:00", "day": "%Y-%m-%d"}
SHOWN = {"minute": 120, "hour": 72, "day": 90}  # points of a chart
_WORDS = {IDLE: "idle", UNLIKE: "unlike anything known", "none": "no class", **OTHERS}


@dataclass(frozen=True)
class MixWords:
    """A mix in words. address : of the answer for it, or empty"""

    text: str
    note: str
    address: str


def describe_mix(mix: Mix | None, names: Mapping[str, str], hypervisor: str, machine_fs: str) -> MixWords:
    """Write a mix in words. names : workload to its name; hypervisor, machine_fs : slugs of the catalogue, or empty"""
    if mix is None:
        return MixWords("not told yet", "", "")
    details = [f"{mix.minutes} minutes watched", f"{percent(mix.idle)} idle"]
    details.append(f"{percent(mix.unlike)} unlike anything known")
    others = sorted(mix.others.items(), key=lambda other: -other[1])
    details += [f"{percent(share)} {describe_class(name, names)}" for name, share in others]
    watched = ", ".join(details)
    if mix.why_not:
        return MixWords("not known", f"{mix.why_not} {watched}.", "")
    likely = sorted(mix.shares.items(), key=lambda share: -share[1])
    text = ", ".join(f"{names.get(workload, workload)} {percent(share)}" for workload, share in likely if share >= 0.05)
    weights = {workload: round(share * 100) for workload, share in likely if share >= 0.05}
    question = Question("host-storage", "", hypervisor=hypervisor or None, guest_fs=machine_fs or None)
    address = mix_address(question, weights)
    return MixWords(text, f"{percent(mix.probability)} sure on average; {watched}.", address)


def describe_class(detected: str, names: Mapping[str, str]) -> str:
    """Name a class, or several that cannot be distinguished."""
    classes = [names.get(name, _WORDS.get(name, name)) for name in detected.split(OR)]
    return OR.join(classes) + (" (not told apart)" if len(classes) > 1 else "")


@dataclass(frozen=True)
class Curves:
    """The load of a machine's disks over time, as charts and as rows of a table."""

    charts: list[Chart]
    rows: list[tuple[str, Any]]


def curves(span: str, sums: Sequence[tuple[datetime, DiskActivity]]) -> Curves:
    """Make the curves of a machine. sums : by time; the latest SHOWN are used"""
    shown = [(f"{starts_at:{SPANS[span]}}", mean_load([activity])) for starts_at, activity in sums[-SHOWN[span] :]]
    throughput = {"read": "read_mib", "written": "write_mib"}
    requests = {"reads": "reads", "writes": "writes", "flushes": "flushes"}
    return Curves(
        [
            _chart("throughput", "MiB/s", f"MiB a second by {span}", throughput, shown),
            _chart("requests", "1/s", f"requests a second by {span}", requests, shown),
        ]
        if shown
        else [],
        shown[::-1],
    )


def _chart(name: str, unit: str, title: str, series: Mapping[str, str], shown: Sequence[tuple[str, Any]]) -> Chart:
    return Chart(
        id=f"chart-{name}",
        size="short",
        label=f"Line chart: {title}. The table has the numbers.",
        data={
            "kind": "line",
            "horizontal": False,
            "unit": unit,
            "axis": unit,
            "across": "UTC",
            "labels": [label for label, _ in shown],
            "series": [
                {
                    "name": words,
                    "points": [{"value": getattr(row, field), "low": None, "high": None} for _, row in shown],
                }
                for words, field in series.items()
            ],
            "tones": None,
            "reference": None,
        },
    )


@dataclass(frozen=True)
class ConfusionTable:
    """A confusion matrix. columns : results; rows : what ran, how often each result was given, and the share of hits"""

    title: str
    columns: list[str]
    rows: list[tuple[str, list[int], float | None]]


def confusion_table(
    title: str, confusion: Mapping[str, Mapping[str, int]], classes: Sequence[str], names: Mapping[str, str]
) -> ConfusionTable:
    """Make the table of a confusion. The share of hits is of loads not idle; None where no class has the name."""
    labels = {detected for counted in confusion.values() for detected in counted}
    columns = sorted(labels, key=lambda detected: (detected in (UNLIKE, IDLE), detected.count(OR), detected))
    rows = []
    for ran, counted in confusion.items():
        of_class, _, program = ran.partition(HELD_BACK)
        working = sum(counted.values()) - counted.get(IDLE, 0)
        right = counted.get(of_class, 0) / working if working and of_class in classes else None
        words = f"{program} ({describe_class(of_class, names)})" if program else describe_class(ran, names)
        rows.append((words, [counted.get(column, 0) for column in columns], right))
    return ConfusionTable(title, [describe_class(column, names) for column in columns], rows)
