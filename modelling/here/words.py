"""What a sitting says, in sentences. No Django."""

from collections.abc import Sequence

from .content import CHANGED, NO_CHANGE, NO_DIFFERENCE, NOT_YET, Standing


def sentence(
    kind: str, rows: Sequence[Standing], alike: Sequence[str], margin: float, further: int | None, *, runs: int
) -> str:
    """Say what to use on this machine. rows : the one to use first; alike : those within the margin of the best"""
    first = rows[0]
    if kind == NOT_YET:
        took = f"About {further} more runs would." if further else "More runs than 30 would be needed."
        return (
            f"{_count(runs)} on this machine did not decide yet. {took}"
            if runs
            else f"Nothing was measured here. {took}"
        )
    if kind == NO_DIFFERENCE:
        others = ", ".join(alike[:-1])
        return (
            f"On this machine {others} and {alike[-1]} differ by less than {margin:.0%}: keep what you have. "
            f"If that is wrong, it costs about {first.loss:.1f} %."
        )
    second = max(rows[1:], key=lambda row: row.ratio)
    return (
        f"Use {first.name} on this machine: {1 / second.ratio:.2g} times as fast as {second.name}, the next best "
        f"({1 / second.high:.2f} to {1 / second.low:.2f}). If that is wrong, it costs about {first.loss:.1f} %."
    )


def change(kind: str, name: str, ratio: float, low: float, high: float, margin: float) -> str:
    """Say what became of a choice."""
    now = f"{ratio:.2f} times as fast as before ({low:.2f} to {high:.2f})"
    if kind == NO_CHANGE:
        return f"{name}: no change that matters; it is {now}, within {margin:.0%}."
    return f"{name}: {'' if kind == CHANGED else 'whether it changed is not sure; '}it is {now}."


def _count(runs: int) -> str:
    return "One run" if runs == 1 else f"{runs} runs"
