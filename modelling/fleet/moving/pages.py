"""Read what the pages of plans and moves show, in a constant number of queries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import Count
from django.utils.timezone import now

from experiments import permissions
from experiments.models import ObservedDisk, ObservedMachine, ObservedPool
from modelling.evidence import names
from modelling.evidence.words import counted, percent, size
from modelling.fleet.placement.selectors import ANY_LOAD
from modelling.models import Laboratory, PlacementDecision, PlacementMove, PlacementPlan

from . import approvals, moves, plans
from .comparison import KEPT, SAME, UNKNOWN, WORSE
from .policies import DRY_RUN_DAYS

_FEW = 20
_TICKED = 0.05  # largest probability of being slower of moves that are ticked before the operator looks
_LEAST_SHOWN = 0.05  # probability of what a machine may do instead
State = PlacementMove.State
_OUTCOMES = {
    KEPT: "Kept its promise: on the same load a request takes less time than before.",
    SAME: "No difference: on the same load a request takes as long as before, within the margin.",
    WORSE: "Worse: on the same load a request takes longer than before. It can be moved back.",
    UNKNOWN: "It cannot be told yet: too few minutes before and after had the same load.",
}


def home(user: Any) -> dict[str, Any]:
    """Return the user's hosts with policies, machines with stated mixes, and the last plans and moves."""
    own = permissions.hosts_visible_to(user)
    hosts = own.filter(observed_machines__isnull=False).annotate(watched=Count("observed_machines"))
    dry = _dry_runs(user)
    machines = ObservedMachine.objects.filter(host__in=own).select_related("host", "stated_mix")
    return {
        "hosts": [
            (host, moves.loaded_policy(host), dry.get(host.pk, ""))
            for host in hosts.select_related("placement_policy").order_by("slug")
        ],
        "plans": plans.visible_to(user).select_related("made_by").defer("content").prefetch_related("hosts")[:_FEW],
        "moves": PlacementMove.objects.filter(host__in=own).select_related("host", "to_pool")[:_FEW],
        "machines": [
            (machine, _load(machine.stated_mix.shares) if hasattr(machine, "stated_mix") else "")
            for machine in machines.order_by("host__slug", "name")[:200]
        ],
    }


def _dry_runs(user: Any) -> dict[int, str]:
    """Return host to what the dry runs of the last week would have moved, in a sentence. One query."""
    since = now() - timedelta(days=DRY_RUN_DAYS)
    rows = plans.visible_to(user).filter(made_by=None, made_at__gt=since, decisions=None).order_by("pk")
    of_host: dict[int, list[Mapping[str, Any]]] = {}
    for host, moved in rows.values_list("hosts", "content__moves"):
        of_host.setdefault(host, []).append(moved or {})
    return {host: _dry_run_sentence(plans_made) for host, plans_made in of_host.items()}


def _dry_run_sentence(made: Sequence[Mapping[str, Any]]) -> str:
    """Write what plans would have moved. made : of each, machine to its pool and expected gain; the oldest first"""
    latest = {name: move for moved in made for name, move in moved.items()}
    named = [
        f"{_inside(name)} to /{_inside(pool)} (by {sum(name in one for one in made)}; a gain of {percent(gain)})"
        for name, (pool, gain) in sorted(latest.items(), key=lambda item: -item[1][1])[:_FEW]
    ]
    would = f"would have moved {', '.join(named)}" if named else "would have moved nothing"
    return f"Last week {counted(len(made), 'plan')} {would}."


def _inside(name: str) -> str:
    """Return the name of a machine or a pool without its host."""
    return name.partition("/")[2]


@dataclass(frozen=True)
class PlanPage:
    """A plan as its page shows it.

    moving, staying : the plan's entries for machines; kept_back : why its hosts start no moves now
    pools : before and after the moves
    laboratories : only their members see the plan; empty: every operator does
    """

    moving: list[Mapping[str, Any]]
    staying: list[Mapping[str, Any]]
    pools: list[Mapping[str, Any]]
    is_stale: bool
    kept_back: list[str]
    laboratories: list[Laboratory]


def plan_page(plan: PlacementPlan) -> PlanPage:
    asked = list(plan.moves.select_related("host"))
    confirmed = {(str(move.machine_uuid), move.disk): move for move in asked}
    rows = [
        {**entry, "move": confirmed.get((entry["machine_uuid"], entry["disk"])), "load": _describe_load(entry["mix"])}
        | {"is_ticked": entry["is_move"] and entry["prospect"]["losing"] <= _TICKED}
        for entry in plan.content["machines"]
    ]
    hosts = list(plan.hosts.all())
    waiting = [f"{host}: {why}." for host in hosts if (why := moves.reason_to_wait(host, now()))]
    return PlanPage(
        moving=sorted((row for row in rows if row["is_move"]), key=lambda row: -row["gain"]),
        staying=[row for row in rows if not row["is_move"]],
        pools=[
            {**pool, "free": size(pool["free_bytes"]), "free_after": size(pool["free_bytes"] - pool["bytes_in"])}
            for pool in plan.content["pools"]
            if "load_after" in pool  # plans made before have no loads
        ],
        is_stale=plan.made_at < now() - moves.STALE,
        kept_back=waiting,
        laboratories=list(plan.laboratories.all()),
    )


def _describe_load(mix: Mapping[str, Any]) -> str:
    """Write what a plan takes a machine to do: "Mail server, 80 % sure; or with 20 % a load that is not known; ..."."""
    likely = "; ".join(
        f"or with {percent(other['probability'])} {_load(other['shares'])}"
        for other in mix.get("others", ())
        if other["probability"] >= _LEAST_SHOWN
    )
    sure = f", {percent(mix['probability'])} sure" if mix["probability"] else ""
    return "; ".join(part for part in (_load(mix["shares"]) + sure, likely, mix["text"]) if part)


def _load(shares: Mapping[str, float]) -> str:
    """Write a mix: "Mail server 80 %, Web server 20 %", the largest share first."""
    known = {**names.names()["workload"], ANY_LOAD: "a load that is not known"}
    whole = sum(shares.values())
    if len(shares) == 1:
        (only,) = shares
        return known.get(only, only)
    largest_first = sorted(shares.items(), key=lambda item: -item[1])
    return ", ".join(f"{known.get(name, name)} {percent(share / whole)}" for name, share in largest_first)


def disks_on(pool: ObservedPool) -> list[tuple[ObservedDisk, PlacementMove | None]]:
    """Return the disks on a pool, each with its open move. Two queries."""
    away = {
        (move.machine_uuid, move.disk): move
        for move in PlacementMove.objects.filter(from_pool=pool, state__in=moves.OPEN).select_related("to_pool")
    }
    disks = ObservedDisk.objects.filter(pool=pool).select_related("machine").order_by("machine__name", "target")
    return [(disk, away.get((disk.machine.uuid, disk.target))) for disk in disks]


@dataclass(frozen=True)
class MovePage:
    """A move as its page shows it. can : actions that are possible now; outcome : in words, "" before there is one

    sees_plan : whether the reader may see its plan and the promise
    """

    log: list[Any]
    decisions: list[PlacementDecision]
    can: dict[str, bool]
    is_live: bool
    percent: int
    outcome: str
    is_worse: bool
    ways_back: list[PlacementMove]
    why_waiting: str
    sees_plan: bool


def move_page(move: PlacementMove, user: Any) -> MovePage:
    at_work = moves.has_open_job(move.job)
    verdict = move.outcome.get("verdict", "")
    return MovePage(
        log=list(move.lines.order_by("-pk")[:100]),
        decisions=list(move.decisions.select_related("actor")),
        can={
            "call_off": move.state in (State.WAITING, State.COPYING) and not move.is_called_off,
            "back": move.state in (State.KEPT, State.DONE),
            "remove": moves.may_remove(move) and not at_work,
            "approve": not approvals.why_not(move, user),
        },
        is_live=move.state in moves.OPEN or (move.state == State.KEPT and at_work),
        percent=min(100, round(100 * move.done_bytes / move.size_bytes)) if move.size_bytes else 0,
        outcome=_OUTCOMES.get(verdict, ""),
        is_worse=verdict == WORSE,
        ways_back=list(move.ways_back.all()),
        why_waiting=moves.why_waiting(move) if move.state == State.WAITING else "",
        sees_plan=move.plan_id is not None and plans.visible_to(user).filter(pk=move.plan_id).exists(),
    )
