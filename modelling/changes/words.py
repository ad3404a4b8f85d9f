"""The sentences about a change. No Django."""

from collections.abc import Mapping, Sequence
from typing import Any

from modelling.evidence.words import counted, fact_words

from .content import Cause, Fact, Tally


def title(about: Mapping[str, Any]) -> str:
    """Return what a series measures. about : as content.Series, with its name"""
    return f"{about['name']} on {about['machine']} under {about['load']}"


def for_all(about: Mapping[str, Any], laboratory: str) -> dict[str, Any]:
    """Return what a series measures as everybody may read it: with its laboratory in place of its machine."""
    return {**about, "machine": f"a machine of {laboratory}"}


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


def cause(told: Cause, slower: bool) -> str:
    """Return what further series say of a fact that changed. slower : whether speed fell with it"""
    name = fact_words([vars(told.fact)])
    if told.ratio is None or told.low is None or told.high is None:
        return f"{name}: no further series that may be seen here took it."
    became = "slower" if slower else "faster"
    took = f"{name}: of {_series(told.took)} that took it, {told.took.alike} surely became {became}"
    ratio = f"{told.ratio:.2f} times as fast ({told.low:.2f} to {told.high:.2f}, 95 %)"
    if not told.without.series:
        return f"{took}. They are {ratio} with it as before; no series without it is there to compare them with."
    return f"{took}; of {_series(told.without)} without it, {told.without.alike}. Against those, it makes {ratio}."


def bisection(fact: Fact, about: Mapping[str, Any], laboratory: str, has_hosts: bool) -> str:
    """Return how old and new release are measured side by side. has_hosts : whether campaigns on two hosts can"""
    name = f"{fact.name} {fact.before}"
    if has_hosts:
        return (
            f"A host with {name} and one with {fact.after} are there: run the same plan on both. They are a fair pair "
            "as far as the hosts are alike in everything else."
        )
    load = "--like MACHINE" if about["job"] else about["load"]
    again = f"kdb measure {load} --laboratory {laboratory} --again"
    back = f"boot {name} again" if fact.name == "kernel" else f"install {name} again"
    return f"KDB installs no releases: {back} on the machine, and run “{again}” there with the same places as before."


def _series(tally: Tally) -> str:
    return f"{tally.series} further series in {counted(tally.laboratories, 'laboratory', 'laboratories')}"
