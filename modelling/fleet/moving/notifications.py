"""Notify the operators of a host of a move that failed, and of a move or a plan that waits for them."""

from django.contrib.auth.models import User
from django.urls import reverse

from experiments import permissions
from experiments.models import Host
from kdb.notifications import announcements
from kdb.notifications.models import Topic
from modelling.evidence.words import counted
from modelling.models import PlacementMove, PlacementPlan

from .plans import visible_to


def notify_of_failure(move: PlacementMove, reason: str) -> None:
    """Notify whoever asked for a move, or else the host's operator, that it failed, in the same transaction."""
    if (user := move.asked_by_id or move.host.registered_by_id) is None:
        return
    announcements.announce(
        Topic.MACHINES,
        subject=f"{move.host}: the move of {move} failed",
        text=f"{move} on {move.host} was not moved to {move.new_path}: {reason}",
        path=reverse("placement-move", args=[move.pk]),
        facts={"host": move.host.slug, "move": move.pk, "machine": move.machine_name, "reason": reason},
        users=[user],
        may=lambda user: permissions.may_use_host(user, move.host),
    )


def notify_of_plan(plan: PlacementPlan, host: Host) -> None:
    """Notify the host's operator that a plan of its policy with moves waits to be confirmed.

    Only members of a laboratory are notified of plans that contain its runs.
    """
    moves = sum(entry["is_move"] for entry in plan.content["machines"])
    if not moves or host.registered_by_id is None:
        return
    announcements.announce(
        Topic.MACHINES,
        subject=f"{host}: a plan waits for you",
        text=f"The policy of {host} made a plan with {counted(moves, 'move')}. It waits to be confirmed for a day.",
        path=reverse("placement-plan", args=[plan.pk]),
        facts={"host": host.slug, "plan": plan.pk, "moves": moves},
        users=[host.registered_by_id],
        may=lambda user: visible_to(user).filter(pk=plan.pk).exists(),
    )


def notify_of_approval(move: PlacementMove, proposer: User | None) -> None:
    """Notify the host's group, except for who proposed it, that a move waits for a second person: of the first only."""
    waiting = PlacementMove.objects.filter(host=move.host, state=PlacementMove.State.WAITING, approved_by=None)
    if waiting.exclude(pk=move.pk).exists():
        return
    group = {move.host.registered_by_id, *move.host.operators.values_list("pk", flat=True)}
    announcements.announce(
        Topic.MACHINES,
        subject=f"{move.host}: a move waits for a second person",
        text=f"{proposer or 'KDB'} wants to move {move} to {move.new_path}. It begins once you or another approved it.",
        path=reverse("placement-move", args=[move.pk]),
        facts={"host": move.host.slug, "move": move.pk, "machine": move.machine_name},
        users=[pk for pk in group if pk is not None and pk != (proposer.pk if proposer else None)],
        may=lambda user: permissions.may_use_host(user, move.host),
    )
