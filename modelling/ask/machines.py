"""Machines that people keep under a name: written here, and nowhere else."""

from collections.abc import Mapping
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction

from modelling.models import KeptMachine

MOST = 20  # machines of one owner


class TooManyMachines(Exception):  # noqa: N818
    """The owner keeps as many as one may; the text says so."""


def keep(owner: Any, name: str, facts: Mapping[str, Any]) -> KeptMachine:
    """Keep a machine under this name; it replaces one that the owner has under it. Raises TooManyMachines.

    facts : fields of KeptMachine beside owner and name, all of them
    """
    with transaction.atomic():
        get_user_model().objects.select_for_update().get(pk=owner.pk)  # the count holds until it is written
        others = KeptMachine.objects.filter(owner=owner).exclude(name=name)
        if others.count() >= MOST:
            raise TooManyMachines(f"You keep {MOST} machines, which is as many as one may. Delete one first.")
        kept, _ = KeptMachine.objects.update_or_create(owner=owner, name=name, defaults=dict(facts))
    return kept


def forget(owner: Any, pk: int) -> bool:
    """Delete a machine of this owner; whether there was one."""
    return bool(KeptMachine.objects.filter(owner=owner, pk=pk).delete()[0])
