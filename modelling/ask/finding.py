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
    said = understood(text)
    return list(_comparisons(said)) or list(_answers(said))


def _comparisons(said: Understood) -> Iterator[Hit]:
    for kind, axis in _COMPARED.items():
        keys = tuple(key for key in said.all(kind) if key != NATIVE)
        if kind == "file_system" and said.pairs:
            axis, keys = "fs-pair", tuple(f"{guest}-on-{host}" for guest, host in said.pairs)
        elif kind == "file_system" and _filters(said).get("hypervisor") == NATIVE:
            axis = "host-fs"
        if len(keys) < 2:
            continue
        asked = [Question(axis, workload, **_filters(said, but=kind)) for workload in _workloads(said)]
        for question in _answered(asked) or asked[:1]:
            labels = " or ".join(names.label(AXES[axis], key) for key in keys)
            title = f"{labels}: {names.names()['workload'][question.workload]}"
            yield Hit("Comparison", title, address_of(question, keys), "")


def _answers(said: Understood) -> Iterator[Hit]:
    if not (said.found.keys() & {"workload", "hypervisor_or_native"}):
        return
    filters = _filters(said)
    axes = ["guest-fs", "fs-pair", "host-fs"]
    if "hypervisor" not in filters and not said.all("file_system"):
        axes = ["hypervisor", "guest-fs", "fs-pair"]
    if filters.get("hypervisor") == NATIVE:
        axes = list(NATIVE_AXES)
    asked = [Question(axis, workload, **filters) for workload in _workloads(said) for axis in axes]
    for question in _answered(asked) or (asked[:1] if said.all("workload") else []):
        yield Hit("Answer", words.title(question, names.names()), words.address(question), "")


def _filters(said: Understood, but: str = "") -> dict[str, Any]:
    return {name: slug for kind, name in _FILTERS.items() if kind != but and (slug := said.only(kind))}


def _workloads(said: Understood) -> tuple[str, ...]:
    return said.all("workload") or tuple(names.names()["workload"])


def _answered(questions: list[Question]) -> list[Question]:
    """Return the questions that have an answer: kept with these filters, or without."""
    plain = {question: Question(question.axis, question.workload) for question in questions}
    kept = kept_answers(list({*questions, *plain.values()}))
    return [question for question in questions if kept.get(question, kept.get(plain[question]))]
