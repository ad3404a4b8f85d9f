"""The second person that a host's group may want for each move: who may approve it, and how long an approval holds.

An approval is for one disk from one place to another as things stood. Whoever proposed the move cannot give it.
"""

from typing import Any

from django.contrib.auth.models import User

from experiments import permissions
from experiments.models import Host, ObservedDisk
from modelling.models import PlacementDecision, PlacementMove, PlacementPlan, PlacementPolicy

_WORDS = {
    "disk": "the disk lies elsewhere",
    "pool": "its pool is a target no more, or again",
    "advice": "a newer plan says otherwise of this disk",
}


def is_needed(host: Host) -> bool:
    """Tell whether a move on the host needs a second person."""
    return PlacementPolicy.objects.filter(host=host, second_person=True).exists()


def policy_author(host: Host) -> User | None:
    """Return the user who set the host's policy; None: it was set on the server's command line, or there is none."""
    decisions = PlacementDecision.objects.filter(host=host, action=PlacementDecision.Action.POLICY)
    decision = decisions.select_related("actor").first()
    return decision.actor if decision else None


def proposer(move: PlacementMove) -> User | None:
    """Return who wants the move: who asked for it, or set the policy that did; None: the server's command line."""
    is_by_policy = move.asked_by is None and move.plan is not None
    return policy_author(move.host) if is_by_policy else move.asked_by


def why_not(move: PlacementMove, user: User | None) -> str:
    """Return why the user may not approve a move of a host that they may use; "" where they may."""
    if not is_needed(move.host):
        return f"Moves on {move.host} need no second person."
    if move.state != PlacementMove.State.WAITING or move.approved_by is not None:
        return "It does not wait for an approval."
    if user is None or user == proposer(move):
        return "Whoever proposed a move cannot approve it: another member of the host's group does."
    return ""


def facts_of(move: PlacementMove) -> dict[str, Any]:
    """Return what an approval of the move rests on, as it is now."""
    disk = ObservedDisk.objects.filter(machine=move.machine, target=move.disk).first()
    newest = PlacementPlan.objects.filter(hosts=move.host).first()
    names = (str(move.machine_uuid), move.disk)
    advice = [
        [entry["pool"], entry["is_move"]]
        for entry in (newest.content["machines"] if newest else ())
        if (entry["machine_uuid"], entry["disk"]) == names
    ]
    return {
        "disk": disk.path if disk else "",
        "pool": move.to_pool.is_target if move.to_pool else None,
        "advice": advice,
    }


def why_lapsed(move: PlacementMove) -> str:
    """Return why the approval of a move holds no more; "" where it holds."""
    if move.approved_by is None or not permissions.may_use_host(move.approved_by, move.host):
        return "whoever approved it may use the host no more"
    now, then = facts_of(move), move.approved_as or {}
    return next((words for name, words in _WORDS.items() if now[name] != then.get(name)), "")
