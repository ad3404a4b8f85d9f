"""Store and delete the machines of users."""

from collections.abc import Mapping
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction

from modelling.models import KeptMachine

MOST = 20  # machines of one owner


class TooManyMachines(Exception):  # noqa: N818
    """The owner has as many machines as allowed; the text says so."""


def store_machine(owner: Any, name: str, facts: Mapping[str, Any]) -> KeptMachine:
    """Store a machine under this name, replacing the owner's one of that name. Raises TooManyMachines.

    facts : all fields of KeptMachine except owner and name
    """
    with transaction.atomic():
        get_user_model().objects.select_for_update().get(pk=owner.pk)  # so that two requests cannot both pass the count
        others = KeptMachine.objects.filter(owner=owner).exclude(name=name)
        if others.count() >= MOST:
            raise TooManyMachines(f"You keep {MOST} machines, which is as many as one may. Delete one first.")
        kept, _ = KeptMachine.objects.update_or_create(owner=owner, name=name, defaults=dict(facts))
    return kept


def delete_machine(owner: Any, pk: int) -> bool:
    """Delete a machine of this owner; return whether it existed."""
    return bool(KeptMachine.objects.filter(owner=owner, pk=pk).delete()[0])
