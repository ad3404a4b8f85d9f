"""The sentences of sessions and of answers on a machine. No Django."""

import shlex
from collections.abc import Sequence
from datetime import datetime

from kdb.host_storage import UNNAMED
from modelling.answers.content import Answer
from modelling.answers.words import address
from modelling.estimation import verdict
from modelling.estimation.sequential import LIKELY
from modelling.evidence.axes import AXES, entry_parts
from modelling.evidence.words import listed, some
from modelling.workloads.profiles import Profile

from .content import (
    BETWEEN_SECONDS,
    CHANGED,
    MOST_RUNS,
    NO_CHANGE,
    NO_DIFFERENCE,
    NOT_YET,
    SECONDS,
    WORKLOADS,
    Command,
    EntryHere,
    Standing,
)

MAKES = ("ext4", "xfs", "btrfs", "f2fs")  # file systems that kdb measure makes on a scratch disk
_MOST_DISKS = 4


def decision_sentence(
    kind: str,
    rows: Sequence[Standing],
    alike: Sequence[str],
    margin: float,
    further: int | None,
    *,
    runs: int,
    has_ended: bool,
) -> str:
    """Say what to use on this machine.

    rows : the one to use first; alike : those within the margin of the best
    further : runs that would decide, of a session that has ended; None: too many
    """
    first = rows[0]
    if len(rows) == 1:
        return f"{first.name} alone was measured, so there is nothing to decide."
    if kind == NOT_YET:
        what = f"{_count(runs)} on this machine did not decide yet." if runs else "Nothing was measured here yet."
        took = f" About {further} more runs would decide." if further else " More than 30 further runs would be needed."
        return what + (took if has_ended else "")
    if kind == NO_DIFFERENCE:
        return (
            f"{listed(alike, 'or')}: either is fine on this machine, they differ by less than {margin:.0%}. "
            f"{_risk(first.loss)}"
        )
    second = max(rows[1:], key=lambda row: row.ratio)
    lead = _lead(second.ratio, second.low, second.high, second.name)
    tied = [row.name for row in rows[1:] if row.within > LIKELY]
    may = f" {listed(tied, 'or')} may be as good." if tied else ""
    return f"Use {first.name} on this machine: {lead}.{may} {_risk(first.loss)}"


def _risk(loss: float) -> str:
    """Say what the chance of a wrong choice costs. loss : expected, over right and wrong choices, percent"""
    return f"The risk that this is wrong costs {f'about {loss:.1f}' if loss >= 0.05 else 'less than 0.1'} % on average."


def under_load_of(machine: str, text: str) -> str:
    """Say that it holds under the load of an observed machine."""
    return f"Under the load of {machine}: {text[0].lower()}{text[1:]}"


def describe_load(machine: str, profile: Profile, at: datetime, hours: float, left_open: Sequence[str]) -> str:
    """Say what the load of an observed machine is made of. hours : watched, of the 24 before `at`"""
    assert profile.requests is not None
    assert profile.mean_io_bytes is not None
    asked, moved, size = profile.requests, profile.bytes.reads, profile.mean_io_bytes / 1024
    both = asked.reads + asked.writes
    parts = [
        f"{share:.0%} {name}{f' of {size * part * both / share:.3g} KiB' if part else ''}"
        for share, part, name in (
            (asked.reads, moved, "reads"),
            (asked.writes, 1 - moved, "writes"),
            (asked.flushes, 0.0, "flushes"),
        )
        if share
    ]
    return (
        f"The load is what {machine} asked of its disks in the 24 hours before {at:%Y-%m-%d %H:%M} UTC, of which "
        f"{hours:.1f} were watched: {listed(parts)}, {profile.concurrency} at once. {' '.join(left_open)} It runs as "
        "fast as each place carries it."
    )


def recommendation_sentence(
    kind: str, rows: Sequence[EntryHere], alike: Sequence[str], margin: float, open_: Sequence[str], runs: int
) -> str:
    """Say what to use on a machine, one sentence.

    rows : that it is said of, the first to use first; alike : labels of those within the margin of the best
    open_ : labels of entries that nobody measured there and that may be faster; runs : that were made
    """
    first, *others = rows
    second = max(others, key=lambda row: row.ratio)
    lead = _lead(second.ratio, second.low, second.high, second.label)
    cost = _risk(first.loss)
    may = f" Not measured there, and perhaps faster: {some(open_, 3)}." if open_ else ""
    if kind == verdict.USE:
        return f"Use {first.label}: {lead}. {cost}"
    if kind == verdict.NO_DIFFERENCE:
        return f"{listed(alike, 'or')}: either is fine, they differ by less than {margin:.0%}. {cost}"
    if kind == verdict.LEADS and len(alike) > 1:
        return f"Start with {listed(alike, 'or')}: they differ by less than {margin:.0%}.{may}"
    if kind == verdict.LEADS:
        return f"Start with {first.label}: {lead}.{may}"
    return f"Start with {first.label}: {lead}. {_count(runs)} did not decide yet.{may}"


def borrowed_sentence(missing: Sequence[str], others: Sequence[str]) -> str:
    """Say, after an answer, that runs under other workloads tell it.

    missing : labels of workloads asked for and not measured; others : of those that were
    """
    sentence = f" Nothing was measured there under {listed(missing)}" if missing else ""
    return sentence and sentence + (f": runs under {listed(others)} say this." if others else ".")


def not_measured(workloads: Sequence[str]) -> str:
    """Say why a laboratory has no answer under a mix. workloads : labels"""
    return f"Measure first: no two of these choices were measured, under {listed(workloads)} or any other workload."


def _lead(ratio: float, low: float, high: float, other: str) -> str:
    return f"{1 / ratio:.2g} times as fast as {other}, the next best ({1 / high:.2f} to {1 / low:.2f})"


def change_sentence(kind: str, name: str, ratio: float, low: float, high: float, margin: float) -> str:
    """Say how a choice changed."""
    now = f"{ratio:.2f} times as fast as before ({low:.2f} to {high:.2f})"
    if kind == NO_CHANGE:
        return f"{name}: no change that matters; it is {now}, within {margin:.0%}."
    return f"{name}: {'' if kind == CHANGED else 'whether it changed is not sure; '}it is {now}."


def _count(runs: int) -> str:
    return "One run" if runs == 1 else f"{runs} runs"


def measure_command(answer: Answer, laboratory: str = "", *, server: str) -> Command | None:
    """Return the command that measures what the answer leaves open; None: nothing, or kdb measure cannot.

    laboratory : short name of the reader's; "": as a visitor, by one line; server : where the program comes from
    """
    question, runs = answer.question, answer.next_runs[-1:]
    is_worthless = bool(answer.measure_next) and not runs
    if answer.verdict.kind == verdict.USE or question.workload not in WORKLOADS or is_worthless:
        return None
    keys = runs[0].entries if runs else tuple(entry.key for entry in answer.entries)
    on = _what_on(question.axis, keys)
    if not on:
        return None
    words = [question.workload, *(["--laboratory", laboratory] if laboratory else []), *on]
    program = "kdb" if laboratory else f"curl -sSf {server}/kdb.py | python3 -"
    minutes, asked = round(MOST_RUNS * (SECONDS + BETWEEN_SECONDS) / 60), address(question).partition("?")[2]
    return Command(f"{program} measure {shlex.join(words)}", minutes, runs[0].gain if runs else None, asked)


def _what_on(name: str, keys: Sequence[str]) -> list[str]:
    """Return the options that name what is compared; [] where one machine cannot have it side by side."""
    axis = AXES[name]
    if "hypervisor" in axis.entry:
        return []
    parts = [entry_parts(axis, key) for key in keys]
    if axis.setting:
        values = [part[axis.setting.column] for part in parts][:_MOST_DISKS]
        column = axis.setting.column
        named = [
            f"--place={value}=/mnt/{letter},{column}={value}" for value, letter in zip(values, "abcd", strict=False)
        ]
        return named if len(named) > 1 else []
    made = [part.get("guest_fs") or part.get("host_fs") or "ext4" for part in parts] or list(MAKES[:3])
    made = [fs for fs in dict.fromkeys(made) if fs in MAKES]
    below = dict.fromkeys(
        part.get("host_storage") or f"{UNNAMED}-{part['host_fs']}"
        for part in parts
        if "host_storage" in part or {"guest_fs", "host_fs"} <= part.keys()
    )
    disks = [f"--disk=/dev/vd{letter}={on}" for on, letter in zip(below, "bcde", strict=False)] or ["--disk=/dev/vdb"]
    return [*disks, f"--fs={','.join(made)}"] if made and len(disks) * len(made) > 1 else []
