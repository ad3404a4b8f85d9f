"""The content of an answer. No Django.

The fields of these classes are, in their order, those of the JSON that is kept and that the API gives.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from experiments.published_evidence.abilities import ABILITIES
from kdb.content import NOT_SERVED, Among, MetricName
from kdb.units import METRICS
from modelling.estimation.mixes import MixEntry, Range
from modelling.estimation.ranking import Entry, Place
from modelling.estimation.recommendation import BASES, FORCES
from modelling.estimation.value import KINDS as RUN_KINDS
from modelling.estimation.verdict import AVOID, KINDS, STRENGTHS, USE
from modelling.evidence.question import Question
from modelling.evidence.requirements import LACKING, STANDINGS
from modelling.workloads.curves import CurvePanel

STATUSES = ("ranked", "indistinguishable", "ranked apart", "no comparison")

START, EITHER, RATHER_NOT = "start with", "either", "rather not"
RECOMMENDED = (USE, START, EITHER, RATHER_NOT, AVOID)


@dataclass(frozen=True)
class AnswerVerdict:
    """The recommendation, how sure it is, and what evidence says, in plain words."""

    component = "Verdict"

    kind: Annotated[str, Among(KINDS), "What evidence shows; there is a recommendation whatever it shows."]
    sentence: Annotated[str, "The recommendation."]
    strength: Annotated[str, Among(reversed(STRENGTHS)), "Of the evidence."]
    reasons: Annotated[tuple[str, ...], "Why it is not surer, a sentence a step."]
    settle: Annotated[str, "What would settle it; empty: nothing is open."]
    confidence: Annotated[str, "How sure the recommendation is, and on what it rests."] = ""
    measured: Annotated[str, "What was measured of the first, or published."] = ""
    choice: Annotated[tuple[str, ...], "Keys of what to choose, of which either is fine."] = ()
    rather_not: Annotated[tuple[str, ...], "Keys of what not to choose."] = ()
    force: Annotated[str, Among(FORCES), "Of the recommendation, after GRADE."] = FORCES[-1]
    basis: Annotated[str, Among(BASES), "What the recommendation rests on."] = BASES[-1]
    chance: Annotated[float | None, "That the choice holds the best on a machine nobody measured, 0 to 1."] = None
    blind: Annotated[float | None, "The same of as many picked blindly."] = None
    cost: Annotated[float | None, "Percent by which it is slower than the best where it is not the best."] = None
    cost_one_in_ten: Annotated[float | None, "Percent it is slower by, or more, in one case of ten."] = None


@dataclass(frozen=True)
class NamedPlace(Place):
    """The place of an entry in a ranking, with what a reader calls it."""

    label: str


@dataclass(frozen=True)
class RankedEntry(Entry, NamedPlace):
    __doc__ = Entry.__doc__
    component = "Entry"

    recommended: Annotated[str, Among(("", *RECOMMENDED)), "What the recommendation says of it; empty: nothing."] = ""

    @property
    def is_best(self) -> bool:
        """Return whether the answer recommends this entry."""
        return self.recommended in (USE, START, EITHER)

    @property
    def is_worst(self) -> bool:
        """Return whether the answer advises against this entry."""
        return self.recommended in (RATHER_NOT, AVOID)


@dataclass(frozen=True)
class NetworkFit:
    """The agreement of the case studies that measured entries of one part."""

    component = "Network"

    entries: tuple[str, ...]
    case_studies: int
    tau2: Annotated[float | None, "Variance between laboratories, of ln(ratio)."]
    q: Annotated[float, "Cochran's Q."]
    freedom: Annotated[int, "Its degrees of freedom; 0: no two laboratories can disagree."]
    i2: Annotated[float | None, "Share of the variation between laboratories, 0 to 1."]
    q_heterogeneity: Annotated[float, "Q within designs."]
    q_inconsistency: Annotated[float, "Q between designs."]


@dataclass(frozen=True)
class AnswerPart:
    """Entries that comparisons join; nothing is known between one part and another."""

    component = "Part"

    part: int
    name: Annotated[str, "What tells it from the other parts; alone: its entries."]
    verdict: AnswerVerdict
    basis: Annotated[str, Among(["numbers", "findings", "both"])]
    reference: str  # key of the entry that ratios are against
    held_equal: str  # within every comparison, in words
    assumed_equal: Annotated[str, "Taken to be equal: some source does not state it."]
    networks: tuple[NetworkFit, ...]


@dataclass(frozen=True)
class StudyEvidence:
    """The evidence that one case study contributes."""

    component = "CaseStudyEvidence"

    case_study: str
    title: str
    measurements: int
    derived: int
    findings: int
    sources: tuple[str, ...]
    protocol: Annotated[str, "Its runs, their length and spread, as far as stated; empty: no numbers, or not told."] = (
        ""
    )


@dataclass(frozen=True)
class Anecdote:
    """Numbers of a case study that are below the minimum of the protocol: they count in nothing."""

    case_study: str
    title: str
    numbers: int
    metric: MetricName
    entries: Annotated[tuple[str, ...], "Keys of what it compared, the fastest first."]
    sentence: Annotated[str, "What it found of the first against the last."]
    why: Annotated[str, "Why it does not count."]


@dataclass(frozen=True)
class LaboratoryComparison:
    """The entries of a part of which one laboratory has numbers that may be compared: side by side, or through others
    that it measured beside both."""

    part: int
    laboratory: str
    research_group: Annotated[str, "Only groups are independent of one another."]
    case_studies: tuple[str, ...]
    entries: Annotated[tuple[str, ...], "Keys, two or more."]


@dataclass(frozen=True)
class Grounds:
    """The evidence that the answer rests on."""

    laboratories: int
    groups: Annotated[int, "Research groups of these laboratories; only groups are independent of one another."]
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
    """A set of runs to make on the reader's own machine, each entry as often, and what the choice gains by it."""

    kind: Annotated[str, Among(RUN_KINDS)]
    entries: Annotated[tuple[str, ...], "Keys of what to measure."]
    labels: tuple[str, ...]
    repetitions: Annotated[int, "Of each entry."]
    runs: Annotated[int, "All of them together."]
    gain: Annotated[float, "Percent by which the choice after them is on average faster there than the choice now."]
    sentence: str
    campaign: Annotated[str, "Page of a new campaign, filled in; empty: campaigns cannot measure it."]


@dataclass(frozen=True)
class MeasuredDifference:
    """Two values of one case study, all else equal: of the first of a part, and of another entry beside it."""

    component = "Difference"

    part: int
    first: Annotated[str, "Key of the part's reference."]
    other: Annotated[str, "Key of what it was measured beside."]
    case_study: str
    sources: Annotated[tuple[str, ...], "Where the numbers stand."]
    metric: MetricName
    unit: str
    operation: str
    block_size_bytes: int | None
    vm_count: int
    first_value: Annotated[float, "In `unit`; of several runs the geometric mean."]
    other_value: Annotated[float, "Likewise."]
    derived: Annotated[bool, "Whether one of them follows from a text by arithmetic."]


@dataclass(frozen=True)
class MeasuredRatio:
    """How many times as fast as another entry one laboratory measured the first, all else equal."""

    part: int
    first: Annotated[str, "Key of what is recommended; where its part has none, of what comes first."]
    other: Annotated[str, "Key of what it was measured beside."]
    ratio: Annotated[float, "Above 1 the first is better; over all that the laboratory compared of the two."]
    case_studies: tuple[str, ...]
    years: Annotated[tuple[int, ...], "Of their publications; empty: not stated."]
    storage: Annotated[tuple[str, ...], "Kinds of storage; empty: not stated."]
    derived: Annotated[bool, "Whether a number follows from a text by arithmetic."]


@dataclass(frozen=True)
class TierList:
    """An order that a publication gives without numbers, as keys of entries."""

    case_studies: tuple[str, ...]
    best: tuple[str, ...]
    middle: Annotated[tuple[str, ...], "Among the best in one place and among the worst in another."]
    worst: tuple[str, ...]
    # Answers that were stored before this field was added lack it.
    beside: Annotated[str, "The file system that all have on the other side, in words; empty: pairs are compared."] = ""


@dataclass(frozen=True)
class StatedValue:
    """A value of a fact, in one line of text."""

    value: str
    loses_writes: Annotated[bool, "Whether it can lose acknowledged writes: do not copy it."]
    case_studies: Annotated[tuple[str, ...], "That state it."]


@dataclass(frozen=True)
class SetUpFact:
    """One fact of the configurations behind an entry."""

    fact: str
    stated: tuple[StatedValue, ...]
    not_stated_by: Annotated[tuple[str, ...], "Case studies that do not state it."]
    not_tried: Annotated[tuple[str, ...], "Choices that the case studies that state it did not try."]


NOT_STATED = "not stated"  # end of a remark in place of a command


@dataclass(frozen=True)
class SetUpLine:
    """A command line, or a remark after "# "; names after $ are the reader's own."""

    text: str
    case_studies: Annotated[tuple[str, ...], "Whose configurations it follows."]


@dataclass(frozen=True)
class SetUp:
    """The first entry to use of a part, as it was measured."""

    part: int
    key: str
    label: str
    durability: Annotated[str, "What is known of acknowledged writes."]
    told_from: Annotated[str, "Of which of its case studies all this is; empty: of all."]
    facts: tuple[SetUpFact, ...]
    lines: tuple[SetUpLine, ...]


@dataclass(frozen=True)
class TradeEstimate:
    """A ratio to the part's reference in a metric, larger being better; of spread the coefficient of variation of the
    runs; of durability 1 where acknowledged writes were kept, 0 where they can be lost. Null: not known."""

    value: float | None
    low: Annotated[float | None, "Lower end of its 95 % interval."]
    high: Annotated[float | None, "Upper end of it."]


@dataclass(frozen=True)
class TradePoint:
    """One entry of a trade-off."""

    key: str
    x: TradeEstimate
    y: TradeEstimate
    standing: Annotated[str, Among(["dominated", "in the Pareto set", "cannot tell"]), "Beyond the intervals."]
    on_front: Annotated[bool | None, "Whether no other dominates it by the estimates alone; null: one is not known."]


@dataclass(frozen=True)
class TradeOff:
    """Entries of a part by two things at once: the answer's metric and another."""

    part: int
    x: MetricName
    y: Annotated[str, Among([*METRICS, "spread", "durability"])]
    points: tuple[TradePoint, ...]


@dataclass(frozen=True)
class AbilityGround:
    """A fact that the standing of an entry on one ability rests on."""

    text: Annotated[str, "What one of its choices can do, in a line."]
    source: Annotated[str, "Address of the documentation; empty: it is not known."]
    read_on: Annotated[str, "Day on which that was read, YYYY-MM-DD; empty: it was not."]


@dataclass(frozen=True)
class EntryAbility:
    """The standing of one entry on one ability, by what it and the question name."""

    key: str
    label: str
    ability: Annotated[str, Among(ABILITIES)]
    found: Annotated[str, Among(STANDINGS), "Left open: it rests on what neither the entry nor the question names."]
    grounds: tuple[AbilityGround, ...]

    @property
    def is_lacking(self) -> bool:
        return self.found in LACKING


@dataclass(frozen=True)
class MakerStatement:
    """A statement of a maker that bears on the question, in a line."""

    code: Annotated[str, "Of the statement, as the list of guidance has it."]
    source: Annotated[str, "Title of the source, with its year where that is known."]
    summary: str
    condition: Annotated[str, "When it holds; empty: no condition is stated."]


@dataclass(frozen=True)
class MakersSay:
    """What makers advise here. It is no measurement, and no number rests on it."""

    sentence: Annotated[str, "In short, beside what numbers say; empty: nothing stands out."]
    statements: Annotated[tuple[MakerStatement, ...], "The closest of each publisher first, at most five."]
    defaults: Annotated[tuple[MakerStatement, ...], "Of products, where nobody sets anything."]
    disagreements: Annotated[tuple[str, ...], "Where makers contradict each other, both sides in a sentence."]
    advised: Annotated[tuple[str, ...], "Keys of what most advise, of which either is fine."] = ()


NO_MAKERS = MakersSay("", (), (), ())


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A ranked answer. Without evidence `entries` is empty and `missing` says what would be needed."""

    component = "Ranking"

    question: Question
    revision: Annotated[int, "Knowledge revision it was computed from."]
    reference: Annotated[str | None, "Key of the entry that ratios are against."]  # of the first part
    unit: str = "ratio"
    metric: Annotated[MetricName, "What is compared; ratios below 1 are worse."]
    other_metrics: Annotated[tuple[MetricName, ...], "Measured as well: ask for one with `metric`."]
    status: Annotated[str, Among(STATUSES)]
    verdict: AnswerVerdict
    grounds: Grounds
    entries: tuple[RankedEntry, ...]
    parts: tuple[AnswerPart, ...]
    abilities: Annotated[tuple[EntryAbility, ...], "How each entry stands to each of the `needs`; empty: none asked."]
    best: Annotated[tuple[str, ...], "Entries to choose, of which either is fine."]
    worst: Annotated[tuple[str, ...], "Entries to avoid, or rather not to choose."]
    scaling: tuple[CurvePanel, ...]
    next_runs: Annotated[tuple[NextRun, ...], "Gaining most a run first, then the largest; empty: none is worth it."]
    measure_next: Annotated[str, "The same in words, or that no runs are worth it; empty: nothing is compared yet."]
    differences: Annotated[tuple[MeasuredDifference, ...], "The nearest rival first, at most 40."]
    side_by_side: Annotated[tuple[MeasuredRatio, ...], "By laboratory, in the order of entries, at most 40."] = ()
    tier_lists: tuple[TierList, ...] = ()
    trade_offs: tuple[TradeOff, ...]
    set_ups: tuple[SetUp, ...]
    notes: tuple[str, ...]
    evidence: tuple[StudyEvidence, ...]
    compared: Annotated[
        tuple[LaboratoryComparison, ...],
        "Who compared what in numbers, most entries first, at most 100; empty: lists only.",
    ]
    anecdotes: Annotated[
        tuple[Anecdote, ...], "At most 20; below the minimum of the protocol, so nothing else here counts them."
    ]
    missing: tuple[str, ...]
    makers: MakersSay = NO_MAKERS

    @property
    def titles(self) -> dict[str, str]:
        """Return the title of each case study behind the answer."""
        return {study.case_study: study.title for study in self.evidence}

    def entries_of(self, part: AnswerPart) -> tuple[RankedEntry, ...]:
        """Return the lines of one part, best first."""
        return tuple(entry for entry in self.entries if entry.part == part.part)


def conclusion(answer: Answer) -> tuple[object, ...]:
    """Return what a reader acts on: the verdict with its strength, and the order. An answer changed where this did."""
    return (
        answer.verdict.kind,
        answer.verdict.sentence,
        answer.verdict.strength,
        [entry.key for entry in answer.entries],
    )


@dataclass(frozen=True)
class NamedMixEntry(MixEntry):
    """One line of the ranking, with what a reader calls it."""

    component = "MixEntry"

    label: str


@dataclass(frozen=True)
class Share:
    """The knowledge of one workload of the mix by itself."""

    workload: str
    share: float
    has_numbers: Annotated[bool, "Whether numbers compare any entries under it."]
    verdict: Annotated[AnswerVerdict, "Of the answer on it alone."]
    forecast: Annotated[str, "Without numbers: what a model expects of two entries; no mix contains it."]


@dataclass(frozen=True)
class MixAnswer:
    """Entries ranked for a mix of workloads."""

    component = "Mix"

    question: Annotated[Question, NOT_SERVED]  # its workload is ""; its metric is the one that is compared
    weights: Annotated[Mapping[str, float], "Workload to share; they add up to 1."]
    revision: Annotated[int, "Knowledge revision it was computed from."]
    verdict: AnswerVerdict
    grounds: Grounds
    entries: tuple[NamedMixEntry, ...]
    ranges: tuple[Range, ...]
    left_out: Annotated[
        Mapping[str, tuple[str, ...]],
        "Entry to the workloads that have no numbers joining it to the ranked ones.",
    ]
    unmeasured: Annotated[
        Mapping[str, tuple[str, ...]],
        "Of these, entry to the workloads that have no comparable numbers of it at all.",
    ]
    shares: tuple[Share, ...]
    notes: Annotated[tuple[str, ...], "What a careful reader must know."]
