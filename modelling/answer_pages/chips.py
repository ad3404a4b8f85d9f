"""The question as chips: each leads to the field that changes it, and to the question without it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from modelling.answers.content import Answer
from modelling.answers.words import THING, address, comparison_address
from modelling.ask.selectors import BACKENDS, Machine
from modelling.evidence import names
from modelling.evidence.axes import AXES
from modelling.evidence.forms import CatalogueField
from modelling.evidence.question import Question

from .forms import ENTRIES, VisitorForm

MOST_MORE = 8  # entries that are offered to be compared as well


@dataclass(frozen=True)
class Chip:
    """One thing that was asked or said.

    label : with a colon, "" of an entry; field : id of the field that changes it
    without : address of the question without it; "": it needs one
    """

    label: str
    value: str
    field: str
    without: str


def chips(
    form: VisitorForm, question: Question, machine: Machine, as_of: int | None, keys: Sequence[str] = ()
) -> list[Chip]:
    """Return the workload, what is chosen, each entry that is compared, each filter, each need and each fact of the
    machine.

    form : with them filled in; keys : of what is compared
    """

    def asked(question: Question, facts: Mapping[str, str], keys: Sequence[str] = keys) -> str:
        if len(keys) < 2:
            return address(question, as_of, facts)
        return comparison_address(question, keys, **facts, **({"as_of": as_of} if as_of else {}))

    facts = machine.given
    chosen: list[tuple[str, Any, str]] = [("workload", question.workload, ""), ("axis", question.axis, "")]
    for name, key in zip(ENTRIES, keys, strict=False):
        chosen.append((name, key, asked(question, facts, [other for other in keys if other != key])))
    for name, value in question.filters.items():
        unset: dict[str, Any] = {name: None}
        chosen.append((name, value, asked(replace(question, **unset), facts)))
    for need in question.needs:
        rest = tuple(other for other in question.needs if other != need)
        chosen.append(("needs", need, asked(replace(question, needs=rest), facts)))
    for name, value in facts.items():
        chosen.append((name, value, asked(question, {other: fact for other, fact in facts.items() if other != name})))
    return [
        Chip(
            "" if name in ENTRIES else f"{form.fields[name].label}: ",
            names.label(AXES[question.axis], value) if name in ENTRIES else _named(form, name, value),
            form["images" if name == "host_fs" else name].id_for_label,  # what images lie on is one field
            without,
        )
        for name, value, without in chosen
    ]


def comparison_links(
    answer: Answer, keys: Sequence[str], beside: Mapping[str, str], as_of: int | None
) -> list[tuple[str, str]]:
    """Return links that add another entry of the answer to the comparison: label and address.

    beside : what else the address says
    """
    if len(keys) >= len(ENTRIES):
        return []
    then = {"as_of": as_of} if as_of else {}
    others = [(entry.key, entry.label) for entry in answer.entries if entry.key not in keys][:MOST_MORE]
    return [(label, comparison_address(answer.question, (*keys, key), **beside, **then)) for key, label in others]


def _named(form: VisitorForm, name: str, value: Any) -> str:
    if name == "axis":
        return THING[value]
    field = form.fields[name]
    if isinstance(field, CatalogueField):
        return names.names()[field.kind].get(value, value)
    return str({**BACKENDS, **dict(getattr(field, "choices", ()))}.get(value, value))
