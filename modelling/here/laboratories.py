"""Laboratories of readers: who belongs to one, and how one comes about. Every door asks here."""

from typing import Any

from django.contrib.auth import get_user_model
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from modelling.models import Laboratory, Sitting

MOST = 20  # of one user
MOST_MEMBERS = 100
MOST_SITTINGS = 10_000


class Refused(Exception):  # noqa: N818
    """A request to a laboratory cannot be carried out; the text says why."""


def laboratories_of(user: Any) -> QuerySet[Laboratory]:
    """Return the laboratories that the user is a member of: to others they look like what is not there."""
    return Laboratory.objects.filter(members=user) if user.is_authenticated else Laboratory.objects.none()


def sittings_of(user: Any) -> QuerySet[Sitting]:
    """Return the sittings of the user's laboratories."""
    return Sitting.objects.filter(laboratory__in=laboratories_of(user)).select_related(
        "laboratory", "started_by", "case_study"
    )


def found(user: Any, slug: str, name: str) -> Laboratory:
    """Make a laboratory whose only member is this user. Raises Refused."""
    if laboratories_of(user).count() >= MOST:
        raise Refused(f"You belong to {MOST} laboratories, as many as one may.")
    try:
        with transaction.atomic():
            laboratory = Laboratory.objects.create(slug=slug, name=name)
            laboratory.members.add(user)
    except IntegrityError:
        raise Refused(f"slug {slug}: it is taken; choose another one.") from None
    return laboratory


def add_member(laboratory: Laboratory, username: str) -> None:
    """Let this user see and add all of the laboratory's numbers. Raises Refused."""
    user = get_user_model().objects.filter(username=username, is_active=True).first()
    if user is None:
        raise Refused(f"{username}: there is no such user.")
    if laboratory.members.count() >= MOST_MEMBERS:
        raise Refused(f"It has {MOST_MEMBERS} members, as many as it may.")
    laboratory.members.add(user)
