"""The question as chips: each leads to the field that changes it, and to the question without it."""

from dataclasses import dataclass, replace
from typing import Any

from modelling.answers.words import THING, address
from modelling.ask.selectors import BACKENDS, Machine
from modelling.evidence import names
from modelling.evidence.forms import CatalogueField
from modelling.evidence.question import Question

from .forms import VisitorForm


@dataclass(frozen=True)
class Chip:
    """One thing that was asked or said.

    field : id of the field that changes it; without : address of the question without it; "": it needs one
    """

    label: str
    value: str
    field: str
    without: str


def chips(form: VisitorForm, question: Question, machine: Machine, as_of: int | None) -> list[Chip]:
    """Return the workload, what is chosen, each filter, each need and each fact of the machine.

    form : with them filled in
    """
    chosen: list[tuple[str, Any, str]] = [("workload", question.workload, ""), ("axis", question.axis, "")]
    for name, value in question.filters.items():
        unset: dict[str, Any] = {name: None}
        chosen.append((name, value, address(replace(question, **unset), as_of, machine.given)))
    for need in question.needs:
        rest = tuple(other for other in question.needs if other != need)
        chosen.append(("needs", need, address(replace(question, needs=rest), as_of, machine.given)))
    for name, value in machine.given.items():
        others = {other: fact for other, fact in machine.given.items() if other != name}
        chosen.append((name, value, address(question, as_of, others)))
    return [
        Chip(str(form.fields[name].label), _named(form, name, value), _field(form, name), w)
        for name, value, w in chosen
    ]


def _field(form: VisitorForm, name: str) -> str:
    """Return the id of the field that is shown for it: what images lie on is one, be it a file system or not."""
    return form["images" if name == "host_fs" else name].id_for_label


def _named(form: VisitorForm, name: str, value: Any) -> str:
    if name == "axis":
        return THING[value]
    field = form.fields[name]
    if isinstance(field, CatalogueField):
        return names.names()[field.kind].get(value, value)
    return str({**BACKENDS, **dict(getattr(field, "choices", ()))}.get(value, value))
