"""The sentences about a change. No Django."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from modelling.evidence.words import counted, fact_words

from .content import Cause, Fact, Point, Series, Tally


def title(about: Mapping[str, Any]) -> str:
    """Return what a series measures. about : as content.Series, with its name"""
    return f"{about['name']} on {about['machine']} under {about['load']}"


def without_machine(about: Mapping[str, Any], laboratory: str) -> dict[str, Any]:
    """Return what a series measures as everybody may read it: with its laboratory in place of its machine."""
    return {**about, "machine": f"a machine of {laboratory}"}


def headline(about: Mapping[str, Any], ratio: float) -> str:
    """Return a change in few words."""
    return f"{title(about)} became {'slower' if ratio < 1 else 'faster'}: {ratio:.2f} times as fast as before"


def sentence(
    about: Mapping[str, Any],
    interval: tuple[float, float, float],
    at: str,
    facts: Sequence[Mapping[str, str]],
    *,
    is_confirmed: bool,
) -> str:
    """Return the sentence about a change or suspicion: its ratio with interval, its day, and what was new.

    interval : ratio and its ends; at : when its first sitting after it ended, ISO 8601
    """
    ratio, low, high = interval
    way = "slower" if ratio < 1 else "faster"
    new = f" New with it: {fact_words(facts)}." if facts else " No fact that KDB knows changed with it."
    if is_confirmed:
        return f"{headline(about, ratio)} ({low:.2f} to {high:.2f}, 95 %, side by side), from {at[:10]} on.{new}"
    return (
        f"{title(about)} may have become {way} around {at[:10]}: {ratio:.2f} times as fast as before ({low:.2f} to "
        f"{high:.2f}, 95 %). Nothing measured side by side confirms it yet.{new}"
    )


def rerun_command(about: Mapping[str, Any], laboratory: str) -> str:
    """Return the `kdb measure` command that confirms a suspicion or not: series and neighbour in the same blocks."""
    load = "--like MACHINE" if about["job"] else about["load"]
    return f"kdb measure {load} --laboratory {laboratory} --again"


def night_command(series: Series, laboratory: str, machine: str) -> str:
    """Return the `kdb measure` command that adds a night to a series; FOLDER or DEVICE is where its place lies."""
    settings = {**series.settings}
    fs = settings.pop("guest_fs" if "guest_fs" in settings else "host_fs", "")
    storage = settings.pop("backend", "")
    stated = "".join(f",{name}={value}" for name, value in settings.items())
    disk, folder = [f"--disk=DEVICE={storage}{stated}", f"--fs={fs}"], [f"--place={series.place}=FOLDER{stated}"]
    options = ["--ci", "--laboratory", laboratory, "--machine", machine, "--seconds", str(series.seconds)]
    return shlex.join(["kdb", "measure", series.load, *options, *(disk if storage else folder)])


def current_speed(point: Point | None, unit: str, state: str) -> str:
    """Say how fast a series is now. unit : of the series; state : with its reason, in words"""
    if point is None:
        return "Nothing that counts was measured."
    return f"{point.value:,.0f} {unit} ({point.slowest:,.0f} to {point.fastest:,.0f}) on {point.at[:10]}: {state}."


def drift_sentence(ratio: float, low: float, high: float) -> str:
    """Return a drift with its rate. ratio : of speed to that of 30 nights earlier, with the ends of its interval"""
    way = "slower" if ratio < 1 else "faster"
    percent, *ends = (abs(100 * (end - 1)) for end in (ratio, low, high))
    return (
        f"It drifts: {percent:.1f} % {way} in 30 nights ({min(ends):.1f} to {max(ends):.1f} %, 95 %). No day stands "
        "out: look for what grows, such as fragmentation, fill level, wear or a neighbour's load."
    )


def cause_sentence(cause: Cause, slower: bool) -> str:
    """Return what further series say of a fact that changed. slower : whether speed fell with it"""
    name = fact_words([vars(cause.fact)])
    if cause.ratio is None or cause.low is None or cause.high is None:
        return f"{name}: no further series that may be seen here took it."
    became = "slower" if slower else "faster"
    took = f"{name}: of {_series(cause.took)} that took it, {cause.took.alike} surely became {became}"
    ratio = f"{cause.ratio:.2f} times as fast ({cause.low:.2f} to {cause.high:.2f}, 95 %)"
    if not cause.without.series:
        return f"{took}. They are {ratio} with it as before; no series without it is there to compare them with."
    return f"{took}; of {_series(cause.without)} without it, {cause.without.alike}. Against those, it makes {ratio}."


def bisection_sentence(fact: Fact, about: Mapping[str, Any], laboratory: str, has_hosts: bool) -> str:
    """Return how old and new release are measured side by side. has_hosts : whether campaigns on two hosts can"""
    name = f"{fact.name} {fact.before}"
    if has_hosts:
        return (
            f"A host with {name} and one with {fact.after} are there: run the same plan on both. They are a fair pair "
            "as far as the hosts are alike in everything else."
        )
    back = f"boot {name} again" if fact.name == "kernel" else f"install {name} again"
    return (
        f"KDB installs no releases: {back} on the machine, run “{rerun_command(about, laboratory)}” there with the "
        f"same places as before, then again on {fact.after}; three such pairs tell."
    )


def _series(tally: Tally) -> str:
    return f"{tally.series} further series in {counted(tally.laboratories, 'laboratory', 'laboratories')}"
