"""Hosts: registered, their key accepted by a person, checked. A worker of their laboratory talks to them."""

import logging
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Model, Q

from experiments.laboratory.images import filebench_tree
from experiments.laboratory.targets import drivers
from experiments.laboratory.transport import proxmox_api, remote, ssh
from experiments.models import CampaignRun, Freeze, Host, HostAuditEntry, PrivateKey, StoragePool
from experiments.permissions import User as AnyUser
from experiments.runner.connection import RunnerConnection, address_of
from kdb import name_resolution
from kdb.accounts import tokens
from kdb.jobs import jobs
from kdb.models import ApiToken, Installation, Job

logger = logging.getLogger(__name__)

CONTACT_JOB, CHECK_JOB = "contact_host", "check_host"
FROZEN, THAWED = "all hosts are frozen", "all hosts are thawed"  # also actions of the audit trail


class HostError(Exception):
    """A host cannot be used as asked; the text is fit to show."""


def fingerprint(key: str) -> str:
    """Return the fingerprint of a host's key, of ssh or of a certificate. Raises ValueError where it is neither."""
    return proxmox_api.fingerprint(key) if proxmox_api.is_key(key) else ssh.fingerprint(key)


def register(host: Host, pools: Iterable[StoragePool], *, user: User | None, any_key: bool = False) -> Host:
    """Store a host and its pools, unsaved and checked, and ask for its key where it has an address.

    any_key : whether the private key may be another operator's (permissions.may_use_any_key)
    Raises HostError where it is and must not be, and where the name or the address is taken since a moment ago.
    """
    with transaction.atomic(), _told_of_twins():
        host.registered_by = user
        _take_key(host, any_key)
        host.save()
        for pool in pools:
            pool.host = host
            pool.save()
        note(host, user, "registered", f"{host.address or 'no address of its own'}; {', '.join(host.drivers)}")
        if host.address:
            _ask(host, CONTACT_JOB)
    logger.info("registered host=%s", host.slug)
    return host


def unregister(host: Host) -> None:
    """Forget a host that came to nothing; its private key is free again where no other host names it."""
    with transaction.atomic():
        host.delete()
        PrivateKey.objects.filter(name=host.key_name).exclude(
            name__in=Host.objects.exclude(address="").values("key_name")
        ).delete()


@contextmanager
def _told_of_twins() -> Iterator[None]:
    """Raise HostError where the database refuses a second host of one name or address."""
    try:
        with transaction.atomic():
            yield
    except IntegrityError as error:
        raise HostError("Another host has this short name, or this address and port, since a moment ago.") from error


def _take_key(host: Host, any_key: bool) -> None:
    """Use the private key for the host; a key without an operator becomes this operator's. Raises HostError."""
    if not host.address:
        return
    key, _ = PrivateKey.objects.get_or_create(name=host.key_name, defaults={"owner_id": host.registered_by_id})
    if key.owner_id != host.registered_by_id and not any_key:
        named = f"The key {key.name}" if key.name else "The worker's ssh agent"
        raise HostError(
            f"{named} is for another operator's hosts. Name a key that only yours use, or ask an administrator."
        )


def edit(
    host: Host, fields: Collection[str], pools: Iterable[StoragePool], *, user: User | None, any_key: bool = False
) -> None:
    """Save changed fields and the pools as they are now. A new address is a new machine: its key is asked for again.

    Raises HostError where a pool is given up that a campaign uses, and as `register`.
    """
    kept = list(pools)
    with transaction.atomic(), _told_of_twins():
        before = locked(host.pk)
        if (before.address, before.port, before.key_name) != (host.address, host.port, host.key_name):
            _take_key(host, any_key)
        Model.save(host, update_fields=list(fields))
        changed = sorted(name for name in fields if getattr(before, name) != getattr(host, name))
        note(host, user, "changed", ", ".join(changed) or "its pools")
        gone = before.pools.exclude(path__in=[pool.path for pool in kept])
        if used := gone.filter(pk__in=before.campaigns.values("pool")).first():
            raise HostError(f"{used} belongs to a campaign.")
        gone.delete()
        for pool in kept:
            values = {"kind": pool.kind, "storage": pool.storage, "host_fs": pool.host_fs}
            StoragePool.objects.update_or_create(host=host, path=pool.path, defaults=values)
        if (before.address, before.port, before.is_by_api) != (host.address, host.port, host.is_by_api):
            Host.objects.filter(pk=host.pk).update(host_key="", offered_key="", facts={}, checked_at=None)
            if host.address:
                _ask(host, CONTACT_JOB)


def request_contact(host: Host) -> None:
    """Have the host's key read again. Raises HostError where the host has no address."""
    if not host.address:
        way = "its runner" if host.is_by_runner else "its virtual machines"
        raise HostError(f"{host} has no address: it is reached through {way} only.")
    if host.archived_at:
        raise HostError(f"{host} is archived: bring it back first.")
    with transaction.atomic():
        _ask(host, CONTACT_JOB)


def request_check(host: Host, *, with_limits: bool = False) -> None:
    """Have its facts found out. Raises HostError where its key is not accepted."""
    address(host)
    with transaction.atomic():
        _ask(host, CHECK_JOB, with_limits=with_limits)


def _ask(host: Host, kind: str, **arguments: Any) -> None:
    host.job = jobs.enqueue(kind, queue=host.queue, host_id=host.pk, **arguments)
    Model.save(host, update_fields=["job"])


def wait_for_job(host: Host) -> str:
    """Do the host's latest contact or check here, unless a worker took it: then wait for its end.

    Returns why it failed, "" where it did not.
    """
    ended = (Job.State.DONE, Job.State.FAILED)
    while True:
        host.refresh_from_db()
        if host.job is None or host.job.state in ended:
            return host.job.error if host.job and host.job.state == Job.State.FAILED else ""
        if host.job.state == Job.State.RUNNING or not jobs.run(host.job.pk):
            jobs.reap()  # where the worker died and no other is there
            time.sleep(0.2)


def accept_key(host: Host, seen: str, *, user: User | None = None, any_key: bool = False) -> None:
    """Trust the key that the host offers, from now on and only that.

    Raises HostError where it is another one, and where it is that of another operator's host: a machine may have
    many names and addresses, and has one key (any_key: permissions.may_use_any_key).
    """
    with transaction.atomic():
        offered = Host.objects.get(pk=host.pk).offered_key
        alike = Q(pk=host.pk) | Q(offered_key=offered) | Q(host_key=offered)
        rows = {row.pk: row for row in Host.objects.select_for_update().filter(alike).order_by("pk")}
        host = rows.pop(host.pk)
        if not host.offered_key or fingerprint(host.offered_key) != seen:
            raise HostError("The host offers another key by now. Look at it again.")
        others = [row for row in rows.values() if row.registered_by_id != host.registered_by_id]
        if not any_key and (twin := next((row for row in others if row.host_key == host.offered_key), None)):
            raise HostError("This machine is another operator's: a host of theirs shows the same key.")
        if twin := twin_of(host, key=host.offered_key):
            raise HostError(registered_already(host, twin, "host key"))
        host.host_key, host.offered_key, host.blocked_reason = host.offered_key, "", ""
        host.save()
        note(host, user, "key accepted", seen)
        _ask(host, CHECK_JOB, with_limits=False)
    logger.info("accepted key host=%s fingerprint=%s", host.slug, seen)


def take_ownership(host: Host, *, user: User) -> None:
    """Make the user the owner of a host that has none. Raises HostError where it has one."""
    with transaction.atomic():
        host = locked(host.pk)
        if host.registered_by:
            raise HostError(f"{host} is {host.registered_by}'s.")
        Host.objects.filter(pk=host.pk).update(registered_by=user)
        note(host, user, "owner", f"{user} took it; it was nobody's")


def make_runner_token(host: Host, *, user: User) -> str:
    """Return the key of a new token for the host's runner; an earlier one counts no more. Raises HostError."""
    if not host.is_by_runner:
        raise HostError(f"{host} is reached by ssh: change its record first, and say that it has a runner.")
    with transaction.atomic():
        host = locked(host.pk)
        name = f"runner of {host.slug}"
        for earlier in ApiToken.objects.filter(Q(pk=host.runner_token_id) | Q(user=user, name=name)):
            tokens.revoke(earlier, actor=user)
        token, key = tokens.make(user, name, [ApiToken.Scope.RUNNER], actor=user)
        Host.objects.filter(pk=host.pk).update(runner_token=token)
        note(host, user, "runner", f"{user} made a token for its runner")
    return key


def note(host: Host | None, user: AnyUser, action: str, detail: str = "") -> None:
    """Write an entry of the audit trail, in the transaction of the deed. host : None: all hosts, or a token"""
    actor: Any = user  # signed in, or None
    HostAuditEntry.objects.create(host=host, actor=actor, action=action, detail=detail)


def why_frozen() -> str:
    """Return that all hosts are frozen, since when, by whom and why; "" where they are not."""
    freeze = Freeze.objects.select_related("by").first()
    return str(freeze) if freeze else ""


def freeze_all(reason: str, *, user: User | None) -> None:
    """Let no run and no move begin on any host. Raises HostError where they are frozen, or no reason is given."""
    if not reason.strip():
        raise HostError("Say why all hosts are frozen: those who wait read it.")
    try:
        with transaction.atomic():
            Freeze.objects.create(pk=1, reason=reason.strip(), by=user)
            note(None, user, FROZEN, reason.strip())
    except IntegrityError as error:
        raise HostError(f"They are frozen already: {why_frozen()}.") from error


def thaw_all(*, user: User | None) -> None:
    """Let runs and moves begin again, at the next tick. Raises HostError where the hosts are not frozen."""
    with transaction.atomic():
        freeze = Freeze.objects.select_for_update(of=("self",)).select_related("by").first()
        if freeze is None:
            raise HostError("The hosts are not frozen.")
        freeze.delete()
        note(None, user, THAWED, str(freeze))


def twin_of(host: Host, *, key: str = "", machine_id: str = "") -> Host | None:
    """Return another host with this key or machine id: the same machine by another name.

    Virtual machines of a host are copies of one another, and may share both. A host whose key is not accepted does not
    count: nothing is done there.
    """
    if host.runs_on_id or not (key or machine_id):
        return None
    alike = Q(host_key=key) if key else Q(facts__machine_id=machine_id)
    used = Host.objects.filter(alike, runs_on=None).exclude(host_key="", is_by_runner=False)
    return used.exclude(pk=host.pk).order_by("pk").first()


def registered_already(host: Host, twin: Host, by: str) -> str:
    """Say that a host's machine is registered; as what, is said to the owner of both alone."""
    is_theirs = host.registered_by_id == twin.registered_by_id
    archived = " It is archived: bring it back." if is_theirs and twin.archived_at else ""
    known = f"as {twin} ({twin.slug})" if is_theirs else "by another operator"
    return (
        f"This machine is registered already, {known}: it has the same {by}.{archived} "
        f"If it is a copy of that machine, give it a {by} of its own."
    )


def locked(host_id: int) -> Host:
    """Return the host as it is now, locked until the transaction ends.

    A host is locked before its campaigns: in one order no two transactions can wait for each other.
    """
    return Host.objects.select_for_update(of=("self",)).get(pk=host_id)


def block(host: Host, reason: str) -> None:
    Host.objects.filter(pk=host.pk).update(blocked_reason=reason)
    logger.error("blocked host=%s reason=%r", host.slug, reason)


def address(host: Host) -> ssh.Address:
    """Return the address that a worker reaches the host by. Raises HostError where it must not, or cannot."""
    if host.archived_at:
        raise HostError(f"{host} is archived: bring it back first.")
    if host.blocked_reason:
        raise HostError(f"{host} is blocked: {host.blocked_reason}")
    if host.is_by_runner:
        return address_of(host)
    if not host.address:
        raise HostError(f"{host} has no address.")
    if not host.host_key:
        raise HostError(f"The key of {host} is not accepted yet.")
    key_file = settings.KDB_KEYS_DIR / host.key_name if host.key_name else None
    return ssh.Address(host.address, host.port, host.login, host.host_key, key_file, host.uses_sudo, host.name)


def check_key_file(key_file: Path | None) -> None:
    """Raise HostError where this worker does not have the key, or others may read it."""
    if key_file is None:
        return
    if not key_file.is_file():
        raise HostError(f"This worker has no key {key_file.name!r} in its folder of keys.")
    if key_file.stat().st_mode & 0o077:
        raise HostError(f"The key {key_file.name!r} may be read by others than its owner: chmod 600.")


def connect(host: Host, *, persistent: bool = False) -> ssh.Connection:
    """Return a connection, to be entered. persistent : of ssh.Connection, where it is one. Raises HostError."""
    place = address(host)
    ours, _ = Installation.objects.get_or_create(pk=1)
    if host.is_by_runner:
        return RunnerConnection(host, owner=str(ours.identity))
    check_key_file(place.key_file)
    refuse_place(place.host)
    if host.is_by_api:
        return proxmox_api.ApiConnection(place, owner=str(ours.identity))
    return ssh.Connection(place, owner=str(ours.identity), persistent=persistent)


def refuse_place(name: str, *, seconds: float | None = None) -> None:
    """Raise HostError where a host's name or address leads to the worker's own link or to its cloud's metadata.

    A name that is not known leads nowhere, and may be known to the worker that goes there.
    """
    try:
        places = name_resolution.resolve(name, 22, seconds=seconds)
    except OSError:
        return
    if any(name_resolution.is_link_local_or_metadata(place[0]) for _, place in places):
        raise HostError(f"{name} is a link-local address, or where a cloud keeps its metadata: no host is used there.")


def install_filebench(host: Host, tree: filebench_tree.Tree, pool: str = "") -> tuple[str, bool]:
    """Put Filebench into a pool, the first unless named, and out of the others. Returns its folder, and False where it
    was there already.

    Raises HostError, filebench_tree.TreeError, remote.Refused, and what ssh raises.
    """
    pools = _pools_at_rest(host)
    if pool and pool not in pools:
        raise HostError(f"{pool} is no storage pool of {host}.")
    chosen = pool or pools[0]
    with connect(host) as machine:
        is_new = filebench_tree.install(machine, chosen, tree)
        for other in pools:
            if other != chosen:
                with suppress(remote.Refused):  # a pool that is not there has none that could be found
                    filebench_tree.remove(machine, other)
    logger.info("installed filebench=%s host=%s pool=%s", tree.version, host.slug, chosen)
    return f"{chosen}/{filebench_tree.FOLDER}", is_new


def remove_filebench(host: Host) -> list[str]:
    """Take out of every pool what install_filebench put there; returns the folders. Raises as `install_filebench`."""
    pools = _pools_at_rest(host)
    with connect(host) as machine:
        removed = [f"{pool}/{filebench_tree.FOLDER}" for pool in pools if filebench_tree.remove(machine, pool)]
    logger.info("removed filebench host=%s pools=%d", host.slug, len(removed))
    return removed


def _pools_at_rest(host: Host) -> list[str]:
    """Return its pools' paths. Raises HostError where it has none, or a run is under way that may use what is there."""
    hosts = Host.objects.filter(Q(pk=host.pk) | Q(pk=host.runs_on_id))
    if CampaignRun.objects.filter(host__in=hosts, state=CampaignRun.State.ACTIVE).exists():
        raise HostError(f"A run is under way on {host}: pause its campaign first.")
    paths = folders(host)
    if not paths:
        raise HostError(f"{host} has no storage pool.")
    return paths


def maker_of(host: Host) -> str:
    """Return the driver that makes virtual machines there; empty where none does."""
    return next((driver for driver in host.drivers if driver in drivers.HYPERVISORS), "")


def folders(host: Host) -> list[str]:
    """Return the paths of its pools that are folders."""
    pools = host.pools.exclude(kind=StoragePool.Kind.STORAGE).order_by("pk")
    return list(pools.values_list("path", flat=True))


def folder_beside(host: Host) -> str:
    """Return the folder for the notes of runs whose disks lie on a storage. Raises HostError where there is none."""
    paths = folders(host)
    if not paths:
        raise HostError(f"{host} needs a folder among its pools, too: the consoles of its machines are kept there.")
    return paths[0]


def storages(host: Host) -> list[str]:
    """Return the names of its pools that are storages of its hypervisor."""
    return list(host.pools.filter(kind=StoragePool.Kind.STORAGE).order_by("pk").values_list("path", flat=True))


def token(run: jobs.JobRun) -> int:
    """Return a number never smaller than that of an earlier attempt: the machine refuses what comes with an old one."""
    return run.job_id * 100 + run.attempt
