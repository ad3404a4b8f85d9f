"""How an answer reads: its title, its addresses, its recommendation and its chart. No queries, no HTML."""

from typing import Any
from urllib.parse import urlencode

from modelling.evidence.question import Question

# What an entry of an axis is called in a sentence.
_THING = {
    "fs-pair": "file-system pair",
    "guest-fs": "guest file system",
    "host-fs": "host file system",
    "hypervisor": "hypervisor",
    "configuration": "configuration",
}


_KIND_OF_FILTER = {
    "hypervisor": "hypervisor",
    "guest_fs": "file_system",
    "host_fs": "file_system",
    "storage": "storage",
    "benchmark": "benchmark",
    "guest_os_family": "guest_os_family",
}


GRADES = {
    "A": "two or more independent laboratories measured it, with their spread",
    "B": "one laboratory measured it, or no source prints a spread",
    "C": "derived by arithmetic from what a text states",
    "D": "stated in words or lists only, without a number",
}


def address(question: Question, as_of: int | None = None) -> str:
    """The question's own address on the site, the same for every spelling it was asked in."""
    then = {} if as_of is None else {"as_of": as_of}
    return "/?" + urlencode({"axis": question.axis, "workload": question.workload, **question.filters, **then})


def api_address(question: Question, **extra: str | int) -> str:
    """Where the same answer stands as data."""
    query = urlencode({"workload": question.workload, **question.filters, **extra})
    return f"/api/v1/rankings/{question.axis}/?{query}"


def title(question: Question, names: dict[str, dict[str, str]]) -> str:
    """The question in words: "Mail server on KVM: guest file system on host file system"."""
    text = names["workload"].get(question.workload, question.workload)
    for name, value in question.filters.items():
        label = names[_KIND_OF_FILTER[name]].get(str(value), value) if name in _KIND_OF_FILTER else value
        text += {
            "hypervisor": f" on {label}",
            "guest_fs": f", guest file system {label}",
            "host_fs": f", host file system {label}",
            "vm_count": f", {label} virtual machine{'' if label == 1 else 's'}",
            "storage": f", on {label}",
            "benchmark": f", measured with {label}",
            "guest_os_family": f", {label} guests",
            "grade": f", evidence of grade {label} or better",
        }[name]
    return f"{text}: which {_THING[question.axis]}?"


def forest_plot(number: int, reference: str, entries: list[dict[str, Any]]) -> dict[str, Any]:
    chart_id = f"chart-part-{number}"
    return {
        "id": chart_id,
        "data_id": f"{chart_id}-data",
        "size": "short" if len(entries) < 5 else "tall" if len(entries) > 9 else "",
        "label": f"Forest plot: throughput relative to {reference}; bars: what a new laboratory would see (95 %), "
        "the thick part the mean over laboratories. The table has the numbers.",
        "data": {
            "kind": "forest",
            "horizontal": True,
            "unit": "×",
            "axis": f"Throughput relative to {reference}, 95 % in a new laboratory (thick: of the mean), logarithmic",
            "labels": [entry["label"] for entry in entries],
            "series": [
                {
                    "name": "Relative throughput",
                    "points": [
                        {
                            "value": entry["ratio"],
                            "low": entry["low"],
                            "high": entry["high"],
                            "inner_low": entry.get("mean_low"),
                            "inner_high": entry.get("mean_high"),
                        }
                        for entry in entries
                    ],
                }
            ],
            "tones": ["good" if e["is_best"] else "bad" if e["is_worst"] else None for e in entries],
            "reference": 1,
        },
    }


def recommendation(axis: str, count: int, best: list[dict[str, Any]], avoid: list[dict[str, Any]]) -> str:
    if len(best) == count:
        return f"The evidence cannot tell one {_THING[axis]} from another here."
    advice = f"Use {_or([entry['label'] for entry in best])}."
    if avoid:
        advice += f" Avoid {_or([entry['label'] for entry in avoid])}."
    return advice


def _or(labels: list[str]) -> str:
    *others, last = labels
    return f"{', '.join(others)} or {last}" if others else last
