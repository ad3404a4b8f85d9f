"""Build the overview: the recommendation for every choice under every workload, from stored answers."""

from kdb.cost import budget
from modelling.answer_store import snapshots
from modelling.answer_store.selectors import StoredVerdict, stored_verdicts
from modelling.answers.words import address
from modelling.evidence import choices, counts, names
from modelling.evidence.axes import AXES
from modelling.evidence.question import Question

from .content import NOTHING, WAITING, Overview, OverviewCell, OverviewColumn, OverviewRow
from .layout.overview_table import RecommendationTable, present_overview


def overview() -> Overview:
    """Return the overview. The number of queries does not grow with workloads, choices or evidence.

    Questions that evidence compares and nobody asked yet are left to a worker.
    """
    budget.remove_limit()  # it computes no answers, and must not fail on a slow machine
    workloads = names.names()["workload"]
    questions = {(workload, axis): Question(axis, workload) for workload in workloads for axis in AXES}
    kept = stored_verdicts(questions.values())
    compared = choices.compared_under(workloads)
    missing = [
        question
        for (workload, axis), question in questions.items()
        if question not in kept and (compared is None or compared[workload][axis])
    ]
    snapshots.request_renewal(
        question for question, verdict in kept.items() if verdict and verdict.first and verdict.superseded_by
    )
    if missing:
        snapshots.enqueue_questions(*missing)
        kept |= dict.fromkeys(missing)
    cells = {
        place: _cell(question, kept[question]) if question in kept else _unanswered_cell(question, NOTHING)
        for place, question in questions.items()
    }
    rows = [
        OverviewRow(workload, label, tuple(cells[workload, axis] for axis in AXES))
        for workload, label in workloads.items()
    ]
    return Overview(
        revision=counts.revision(),
        columns=tuple(OverviewColumn(axis.name, axis.label) for axis in AXES.values()),
        rows=tuple(sorted(rows, key=lambda row: sum(cell.groups is None for cell in row.cells))),
    )


def recommendations() -> RecommendationTable:
    """Return the overview as the first page shows it."""
    return present_overview(overview())


def _unanswered_cell(question: Question, kind: str, revision: int | None = None) -> OverviewCell:
    return OverviewCell(question.axis, kind, revision=revision, address=address(question))


def _cell(question: Question, kept: StoredVerdict | None) -> OverviewCell:
    if kept is None:
        return _unanswered_cell(question, WAITING)
    if kept.first is None:
        return _unanswered_cell(question, NOTHING, kept.revision)
    return OverviewCell(
        axis=question.axis,
        kind=kept.kind,
        strength=kept.strength,
        leading=tuple(names.label(AXES[question.axis], key) for key in kept.best),
        rather_not=tuple(names.label(AXES[question.axis], key) for key in kept.rather_not),
        groups=kept.groups,
        laboratories=kept.laboratories,
        revision=kept.revision,
        superseded_by=kept.superseded_by,
        address=address(question),
    )
