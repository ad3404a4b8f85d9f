"""Find the answers and comparisons for the search: the questions that the words ask."""

from collections.abc import Iterator
from typing import Any

from experiments.search.find import Hit
from modelling.answers import words
from modelling.comparisons.words import address_of
from modelling.evidence import names
from modelling.evidence.axes import AXES, NATIVE, NATIVE_AXES
from modelling.evidence.question import Question
from modelling.kept_answers.selectors import kept_answers

from .wording import Understood, understood

_FILTERS = {
    "hypervisor_or_native": "hypervisor",
    "storage": "storage",
    "guest_os_family": "guest_os_family",
    "benchmark": "benchmark",
}
# Kind of name: the axis on which several of the kind are compared.
_COMPARED = {"hypervisor_or_native": "hypervisor", "file_system": "guest-fs"}


def found_in(text: str) -> list[Hit]:
    """Return comparisons of several things of a kind that the text names, then the questions it asks."""
    query = understood(text)
    return list(_comparisons(query)) or list(_answers(query))


def _comparisons(query: Understood) -> Iterator[Hit]:
    for kind, axis in _COMPARED.items():
        keys = tuple(key for key in query.all(kind) if key != NATIVE)
        if kind == "file_system" and query.pairs:
            axis, keys = "fs-pair", tuple(f"{guest}-on-{host}" for guest, host in query.pairs)
        elif kind == "file_system" and _filters(query).get("hypervisor") == NATIVE:
            axis = "host-fs"
        if len(keys) < 2:
            continue
        asked = [Question(axis, workload, **_filters(query, but=kind)) for workload in _workloads(query)]
        for question in _answered(asked) or asked[:1]:
            labels = " or ".join(names.label(AXES[axis], key) for key in keys)
            title = f"{labels}: {names.names()['workload'][question.workload]}"
            yield Hit("Comparison", title, address_of(question, keys), "")


def _answers(query: Understood) -> Iterator[Hit]:
    if not (query.named.keys() & {"workload", "hypervisor_or_native"}):
        return
    filters = _filters(query)
    axes = ["guest-fs", "fs-pair", "host-fs"]
    if "hypervisor" not in filters and not query.all("file_system"):
        axes = ["hypervisor", "guest-fs", "fs-pair"]
    if filters.get("hypervisor") == NATIVE:
        axes = list(NATIVE_AXES)
    asked = [Question(axis, workload, **filters) for workload in _workloads(query) for axis in axes]
    for question in _answered(asked) or (asked[:1] if query.all("workload") else []):
        yield Hit("Answer", words.title(question, names.names()), words.address(question), "")


def _filters(query: Understood, but: str = "") -> dict[str, Any]:
    return {name: slug for kind, name in _FILTERS.items() if kind != but and (slug := query.only(kind))}


def _workloads(query: Understood) -> tuple[str, ...]:
    return query.all("workload") or tuple(names.names()["workload"])


def _answered(questions: list[Question]) -> list[Question]:
    """Return the questions that have an answer: kept with these filters, or without."""
    plain = {question: Question(question.axis, question.workload) for question in questions}
    kept = kept_answers(list({*questions, *plain.values()}))
    return [question for question in questions if kept.get(question, kept.get(plain[question]))]
