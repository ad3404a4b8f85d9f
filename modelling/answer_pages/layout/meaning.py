"""Lay out what an answer means in units, how to set it up, and how many machines it carries. No queries, no HTML."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kdb.units import LATENCY, METRICS, convert
from modelling.answers.content import NOT_STATED, Answer, AnswerPart, MeasuredDifference, SetUp
from modelling.evidence.words import machines, size
from modelling.workloads.curves import CurvePanel, CurvePoint, MachineCount, count_machines


@dataclass(frozen=True)
class DifferenceLine:
    """One row of the table: the values of the first entry and another, side by side.

    study : title of the case study; place : conditions, "1 virtual machine, read, 4 KiB"; more : first minus other
    """

    other: str
    difference: MeasuredDifference
    study: str
    place: str
    more: float


@dataclass(frozen=True)
class Meaning:
    """The meaning of one part.

    sentence : the difference to the nearest rival; first : label of what the lines are against
    script : the set-up as text to copy; not_stated : facts that no case study states
    """

    part: AnswerPart
    sentence: str
    first: str
    lines: list[DifferenceLine]
    set_up: SetUp | None
    script: str
    not_stated: list[str]


def meanings(answer: Answer) -> list[Meaning]:
    """Return the meaning of each part that has values side by side or a set-up."""
    labels = {entry.key: entry.label for entry in answer.entries}
    set_ups = {set_up.part: set_up for set_up in answer.set_ups}
    per_part = []
    for part in answer.parts:
        lines = [
            _line(difference, labels, answer.titles)
            for difference in answer.differences
            if difference.part == part.part
        ]
        set_up = set_ups.get(part.part)
        if lines or set_up:
            first = labels[part.reference]
            script, facts = (_script(set_up), set_up.facts) if set_up else ("", ())
            not_stated = [fact.fact for fact in facts if not fact.stated]
            sentence = _sentence(first, lines, part.basis)
            per_part.append(Meaning(part, sentence, first, lines, set_up, script, not_stated))
    return per_part


def _line(difference: MeasuredDifference, labels: Mapping[str, str], titles: Mapping[str, str]) -> DifferenceLine:
    place = [machines(difference.vm_count)]
    place += [difference.operation] if difference.operation != "mixed" else []
    place += [size(difference.block_size_bytes)] if difference.block_size_bytes else []
    return DifferenceLine(
        other=labels[difference.other],
        difference=difference,
        study=titles.get(difference.case_study, ""),
        place=", ".join(place),
        more=difference.first_value - difference.other_value,
    )


def _sentence(first: str, lines: Sequence[DifferenceLine], basis: str) -> str:
    if not lines:
        why = "the sources print no numbers" if basis == "findings" else "it was measured beside no other"
        return f"What it means in units of its own is not known: {why}."
    nearest, difference = lines[0], lines[0].difference
    more = "more" if nearest.more >= 0 else "less"
    first_value, other, between = (
        _format_value(v) for v in (difference.first_value, difference.other_value, abs(nearest.more))
    )
    return (
        f"{first} reached {first_value} {difference.unit}, {nearest.other} {other} {difference.unit}: "
        f"{between} {difference.unit} {more} (“{nearest.study}”, {nearest.place})."
    )


def _format_value(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _script(set_up: SetUp) -> str:
    """Join the lines of a set-up; the last one lists what no case study states."""
    left_open = [line.text for line in set_up.lines if line.text.endswith(NOT_STATED)]
    named = ", ".join(text.removeprefix("# ").removesuffix(f": {NOT_STATED}") for text in left_open)
    stated = [line.text for line in set_up.lines if line.text not in left_open]
    return "".join(f"{text}\n" for text in (*stated, *([f"# {NOT_STATED}: {named}"] if named else [])))


@dataclass(frozen=True)
class CarriedLine:
    """The number of machines that one configuration carries, with its interval: "2 (1 to at least 3)".

    place : title of the panel; alone, together : the number if values are per machine, or of all; "": they are not
    """

    label: str
    place: str
    panel: CurvePanel
    alone: str
    together: str


def carried_lines(answer: Answer, titles: Sequence[str], rate: float) -> list[CarriedLine]:
    """State how many machines each measured configuration carries at the rate each, in the metric's own unit.

    titles : of the answer's panels. Where a source does not state the scope of its values, both readings are given.
    """
    if answer.metric == LATENCY:
        return []
    lines = []
    for panel, title in zip(answer.scaling, titles, strict=True):
        wanted = convert(rate, METRICS[answer.metric].unit, panel.unit)
        for series in panel.series:
            alone, together = (
                _format_counts(series.points, wanted, scope) if panel.scope in ("", scope) else ""
                for scope in ("per-vm", "aggregate")
            )
            lines.append(CarriedLine(series.label, title, panel, alone, together))
    return lines


def _format_counts(points: Sequence[CurvePoint], rate: float, scope: str) -> str:
    texts = [
        _format_count(
            count_machines(
                [(point.vm_count, getattr(point, end)) for point in points], rate, aggregate=scope == "aggregate"
            )
        )
        for end in ("value", "low", "high")
    ]
    return texts[0] if texts[1] == texts[2] else f"{texts[0]} ({texts[1]} to {texts[2]})"


def _format_count(count: MachineCount) -> str:
    if count.at_least:
        return f"at least {count.machines}"
    if count.fewer_than:
        return "none" if count.machines == 1 else f"fewer than {count.machines}"
    return str(count.machines)
