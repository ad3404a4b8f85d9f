"""Put plans into words. No Django."""

from collections.abc import Mapping

from modelling.evidence.axes import AXES, entry_label
from modelling.evidence.words import counted, load, percent, ratio, size

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
    "excluded": "it is excluded for this machine",
    "pinned": "the machine is pinned",
    "region": "it is planned in another region",
}
_STAYS = {
    PINNED: "It is pinned.",
    NO_CHOICE: "Every pool it may move to lies on the same host file system, and nothing compares them.",
    NOT_KNOWN: "No numbers compare the host file systems under its load; what to measure is listed with the plan.",
    NOT_SURE: "The evidence does not carry a move.",
    NO_GAIN: "No pool promises more than copying costs.",
    CONSTRAINED: "It would gain elsewhere, and a constraint forbids it.",
}


def explained(advice: Advice) -> tuple[str, ...]:
    """Explain why a machine moves or stays, a sentence a step."""
    sentences = [f"Move from {advice.here} to {advice.pool}." if advice.why == MOVES else _STAYS[advice.why]]
    if advice.prospect is not None:
        sentences.append(promised(advice.prospect))
    if advice.is_move and advice.gain is not None:
        sentences.append(
            f"{size(advice.copy_bytes)} are copied in {counted(round(advice.copy_seconds / 60), 'minute')}; "
            f"net of that {100 * advice.gain:.1f} % are gained over the horizon."
        )
    if advice.better is not None:
        because = _FORBIDS[advice.better.forbidden_by]
        sentences.append(f"{advice.better.pool} promises {100 * advice.better.gain:.1f} %, but {because}.")
    return tuple(sentences)


def promised(prospect: Prospect) -> str:
    """Put a prospect into a sentence."""
    runs = counted(prospect.runs, "run")
    is_all = prospect.measured > 0.999
    who = (
        "A new laboratory is"
        if not prospect.runs
        else f"Measured here, {runs}"
        + (": it is" if is_all else f" under {percent(prospect.measured)} of its load: it is")
    )
    published = f"the evidence is {prospect.strength} ({counted(prospect.laboratories, 'laboratory', 'laboratories')})"
    rests = "" if is_all else f"; {'of the rest ' if prospect.runs else ''}{published}"
    return (
        f"{who} expected to see {ratio(prospect.ratio)} the throughput (95 %: {prospect.low:.2f} to "
        f"{prospect.high:.2f}): it gains with {percent(prospect.gaining)}, loses with {percent(prospect.losing)} "
        f"probability{rests}."
    )


def asked_for(missing: ToMeasure, names: Mapping[str, Mapping[str, str]]) -> str:
    """Say what to measure, and how many machines wait for it."""
    first, second = (entry_label(AXES["fs-pair"], pair, names) for pair in missing.pairs)
    workload = load(names["workload"].get(missing.workload, missing.workload))
    hypervisor = names["hypervisor"].get(missing.hypervisor, missing.hypervisor)
    waiting = counted(missing.machines, "machine waits", "machines wait")
    return f"{first} against {second} for {workload} under {hypervisor}: {waiting} for it."


def solved(plan: Plan) -> str:
    """Say how near a plan is to the best."""
    how = {
        GREEDY: "Time was up: the largest gain was taken first, and ",
        BEST_FOUND: "Time was up: this is the best that was found, and ",
    }.get(plan.method, "")
    sentence = f"at most {100 * plan.gap:.1f} % of what is possible under the constraints is missing."
    return how + sentence if how else sentence[0].upper() + sentence[1:]
