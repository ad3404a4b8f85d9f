"""Find guides, and the stored answers and makers' advice for their pages, in a constant number of queries."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.db.models import Q

from modelling.answer_store.selectors import answer_in, snapshots_or_none, stored_verdicts
from modelling.answers.measured import DotChart, dot_charts
from modelling.answers.words import address
from modelling.evidence import names
from modelling.evidence.axes import AXES
from modelling.evidence.question import Question
from modelling.evidence.words import listed
from modelling.guidance.content import AdviceSummary, Disagreement, Statement
from modelling.guidance.guide_texts import Guide, guides, terms
from modelling.guidance.selectors import plain
from modelling.models import Advice, Contradiction

MOST = 2  # guides for a text


@dataclass(frozen=True)
class WorkloadRow:
    """The recommendation of the stored answer under one workload.

    workload : slug; address : of the question; recommended : "ext4 or XFS", "" without a ranked answer
    strength : of the evidence; groups : number of its research groups
    """

    workload: str
    label: str
    address: str
    recommended: str = ""
    strength: str = ""
    groups: int = 0


def guides_for(text: str) -> list[Guide]:
    """Return the guides whose title or a question consists of words of the text, longest question first."""
    asked = terms(text)
    lengths = {
        guide.slug: max((words.total() for words in guide.terms if words <= asked), default=0)
        for guide in guides().values()
    }
    nearest = sorted(filter(lengths.__getitem__, lengths), key=lambda slug: -lengths[slug])
    return [guides()[slug] for slug in nearest[:MOST]]


def guides_for_axes(axes: Collection[str]) -> list[Guide]:
    """Return the guides on these axes."""
    return [guide for guide in guides().values() if guide.axis in axes]


def workload_rows(axis: str) -> list[WorkloadRow]:
    """Return a row for each workload, with the recommendation of its stored answer, if any."""
    questions = {Question(axis, workload): label for workload, label in names.names()["workload"].items()}
    kept = stored_verdicts(questions)
    rows = []
    for question, label in questions.items():
        verdict, page = kept.get(question), address(question)
        if verdict is None or verdict.first is None or not verdict.best:
            rows.append(WorkloadRow(question.workload, label, page))
            continue
        best = listed([names.label(AXES[axis], key) for key in verdict.best], "or")
        rows.append(WorkloadRow(question.workload, label, page, best, verdict.strength, verdict.groups))
    return rows


def most_measured_workload(axis: str, rows: Sequence[WorkloadRow]) -> tuple[WorkloadRow, DotChart] | None:
    """Return the workload that most research groups measured, with its chart; None where nobody measured.

    rows : of workload_rows(axis)
    """
    for row in sorted(rows, key=lambda row: -row.groups):
        question = Question(axis, row.workload)
        snapshot = snapshots_or_none([question])[question] if row.recommended else None
        answer = answer_in(snapshot) if snapshot else None
        if answer and (charts := [chart for part in answer.parts for chart in dot_charts(answer, part.part)]):
            best = {entry.label for entry in answer.entries if entry.is_best}
            return row, next((chart for chart in charts if chart.first in best), charts[0])
    return None


def makers_advice(guide: Guide) -> AdviceSummary:
    """Return the statements that a guide cites, the defaults of products, and makers' disagreements on them."""
    defaults = Q(axis=guide.axis, wording="product default") if guide.axis else Q()
    rows = plain(Statement, Advice.objects.filter(Q(code__in=guide.sources) | defaults).order_by("code"))
    by_code = {row.code: row for row in rows}
    cited = tuple(by_code[code] for code in guide.sources if code in by_code)
    axes = Counter(one.axis for one in cited).most_common(1)
    contradictions = plain(Disagreement, Contradiction.objects.order_by("number"))
    return AdviceSummary(
        axis=guide.axis or (axes[0][0] if axes else ""),
        entries={},
        advised=(),
        discouraged=(),
        default=None,
        defaults=tuple(row for row in rows if row.is_default and row not in cited),
        statements=cited,
        disagreements=tuple(one for one in contradictions if one.touches({row.code for row in cited})),
    )
