"""Turn a matrix into runs: which cells, in what order, and how long they take."""

import random
from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

from .benchmarks import engines
from .targets import disks
from .targets import steps as words

# Seconds, measured with Debian 12 guests: mkfs, mount, caches, collection; a guest's boot.
_AROUND_A_RUN = 5
_BOOT = {"kvm": 4, "qemu": 8, "xen": 8}  # Xen's was not measured
_SPARE_MIB = 256  # of a host file system, beside the guests' disks


class Cell(NamedTuple):
    """One kind of run. Native: no guest file system and no machines.

    host_fs : or a volume (disks.VOLUMES); disk : what is its own of the options (disks.combinations)
    """

    host_fs: str
    guest_fs: str
    workload: str
    vm_count: int
    disk: str = ""


def cells(
    host_file_systems: Sequence[str],
    guest_file_systems: Sequence[str],
    workloads: Sequence[str],
    vm_counts: Sequence[int],
    combinations: Sequence[str] = ("",),
) -> list[Cell]:
    """Return the cells of the matrix; native ones where there is no guest file system."""
    factors = (host_file_systems, guest_file_systems or [""], workloads, vm_counts or [0], combinations)
    return [Cell(*cell) for cell in product(*factors)]


def in_order(matrix: Sequence[Cell], repetitions: Sequence[int], seed: int) -> list[tuple[int, Cell]]:
    """Return repetitions with their cells, in the order to run: one repetition after another, shuffled inside.

    So whatever changes slowly on the machine meets all cells alike, and a campaign that ends early has
    compared all of them. The same seed gives the same order, also for repetitions that are added later.
    """
    ordered = []
    for repetition in repetitions:
        block = list(matrix)
        random.Random(f"{seed}:{repetition}").shuffle(block)  # noqa: S311 - an order, not a secret
        ordered += [(repetition, cell) for cell in block]
    return ordered


def run_seconds(cell: Cell, seconds: int, cool_down: int, accelerator: str, percent: int, memory_mib: int = 0) -> int:
    """Return about how long a run takes, s. percent, memory_mib : that make its files, as in engines.scaled"""
    set_up = engines.working_set_bytes(cell.workload, percent, memory_mib) // (100 * 2**20)
    return seconds + cool_down + _AROUND_A_RUN + set_up + cell.vm_count * _BOOT.get(accelerator, 0)


def host_disk_mib(driver: str, disk_mib: int, vm_counts: Sequence[int]) -> int:
    """Return the size of the file system that the host makes for a run, MiB: every guest's disk may fill up."""
    if driver == "proxmox":
        return max(vm_counts) * disk_mib
    if driver not in ("libvirt", "xen"):
        return disk_mib
    return int(max(vm_counts) * disk_mib * 1.05) + _SPARE_MIB


def steps(
    cell: Cell,
    driver: str,
    engine: str,
    seconds: int,
    disk_mib: int,
    host_mib: int,
    is_image: bool,
    options: disks.Options,
    place: str,
) -> list[str]:
    """Return what a run does, in words, for the dry run. place : the pool"""
    makes_guests = driver in ("libvirt", "proxmox", "xen")
    done = [words.CLEAN] if driver in ("attached", "proxmox") else [words.CLEAN, words.CALIBRATE]
    if driver == "proxmox":
        done.append(words.storage(place, disk_mib))
    elif driver == "attached":
        done.append(words.guest_folder(cell.guest_fs, f"each of {words.machines(cell.vm_count)}"))
    elif cell.host_fs in disks.VOLUMES:
        done.append(words.volumes(cell.host_fs, disk_mib))
    else:
        done.append(words.host_image(cell.host_fs, host_mib, options) if is_image else words.host_folder(cell.host_fs))
        done += [words.disk_images(disk_mib, options)] if makes_guests else []
    if makes_guests:
        done += [words.start_machines(cell.vm_count), words.guest_file_system(cell.guest_fs)]
    done += [
        words.make_files(engine, cell.workload),
        words.DROP_CACHES,
        words.benchmark(engine, cell.workload, seconds, cell.vm_count),
        words.KEEP_OUTPUT,
        words.REMOVE,
    ]
    return done
