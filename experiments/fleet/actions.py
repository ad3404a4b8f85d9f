"""Actions of operators on observed hosts. Each is all or nothing, and writes to the host's audit trail."""

from typing import Any

from django.db import transaction

from experiments.campaigns import hosts
from experiments.campaigns.hosts import note
from experiments.models import Host, ObservedMachine, ObservedPool
from experiments.permissions import User

from . import watching
from .drivers import listing_driver

MIN_SECONDS, MAX_SECONDS = 5, 60  # s between two looks


def turn_on(host: Host, *, user: User, every: int = 10) -> None:
    """Turn observation on: a host's virtual machines are listed at once and their disks watched. Safe to call again.

    every : s between two looks, MIN_SECONDS to MAX_SECONDS
    Raises hosts.HostError where the host cannot be watched.
    """
    listing_driver(host)
    if not MIN_SECONDS <= every <= MAX_SECONDS:
        raise hosts.HostError(f"Between two looks there are {MIN_SECONDS} to {MAX_SECONDS} s, not {every}.")
    hosts.address(host)
    with transaction.atomic():
        locked = hosts.locked(host.pk)
        before = (locked.is_observed, locked.observed_every)
        Host.objects.filter(pk=host.pk).update(
            is_observed=True, observed_every=every, observation_error="", listed_at=None
        )
        if before != (True, every):
            note(host, user, "observation on", f"every {every} s")
        watching.enqueue_watch(host.laboratory)


def turn_off(host: Host, *, user: User) -> None:
    """Stop watching a host; its statistics stay until they expire."""
    with transaction.atomic():
        locked = hosts.locked(host.pk)
        Host.objects.filter(pk=host.pk).update(is_observed=False, observation_error="")
        if locked.is_observed:
            note(host, user, "observation off", "")


def list_now(host: Host) -> None:
    """Have the machines and pools of a host listed at its next look."""
    Host.objects.filter(pk=host.pk).update(listed_at=None)


def change_machine(machine: ObservedMachine, fields: dict[str, Any], *, user: User) -> None:
    """Set fields of a machine: guest_fs, is_pinned, apart or together.

    An empty guest_fs is detected again, by the guest agent or the superblock.
    """
    _change(machine, fields, user, "machine changed", machine.name)


def change_pool(pool: ObservedPool, fields: dict[str, Any], *, user: User) -> None:
    """Set fields of a pool: is_target, reserve_bytes or most_load."""
    _change(pool, fields, user, "pool changed", pool.path)


def _change(row: ObservedMachine | ObservedPool, fields: dict[str, Any], user: User, action: str, name: str) -> None:
    with transaction.atomic():
        hosts.locked(row.host_id)
        row.refresh_from_db()
        changed = {field: value for field, value in fields.items() if value != getattr(row, field)}
        if "guest_fs" in changed:
            source = ObservedMachine.GuestSource
            changed["guest_fs_source"] = source.OPERATOR if changed["guest_fs"] else source.NOT_KNOWN
        if changed:
            for field, value in changed.items():
                setattr(row, field, value)
            row.save(update_fields=list(changed))
            values = ", ".join(f"{field} {value!s}" for field, value in changed.items())
            note(row.host, user, action, f"{name}: {values}")
