"""What is said of a change. No Django."""

from collections.abc import Mapping, Sequence
from typing import Any

from modelling.evidence.words import listed


def title(about: Mapping[str, Any]) -> str:
    """Return what a series measures. about : as content.Series, with its name"""
    return f"{about['name']} on {about['machine']} under {about['load']}"


def headline(about: Mapping[str, Any], ratio: float) -> str:
    """Return a change in few words."""
    return f"{title(about)} became {'slower' if ratio < 1 else 'faster'}: {ratio:.2f} times as fast as before"


def sentence(
    about: Mapping[str, Any], ratio: float, low: float, high: float, at: str, facts: Sequence[Mapping[str, str]]
) -> str:
    """Return a change with its interval, its day and what was new with it. at : ISO 8601"""
    new = f" New with it: {fact_words(facts)}." if facts else " No fact that KDB knows changed with it."
    return (
        f"{title(about)}: {ratio:.2f} times as fast as before ({low:.2f} to {high:.2f}, 95 %), "
        f"from the sitting of {at[:10]} on.{new}"
    )


def fact_words(facts: Sequence[Mapping[str, str]]) -> str:
    """Return facts that changed: kernel 6.8 (was 6.1)."""
    return listed(
        [f"{fact['name']} {fact['after'] or 'unknown'} (was {fact['before'] or 'unknown'})" for fact in facts]
    )
