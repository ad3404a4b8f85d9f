"""Write plans in words. No Django."""

from collections.abc import Mapping

from modelling.evidence.axes import AXES, entry_label
from modelling.evidence.words import counted, load, percent, size, times
from modelling.own_lab.content import LIKE

from .content import (
    BEST_FOUND,
    CONSTRAINED,
    GREEDY,
    MOVES,
    NO_CHOICE,
    NO_GAIN,
    NOT_KNOWN,
    NOT_SURE,
    PINNED,
    Advice,
    Plan,
    Prospect,
    ToMeasure,
)

_FORBIDS = {
    "space": "its space, less the reserve and what moves there, is too small",
    "load": "it would have to carry more load than it can",
    "apart": "another machine of a group that is kept apart is there",
    "together": "the machines that lie together with it cannot follow",
    "excluded": "it is no target of moves",
    "pinned": "the machine is pinned",
}
_STAYS = {
    PINNED: "It is pinned.",
    NO_CHOICE: "Every pool it may move to lies on the same host file system, and nothing compares them.",
    NOT_KNOWN: "No numbers compare the pools under its load; measure them, by runs or as listed with the plan.",
    NOT_SURE: "The evidence does not carry a move.",
    NO_GAIN: "No pool promises more than copying costs.",
    CONSTRAINED: "It would gain elsewhere, and a constraint forbids it.",
}


def explanation(advice: Advice) -> tuple[str, ...]:
    """Explain in sentences why a machine moves or stays."""
    sentences = [f"Move from {advice.here} to {advice.pool}." if advice.why == MOVES else _STAYS[advice.why]]
    if advice.prospect is not None:
        sentences.append(describe_prospect(advice.prospect))
    if advice.is_move and advice.gain is not None:
        sentences.append(
            f"{size(advice.copy_bytes)} are copied in {_minutes(advice.copy_seconds)}; "
            f"net of that {100 * advice.gain:.1f} % are gained over the horizon."
        )
    if advice.better is not None:
        because = _FORBIDS[advice.better.forbidden_by]
        sentences.append(f"{advice.better.pool} promises {100 * advice.better.gain:.1f} %, but {because}.")
    return tuple(sentences)


def describe_prospect(prospect: Prospect) -> str:
    """Write a prospect as a sentence."""
    is_here, is_all = prospect.runs > 0, prospect.measured > 0.999
    parts = [f"{percent(prospect.measured)} of its load"] if prospect.measured else []
    parts += ["other loads"] if prospect.borrowed else []
    under = "" if is_all else f" under {' and '.join(parts)}"
    who = f"Measured here, {counted(prospect.runs, 'run')}{under}: it is" if is_here else "A new laboratory is"
    published = f"the evidence is {prospect.strength} ({counted(prospect.laboratories, 'laboratory', 'laboratories')})"
    elsewhere = 1.0 - prospect.measured - prospect.borrowed - prospect.doubt
    rests = f"; {'of the rest ' if is_here else ''}{published}" if elsewhere > 0.001 else ""
    if prospect.doubt > 0.001:
        rests += f"; with {percent(prospect.doubt)} probability it does something of which nothing is known"
    return (
        f"{who} expected to see {times(prospect.ratio)} times the throughput (95 %: {prospect.low:.2f} to "
        f"{prospect.high:.2f}): it gains with {percent(prospect.gaining)}, loses with {percent(prospect.losing)} "
        f"probability{rests}."
    )


def _minutes(seconds: float) -> str:
    return counted(max(1, round(seconds / 60)), "minute")


def to_measure_words(missing: ToMeasure, names: Mapping[str, Mapping[str, str]]) -> str:
    """Write what to measure, and how many machines wait for it."""
    first, second = (entry_label(AXES["fs-pair"], pair, names) for pair in missing.pairs)
    workload = load(names["workload"].get(missing.workload, missing.workload))
    hypervisor = names["hypervisor"].get(missing.hypervisor, missing.hypervisor)
    waiting = counted(missing.machines, "machine waits", "machines wait")
    return f"{first} against {second} for {workload} under {hypervisor}: {waiting} for it."


def runs_words(runs: int, workload: str, names: Mapping[str, Mapping[str, str]]) -> str:
    """Write which runs a plan uses."""
    of_machine = workload.removeprefix(LIKE)
    under = f"the load of {of_machine}" if of_machine != workload else load(names["workload"].get(workload, workload))
    return f"{counted(runs, 'run').capitalize()} under {under}."


def describe_gap(plan: Plan) -> str:
    """Write how close a plan is to the best possible one."""
    how = {
        GREEDY: "Time was up: the largest gain was taken first, and ",
        BEST_FOUND: "Time was up: this is the best that was found, and ",
    }.get(plan.method, "")
    sentence = f"at most {100 * plan.gap:.1f} % of what is possible under the constraints is missing."
    if plan.gap < 0.0005:
        sentence = "no other plan under the constraints gains more."
    return how + sentence if how else sentence[0].upper() + sentence[1:]
