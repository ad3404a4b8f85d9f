"""The content of an answer. No Django.

The fields of these classes are, in their order, those of the JSON that is kept and that the API gives.
"""

from dataclasses import dataclass, is_dataclass
from functools import cache
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from kdb.content import Among
from kdb.units import THROUGHPUT
from modelling.estimation.ranking import Entry
from modelling.estimation.verdict import AVOID, NO_WINNER, NOT_KNOWN, STRENGTHS, UNKNOWN, USE, WINNER
from modelling.evidence.question import Question
from modelling.workloads.curves import CurvePanel


@dataclass(frozen=True)
class Decision:
    """The decision that follows from the predictive distribution, in plain words, and how strongly it may be said."""

    component = "Verdict"

    kind: Annotated[str, Among([WINNER, NO_WINNER, NOT_KNOWN])]
    sentence: str
    strength: Annotated[str, Among(reversed(STRENGTHS))]
    reasons: Annotated[tuple[str, ...], "Why it is not surer, a sentence a step."]
    settle: Annotated[str, "What would settle it; empty: nothing is open."]


@dataclass(frozen=True)
class RankedEntry(Entry):
    """One line of the ranking, with what a reader calls it."""

    label: str

    @property
    def is_best(self) -> bool:
        """Tell whether it is one to use."""
        return self.verdict == USE

    @property
    def is_worst(self) -> bool:
        """Tell whether it is one to avoid."""
        return self.verdict == AVOID


@dataclass(frozen=True)
class NetworkFit:
    """The agreement of case studies that join these entries by numbers; see modelling.estimation.network.Network."""

    entries: tuple[str, ...]
    case_studies: int
    tau2: float | None
    q: float
    freedom: int
    i2: float | None
    q_heterogeneity: float
    q_inconsistency: float


@dataclass(frozen=True)
class AnswerPart:
    """Entries that comparisons join; nothing is known between one part and another.

    part : its number, from 1; name : what tells it from the others; alone: its entries
    basis : numbers, findings or both; reference : key of the entry that ratios are against
    held_equal : what is equal within every comparison, in words; assumed_equal : what is only taken to be, because some
    source does not state it
    """

    part: int
    name: str
    verdict: Decision
    basis: str
    reference: str
    held_equal: str
    assumed_equal: str
    networks: tuple[NetworkFit, ...]


@dataclass(frozen=True)
class StudyEvidence:
    """A case study's evidence: numbers of measurements, derived values and findings; where they stand in it."""

    case_study: str
    title: str
    measurements: int
    derived: int
    findings: int
    sources: tuple[str, ...]


@dataclass(frozen=True)
class Grounds:
    """The evidence that the answer rests on."""

    laboratories: int
    case_studies: int
    measurements: int
    derived: int
    findings: int
    storage: Annotated[tuple[str, ...], "Kinds of storage that are stated."]
    years: Annotated[tuple[int, ...], "Of the publications."]
    vm_counts: tuple[int, ...]
    facts: Annotated[
        dict[str, tuple[str, ...]],
        "What it was measured on, by fact; an empty value: some source does not state it.",
    ]  # held against a reader's machine by modelling.ask.fit


@dataclass(frozen=True)
class NextRun:
    """A comparison worth measuring next.

    entries : keys of the two; labels : what they are called
    gain : percent by which what is chosen then is expected to be better than what is chosen now
    campaign : address of a new campaign with what is known of it filled in; "": campaigns cannot measure it
    """

    part: int
    entries: tuple[str, str]
    labels: tuple[str, str]
    gain: float
    campaign: str


@dataclass(frozen=True)
class MeasuredDifference:
    """Two values side by side, of the first of a part and another entry, in one fair-play group of one case study.

    first, other : keys; values in `unit`, as the source gives them, and for several runs their geometric mean
    derived : whether one of the two follows from the source's text by arithmetic; sources : where the two stand
    """

    part: int
    first: str
    other: str
    case_study: str
    sources: tuple[str, ...]
    metric: str
    unit: str
    operation: str
    block_size_bytes: int | None
    vm_count: int
    first_value: float
    other_value: float
    derived: bool


@dataclass(frozen=True)
class StatedValue:
    """A value in one line of text, whether it can lose acknowledged writes, and the case studies that state it."""

    value: str
    loses_writes: bool
    case_studies: tuple[str, ...]


@dataclass(frozen=True)
class SetUpFact:
    """One fact of the configurations behind an entry.

    not_stated_by : case studies that do not state it; not_tried : what those that state it did not try
    """

    fact: str
    stated: tuple[StatedValue, ...]
    not_stated_by: tuple[str, ...]
    not_tried: tuple[str, ...]


@dataclass(frozen=True)
class SetUpLine:
    """A command line, or a remark after "# ", and the case studies whose configurations it follows."""

    text: str
    case_studies: tuple[str, ...]


@dataclass(frozen=True)
class SetUp:
    """The first entry to use of a part, as it was measured.

    durability : what is known of acknowledged writes, in a sentence
    told_from : of which of its case studies, in a sentence; "" : of all
    lines : command lines, where the facts come to any; names in capitals after $ are the reader's own
    """

    part: int
    key: str
    label: str
    durability: str
    told_from: str
    facts: tuple[SetUpFact, ...]
    lines: tuple[SetUpLine, ...]


@dataclass(frozen=True)
class TradeEstimate:
    """The worth of an entry in one thing, with its 95 % interval; None: not known.

    A ratio to the reference of the part in a metric, larger being better; the coefficient of variation of the runs, a
    share, less being better; of durability 1 where acknowledged writes were kept, 0 where they can be lost.
    """

    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class TradePoint:
    """One entry of a trade-off.

    standing : dominated, in the Pareto set or cannot tell (modelling.estimation.pareto), beyond the intervals
    on_front : whether no other dominates it by the estimates alone; None where one is not known
    """

    key: str
    x: TradeEstimate
    y: TradeEstimate
    standing: str
    on_front: bool | None


@dataclass(frozen=True)
class TradeOff:
    """The entries of a part by two things: x, the answer's metric, and y, another metric, spread or durability."""

    part: int
    x: str
    y: str
    points: tuple[TradePoint, ...]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The answer to a question at a knowledge revision.

    reference : of the first part; None where there is none
    metric : what is compared (kdb.units.METRICS); other_metrics : in what else the load was measured
    status : ranked, indistinguishable, ranked apart or no comparison
    best, worst : keys of the entries to use and to avoid, of all parts
    machines : how the verdict differs by the number of machines, in a sentence; "": it does not
    scaling : the metric over the number of machines
    next_runs : what one more laboratory should compare, what tells most first
    differences : what the entries reached beside the first of their part, nearest rival first
    trade_offs : the entries by two things at once, where the evidence has both
    set_ups : how the first to use was set up, of each part that has one
    notes : what a careful reader must know; missing : what would have to be measured where nothing is ranked
    """

    question: Question
    revision: int
    reference: str | None
    unit: str = "ratio"
    metric: str
    other_metrics: tuple[str, ...]
    status: str
    verdict: Decision
    machines: str
    grounds: Grounds
    entries: tuple[RankedEntry, ...]
    parts: tuple[AnswerPart, ...]
    best: tuple[str, ...]
    worst: tuple[str, ...]
    scaling: tuple[CurvePanel, ...]
    next_runs: tuple[NextRun, ...]
    differences: tuple[MeasuredDifference, ...]
    trade_offs: tuple[TradeOff, ...]
    set_ups: tuple[SetUp, ...]
    notes: tuple[str, ...]
    evidence: tuple[StudyEvidence, ...]
    missing: tuple[str, ...]

    def entries_of(self, part: AnswerPart) -> tuple[RankedEntry, ...]:
        """The lines of one part, best first."""
        return tuple(entry for entry in self.entries if entry.part == part.part)


def said(answer: Answer) -> tuple[object, ...]:
    """Return what a reader acts on: the verdict with its strength, and the order. An answer changed where this did."""
    return (
        answer.verdict.kind,
        answer.verdict.sentence,
        answer.verdict.strength,
        [entry.key for entry in answer.entries],
    )


# Answers of earlier methods


def complete(kept: dict[str, Any]) -> dict[str, Any]:
    """Return a kept answer, as JSON has it, with every field of today's; what it has stays as it is.

    Fields that its method did not know are empty, but for those without which it cannot be shown: they follow from
    what it says. Earlier methods compared throughput alone, and counted a case study as a laboratory.
    """
    standing = {**dict.fromkeys(kept["best"], USE), **dict.fromkeys(kept["worst"], AVOID)}
    studies = kept["evidence"]
    counted = {name: sum(row[name] for row in studies) for name in ("measurements", "derived", "findings")}
    unsaid = {"kind": "not known", "sentence": "This method gave no verdict in words.", "strength": "very weak"}
    further = {
        "metric": THROUGHPUT,
        "verdict": unsaid,
        "grounds": {"laboratories": len(studies), "case_studies": len(studies), **counted},
    }
    rows = {
        "entries": [
            {"verdict": standing.get(row["key"], UNKNOWN), "laboratories": row["case_studies"], **row}
            for row in kept["entries"]
        ],
        "parts": [{"verdict": unsaid, **row} for row in kept["parts"]],
    }
    found: dict[str, Any] = _filled(Answer, {**further, **kept, **rows})
    return found


def _filled(wanted: Any, value: Any) -> Any:
    """Return the value with all fields that its type has, at every depth."""
    if isinstance(wanted, type) and is_dataclass(wanted):
        hints = _hints(wanted)
        return {**value, **{n: _filled(hints[n], value[n]) if n in value else _empty(hints[n]) for n in hints}}
    if value and get_origin(wanted) is tuple and is_dataclass(get_args(wanted)[0]):
        return [_filled(get_args(wanted)[0], each) for each in value]
    return value


@cache
def _hints(wanted: Any) -> dict[str, Any]:
    return get_type_hints(wanted)


def _empty(wanted: Any) -> Any:
    if isinstance(wanted, type) and is_dataclass(wanted):
        return _filled(wanted, {})
    if type(None) in get_args(wanted):
        return None
    return [] if get_origin(wanted) is tuple else (get_origin(wanted) or wanted)()
