"""Laboratories of readers: members, sessions, removal. Pages, API and client all ask here."""

from typing import Any

from django.contrib.auth import get_user_model
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from modelling.models import Laboratory, LaboratoryAuditEntry, SeriesChange, Sitting

from .content import Refused

MOST_LABORATORIES = 20  # of one user
MOST_MEMBERS = 100
MOST_SITTINGS = 10_000


def laboratories_of(user: Any) -> QuerySet[Laboratory]:
    """Return the user's laboratories; those of others look as if they did not exist."""
    return Laboratory.objects.filter(members=user) if user.is_authenticated else Laboratory.objects.none()


def sessions_of(user: Any) -> QuerySet[Sitting]:
    """Return the sessions of the user's laboratories."""
    return Sitting.objects.filter(laboratory__in=laboratories_of(user)).select_related(
        "laboratory", "started_by", "case_study"
    )


def check_room(laboratory: Laboratory) -> None:
    """Raise Refused where the laboratory has as many sessions as it may."""
    if laboratory.sittings.count() >= MOST_SITTINGS:
        raise Refused(f"The laboratory has {MOST_SITTINGS} sittings, as many as it may.")


def create_laboratory(user: Any, slug: str, name: str) -> Laboratory:
    """Create a laboratory whose only member is this user. Raises Refused."""
    if laboratories_of(user).count() >= MOST_LABORATORIES:
        raise Refused(f"You belong to {MOST_LABORATORIES} laboratories, as many as one may.")
    try:
        with transaction.atomic():
            laboratory = Laboratory.objects.create(slug=slug, name=name)
            laboratory.members.add(user)
            audit(laboratory, user, "begun")
    except IntegrityError:
        raise Refused(f"slug {slug}: it is taken; choose another one.") from None
    return laboratory


def audit(laboratory: Laboratory, user: Any, action: str, detail: str = "") -> None:
    """Write an entry of the laboratory's audit trail, in the transaction of the action."""
    LaboratoryAuditEntry.objects.create(laboratory=laboratory, actor=user, action=action, detail=detail)


def add_member(laboratory: Laboratory, username: str, *, user: Any = None) -> None:
    """Let this user see and add all of the laboratory's numbers. Raises Refused."""
    member = get_user_model().objects.filter(username=username, is_active=True).first()
    if member is None:
        raise Refused(f"{username}: there is no such user.")
    if laboratory.members.count() >= MOST_MEMBERS:
        raise Refused(f"It has {MOST_MEMBERS} members, as many as it may.")
    with transaction.atomic():
        laboratory.members.add(member)
        audit(laboratory, user, "member added", username)


def remove_member(laboratory: Laboratory, username: str, *, user: Any = None) -> None:
    """Take the laboratory away from this member. Raises Refused."""
    with transaction.atomic():
        members = Laboratory.objects.select_for_update().get(pk=laboratory.pk).members
        member = members.filter(username=username).first()
        if member is None:
            raise Refused(f"{username}: there is no such member.")
        if members.count() == 1:
            raise Refused(f"{username} is its last member: remove the laboratory.")
        members.remove(member)
        audit(laboratory, user, "member removed", username)


def remove_session(session: Sitting, *, user: Any = None) -> None:
    """Delete a session with its runs and changes; what was shared of it stays. Raises Refused."""
    with transaction.atomic():
        if not _removable(Sitting.objects.filter(pk=session.pk)).exists():
            raise Refused("A change that everybody may see rests on it.")
        audit(session.laboratory, user, "sitting removed", f"{session.pk}: {session}, by {session.started_by}")
        session.delete()


def remove_laboratory(laboratory: Laboratory, *, user: Any = None) -> None:
    """Delete a laboratory's sessions and members.

    Its row and audit trail stay, so that plans made from its runs stay closed to others, and so do sessions on which a
    public change rests.
    """
    with transaction.atomic():
        laboratory = Laboratory.objects.select_for_update().get(pk=laboratory.pk)
        members = ", ".join(laboratory.members.order_by("username").values_list("username", flat=True))
        removed, _ = _removable(laboratory.sittings.all()).delete()
        laboratory.members.clear()
        laboratory.shared_series.all().delete()
        audit(laboratory, user, "removed", f"members: {members}; rows that were measured: {removed}")


def _removable(sessions: QuerySet[Sitting]) -> QuerySet[Sitting]:
    """Exclude the sessions on which a public change rests."""
    public = SeriesChange.objects.public()
    for name in ("sitting", "shown_by", "confirmed_by", "earlier"):
        sessions = sessions.exclude(pk__in=public.exclude(**{name: None}).values(name))
    return sessions
