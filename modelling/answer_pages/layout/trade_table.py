"""Lay out a trade-off: a sentence, its table and its chart. No queries, no HTML."""

from collections.abc import Mapping
from dataclasses import dataclass

from kdb.units import METRICS
from modelling.answers.content import Answer, TradeEstimate, TradeOff, TradePoint
from modelling.answers.trade_off import DURABILITY, SPREAD
from modelling.answers.words import Chart
from modelling.estimation.pareto import DOMINATED, EFFICIENT, UNDECIDED
from modelling.evidence.words import listed

_TONES = {EFFICIENT: "good", DOMINATED: "bad", UNDECIDED: None}
_NAMES = {SPREAD: "spread of runs", DURABILITY: "durability"}


@dataclass(frozen=True)
class TradeTable:
    """A trade-off. x, y : names of the two objectives; has_ratio : whether y is a ratio

    lines : label and point of each entry; chart : None for durability, which is no quantity
    """

    x: str
    y: str
    has_ratio: bool
    sentence: str
    lines: list[tuple[str, TradePoint]]
    chart: Chart | None


def trade_tables(answer: Answer) -> list[TradeTable]:
    """Return every trade-off of an answer."""
    labels = {entry.key: entry.label for entry in answer.entries}
    return [_table(number, trade_off, labels) for number, trade_off in enumerate(answer.trade_offs, start=1)]


def _table(number: int, trade_off: TradeOff, labels: Mapping[str, str]) -> TradeTable:
    x, y = METRICS[trade_off.x].relative, _NAMES.get(trade_off.y) or METRICS[trade_off.y].relative
    lines = [(labels[point.key], point) for point in trade_off.points]
    sentence = _sentence(x, y, lines)
    chart = None if trade_off.y == DURABILITY else _chart(number, trade_off, x, y, lines)
    return TradeTable(x, y, trade_off.y in METRICS, sentence, lines, chart)


def _sentence(x: str, y: str, lines: list[tuple[str, TradePoint]]) -> str:
    front = [label for label, point in lines if point.on_front]
    labels_of = {standing: [label for label, point in lines if point.standing == standing] for standing in _TONES}
    sentence = (
        f"By the estimates no other is better in {x} and {y} at once than {listed(front, 'or')}." if front else ""
    )
    if len(labels_of[UNDECIDED]) == len(lines):
        return f"{sentence} Beyond the intervals nothing can be told.".strip()
    sure = [f"{listed(labels_of[EFFICIENT])} surely in the Pareto set"] if labels_of[EFFICIENT] else []
    sure += [f"{listed(labels_of[DOMINATED])} surely beaten"] if labels_of[DOMINATED] else []
    sure += [f"of {listed(labels_of[UNDECIDED])} it cannot be told"] if labels_of[UNDECIDED] else []
    return f"{sentence} Beyond the intervals: {'; '.join(sure)}.".strip()


def _chart(number: int, trade_off: TradeOff, x: str, y: str, lines: list[tuple[str, TradePoint]]) -> Chart:
    front = sorted((point.x.value, _height(trade_off, point.y)) for _, point in lines if point.on_front)
    y_title = f"{y}, ×" if trade_off.y in METRICS else f"{y}, %, less is better"
    return Chart(
        id=f"chart-trade-{number}",
        size="",
        label=f"Scatter plot of {x} against {y} with 95 % intervals and the Pareto set. The table has the numbers.",
        data={
            "kind": "scatter",
            "horizontal": False,
            "unit": "×" if trade_off.y in METRICS else "%",
            "axis": y_title,
            "across": f"{x}, ×, more is better",
            "labels": [label for label, _ in lines],
            "series": [
                {
                    "name": standing,
                    "tone": tone,
                    "points": [_point(trade_off, p) if p.standing == standing else None for _, p in lines],
                }
                for standing, tone in _TONES.items()
            ],
            "front": front,
            "tones": None,
            "reference": None,
        },
    )


def _point(trade_off: TradeOff, point: TradePoint) -> dict[str, float | None]:
    scale = 1.0 if trade_off.y in METRICS else 100.0
    low, high = (None if end is None else scale * end for end in (point.y.low, point.y.high))
    return {
        "value": _height(trade_off, point.y),
        "low": low,
        "high": high,
        "x": point.x.value,
        "x_low": point.x.low,
        "x_high": point.x.high,
    }


def _height(trade_off: TradeOff, estimate: TradeEstimate) -> float:
    """Return the height at which it is drawn: a ratio as it is, a share in percent."""
    return (estimate.value or 0.0) * (1.0 if trade_off.y in METRICS else 100.0)
