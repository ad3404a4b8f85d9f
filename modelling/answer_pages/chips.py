"""Build the chips of a question: each links to the field that changes it, and to the question without it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from modelling.answers.content import Answer
from modelling.answers.words import THING, address, comparison_address
from modelling.ask.selectors import Machine
from modelling.evidence import names
from modelling.evidence.axes import AXES
from modelling.evidence.forms import CatalogueField
from modelling.evidence.question import Question

from .forms import ENTRIES, VisitorForm

MOST_MORE = 8  # further entries offered for comparison


@dataclass(frozen=True)
class Chip:
    """One part of a question or machine.

    label : with a colon, "" for an entry; field : id of the field that changes it
    without : address of the question without it; "": it is required
    """

    label: str
    value: str
    field: str
    without: str


def chips(
    form: VisitorForm, question: Question, machine: Machine, as_of: int | None, keys: Sequence[str] = ()
) -> list[Chip]:
    """Return a chip for the workload, the axis, each compared entry, filter, need and fact of the machine.

    form : with all of them filled in; keys : of the compared entries
    """

    def address_with(question: Question, facts: Mapping[str, str], keys: Sequence[str] = keys) -> str:
        if len(keys) < 2:
            return address(question, as_of, facts)
        return comparison_address(question, keys, **facts, **({"as_of": as_of} if as_of else {}))

    facts = machine.given
    chosen: list[tuple[str, Any, str]] = [("workload", question.workload, ""), ("axis", question.axis, "")]
    for name, key in zip(ENTRIES, keys, strict=False):
        chosen.append((name, key, address_with(question, facts, [other for other in keys if other != key])))
    for name, value in question.filters.items():
        unset: dict[str, Any] = {name: None}
        chosen.append((name, value, address_with(replace(question, **unset), facts)))
    for need in question.needs:
        rest = tuple(other for other in question.needs if other != need)
        chosen.append(("needs", need, address_with(replace(question, needs=rest), facts)))
    for name, value in facts.items():
        chosen.append(
            (name, value, address_with(question, {other: fact for other, fact in facts.items() if other != name}))
        )
    return [
        Chip(
            "" if name in ENTRIES else f"{form.fields[name].label}: ",
            names.label(AXES[question.axis], value) if name in ENTRIES else _display_value(form, name, value),
            form["images" if name == "host_fs" else name].id_for_label,  # one field for all kinds of host storage
            without,
        )
        for name, value, without in chosen
    ]


def comparison_links(
    answer: Answer, keys: Sequence[str], beside: Mapping[str, str], as_of: int | None
) -> list[tuple[str, str]]:
    """Return label and address of links that add an entry to the comparison. beside : further query parameters"""
    if len(keys) >= len(ENTRIES):
        return []
    then = {"as_of": as_of} if as_of else {}
    others = [(entry.key, entry.label) for entry in answer.entries if entry.key not in keys][:MOST_MORE]
    return [(label, comparison_address(answer.question, (*keys, key), **beside, **then)) for key, label in others]


def _display_value(form: VisitorForm, name: str, value: Any) -> str:
    if name == "axis":
        return THING[value]
    field = form.fields[name]
    if isinstance(field, CatalogueField):
        return names.names()[field.kind].get(value, value)
    return str({**names.names()["images"], **dict(getattr(field, "choices", ()))}.get(value, value))
