"""Request moves without a plan: one disk to a pool, or all disks off a pool."""

from collections import Counter
from collections.abc import Iterable

from django.contrib.auth.models import User
from django.db import transaction

from experiments.campaigns import hosts
from experiments.fleet import actions
from experiments.fleet.selectors import machines_named
from experiments.models import Host, ObservedDisk, ObservedPool
from experiments.templatetags.kdb_format import data_size
from modelling.evidence import counts
from modelling.models import PlacementMove

from . import moves
from .observed_fleet import name_of
from .plans import PlacementError

Room = dict[ObservedPool, int]


def targets(host: Host) -> Room:
    """Return the host's target pools with their room in bytes, largest first. Two queries.

    Room is the free space less the reserve and the rest of moves that wait or are under way, at least 0.
    """
    coming: Counter[int] = Counter()
    for pool, size, done in PlacementMove.objects.filter(host=host, state__in=moves.OPEN).values_list(
        "to_pool", "size_bytes", "done_bytes"
    ):
        coming[pool] += size - done
    pools = ObservedPool.objects.filter(host=host, is_target=True).order_by("path")
    if not takes_volumes(host):
        pools = pools.exclude(host_fs="")
    room = {pool: max(pool.free_bytes - pool.reserve_bytes - coming[pool.pk], 0) for pool in pools}
    return dict(sorted(room.items(), key=lambda pool_room: -pool_room[1]))


def takes_volumes(host: Host) -> bool:
    """Tell whether disks of a host may move to pools without a file system."""
    return host.manager == Host.Driver.PROXMOX


@transaction.atomic
def move_disk(disk: ObservedDisk, pool: ObservedPool, *, user: User | None) -> PlacementMove:
    """Request a move of a disk to a pool. The host may still refuse it when the move checks it.

    Raises PlacementError where it is known to be impossible.
    """
    (move,), _ = _request_each(hosts.locked(disk.machine.host_id), [disk], pool, user)
    return move


@transaction.atomic
def empty_pool(
    pool: ObservedPool, to: ObservedPool | None = None, *, user: User | None
) -> tuple[list[PlacementMove], list[str]]:
    """Request moves of all disks off a pool, the largest first, and stop using it as a target.

    to : None moves each to the target with the most room left
    Returns the moves, and a sentence for each disk that stays. Raises PlacementError where nothing would move.
    """
    host = hosts.locked(pool.host_id)
    actions.change_pool(pool, {"is_target": False}, user=user)
    disks = ObservedDisk.objects.filter(pool=pool).select_related("machine__host", "pool")
    if not disks:
        raise PlacementError(f"No disk lies on {pool}.")
    return _request_each(host, disks.order_by("-size_bytes", "pk"), to or pool, user, anywhere=to is None)


def _request_each(
    host: Host, disks: Iterable[ObservedDisk], to: ObservedPool, user: User | None, *, anywhere: bool = False
) -> tuple[list[PlacementMove], list[str]]:
    """Request a move of each disk that can move. Raises PlacementError where none can.

    anywhere : move each to the target with the most room left, if there is one
    """
    made: list[PlacementMove] = []
    stay: list[str] = []
    room, revision = targets(host), counts.revision()
    for disk in disks:
        pool = max(room, key=lambda target: room[target], default=to) if anywhere else to
        try:
            if why := _reason_against(disk, pool, room):
                raise PlacementError(f"{name(disk)}: {why}.")
            made.append(moves.request_move(disk, pool, user=user, revision=revision))
            room[pool] -= disk.size_bytes
        except PlacementError as error:
            stay.append(str(error))
    if not made:
        raise PlacementError(" ".join(stay))
    moves.start_next(host.pk)
    return made, stay


def _reason_against(disk: ObservedDisk, pool: ObservedPool, room: Room) -> str:
    """State what is known against a move before its host is asked; "" where nothing is."""
    machine, left = disk.machine, room.get(pool)
    reasons = (
        (pool.host_id != machine.host_id, f"{pool} is a pool of another host"),
        (disk.pool is None, "it lies on no pool that is observed"),
        (pool.pk == disk.pool_id and not room, f"{machine.host} has no other pool that is a target"),
        (pool.pk == disk.pool_id, f"it lies on {pool} already"),
        (
            not pool.host_fs and not takes_volumes(machine.host),
            f"{pool} has no file system, and only images in files are moved",
        ),
        (left is None, f"{pool} is no target: say first that machines may be moved there"),
        (machine.is_pinned, "its machine is pinned: let it go first"),
        (not machine.is_running, "its machine does not run, and only running machines are moved"),
        (disk.has_backing_chain, "its image has a backing image or a snapshot"),
        (
            (left or 0) < disk.size_bytes,
            f"it takes {data_size(disk.size_bytes)}, and {pool} has {data_size(left)} left",
        ),
    )
    return next((text for is_so, text in reasons if is_so), "")


# Names of the fleet


def name(disk: ObservedDisk) -> str:
    """Name a disk in full: "kvm-1/mail-1:vda"."""
    return f"{name_of(disk.machine.host, disk.machine.name)}:{disk.target}"


def find_disk(text: str) -> ObservedDisk:
    """Find a disk by its name, by its machine's name if that has one disk, or by the UUID. Raises PlacementError."""
    host, _, inside = text.partition("/")
    known = ObservedDisk.objects.filter(machine__host__slug=host).select_related("machine__host", "pool")
    known = known.order_by("machine__name", "target")

    def disks_of(machine: str) -> list[ObservedDisk]:
        return list(known.filter(machine=machines_named(machine).filter(host__slug=host).first()))

    machine, _, target = inside.rpartition(":")
    disks = disks_of(inside)
    matching = [disk for disk in disks_of(machine) if disk.target == target] or disks
    if len(matching) == 1:
        return matching[0]
    known_names = ", ".join(dict.fromkeys(map(name, disks or known[:20]))) or "none"
    raise PlacementError(f"{text!r} is no disk that is observed; on {host!r} there are: {known_names}.")


def find_pool(text: str) -> ObservedPool:
    """Find a pool by its host and its path or its name on the hypervisor. Raises PlacementError."""
    host, _, inside = text.partition("/")
    pools = ObservedPool.objects.filter(host__slug=host).select_related("host")
    matching = [pool for pool in pools if inside in (pool.path.lstrip("/"), pool.name)]
    if inside and matching:
        return matching[0]
    known_names = ", ".join(name_of(pool.host, pool.path) for pool in pools) or "none"
    raise PlacementError(f"{text!r} is no pool that is observed; on {host!r} there are: {known_names}.")
