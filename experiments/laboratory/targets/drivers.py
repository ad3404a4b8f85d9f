"""The three ways to a file system under test: on the host itself, in guests made for the run, in guests that exist.

Each makes everything a run needs in areas of attempt `token` and returns the machines that the benchmark
runs on. What they make is taken away by `clean` of the same areas, whatever happened in between.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from experiments.laboratory.transport import remote
from experiments.laboratory.transport.remote import Area
from experiments.laboratory.transport.ssh import Connection, Unreachable

from . import disks, hypervisors, libvirt, proxmox, steps, xen
from .hypervisors import Hypervisor

CONTACT_SECONDS = 60
CLEAR_SECONDS = 180
FOLDER = "fs"  # of the file system under test, in the area
JOURNAL_MIB = 64  # as large as ext4 and XFS make theirs on 2 to 16 GiB
Say = Callable[[str], None]
HYPERVISORS: dict[str, Hypervisor] = {"libvirt": libvirt, "proxmox": proxmox, "xen": xen}  # by driver of a campaign
UNTRIED = ("proxmox",)  # on no real host by those who wrote them


@dataclass(frozen=True)
class RunSpec:
    """One run as a driver is asked to set it up. Sizes in MiB; guest fields are empty for a native run.

    host_fs : or the volume in place of one; storage : the hypervisor's name of it, where it makes the disks there
    maker : the driver, which may make virtual machines for it; journal_pool : where a journal apart lies
    """

    token: int
    host_fs: str
    guest_fs: str
    pool: str
    makes_image: bool
    host_disk_mib: int
    disk_mib: int
    vm_count: int = 0
    ram_mib: int = 0
    vcpus: int = 0
    options: disks.Options = field(default_factory=disks.Options)
    pinned_cpus: tuple[int, ...] = ()
    image_folder: str = ""
    image_host_key: str = ""
    accelerator: str = ""
    storage: str = ""
    maker: str = ""
    journal_pool: str = ""


@dataclass(frozen=True)
class Machine:
    """A machine that the benchmark runs on: number counts from 1, 0 is the host itself."""

    number: int
    area: Area
    facts: dict[str, str]  # kernel, mount options, mkfs
    domain: str = ""

    @property
    def folder(self) -> str:
        return f"{self.area.pool}/.kdb/{FOLDER}"

    @property
    def name(self) -> str:
        return machine_name(self.number)


def machine_name(number: int) -> str:
    return f"machine-{number}" if number else "host"


def host_file_system(area: Area, spec: RunSpec, say: Say) -> dict[str, str]:
    """Prepare the host's file system for this run, fresh where the pool makes images; return what is known of it."""
    area.call("begin", *makers([spec.maker]), timeout=120)
    if spec.makes_image:
        say(steps.host_image(spec.host_fs, spec.host_disk_mib, spec.options))
        return area.call("make-fs", FOLDER, spec.host_disk_mib, spec.host_fs, *_made_with(area, spec), timeout=600)
    say(steps.host_folder(spec.host_fs))
    return area.call("make-folder", FOLDER, spec.host_fs, spec.host_disk_mib)


def _made_with(area: Area, spec: RunSpec) -> list[str]:
    """Return what make-fs is told beside the kind: the compression, and the device of a journal that is made here."""
    if spec.options.pool_devices != "journal":
        return [spec.options.compression]
    beside = Area(area.machine, spec.journal_pool, spec.token)
    beside.call("begin", timeout=120)
    return [spec.options.compression, beside.call("make-volume", "journal", JOURNAL_MIB, "raw")["path"]]


def makers(names: Iterable[str]) -> list[str]:
    """Return the drivers that make virtual machines, which can tell left-over machines."""
    return [name for name in names if name in HYPERVISORS]


def find_leftovers(
    machine: Connection, pools: Iterable[str], drivers: Iterable[str], *, clear: bool = False
) -> list[str]:
    """Describe what runs left in these pools and no area knows any more, one text each; `clear` removes it first."""
    asked, verb = makers(drivers), "clear" if clear else "left"
    return [
        f"{line} in {pool}"
        for pool in pools
        for line in remote.call(machine, verb, pool, *asked, timeout=CLEAR_SECONDS).splitlines()
    ]


def native(host: Connection, spec: RunSpec, say: Say) -> list[Machine]:
    area = Area(host, spec.pool, spec.token)
    facts = host_file_system(area, spec, say)
    return [Machine(0, area, {**facts, "kernel": _kernel(host)})]


def domain_name(token: int, number: int) -> str:
    return f"kdb-{token}-{number}"


def guests(
    stack: ExitStack, hypervisor: Hypervisor, host: Connection, spec: RunSpec, say: Say, keep: Callable[[], None]
) -> list[Machine]:
    """Make, start and prepare `vm_count` guests; their connections close with the stack.

    Raises hypervisors.GuestGone, GuestNotUp.
    """
    area = Area(host, spec.pool, spec.token)
    if spec.storage:
        area.call("begin", *makers([spec.maker]), timeout=120)
        host_facts = {"mount_options": ""}
        say(steps.storage(spec.storage, spec.disk_mib))
    elif spec.host_fs in disks.VOLUMES:
        area.call("begin", *makers([spec.maker]), timeout=120)
        host_facts = {"mount_options": ""}
        say(steps.volumes(spec.host_fs, spec.disk_mib))
    else:
        host_facts = host_file_system(area, spec, say)
        say(steps.disk_images(spec.disk_mib, spec.options))
    made = []
    for number in range(1, spec.vm_count + 1):
        disk = hypervisor.make_disk(area, spec.storage or FOLDER, spec.host_fs, number, spec.disk_mib, spec.options)
        guest = hypervisors.Guest(
            name=domain_name(spec.token, number),
            number=number,
            image_folder=spec.image_folder,
            disk=disk,
            console=f"{spec.pool}/.kdb/console{number}",
            ram_mib=spec.ram_mib,
            vcpus=spec.vcpus,
            accelerator=spec.accelerator,
            options=spec.options,
            pinned_cpus=disks.pinned(spec.pinned_cpus, number, spec.vcpus),
        )
        hypervisor.start(area, guest)
        made.append(guest)
    machines = []
    say(steps.start_machines(spec.vm_count))
    for guest in made:
        number, name = guest.number, guest.name
        hypervisors.wait_ready(hypervisor, area, guest, keep=keep)
        inside = stack.enter_context(log_in(hypervisor, host, name, spec.image_host_key, keep))
        guest_area = Area(inside, hypervisors.GUEST_POOL, spec.token)
        guest_area.call("begin")
        say(steps.guest_file_system(spec.guest_fs, f"virtual machine {number}"))
        discard = ["discard"] if spec.options.discard == "unmap" else []
        facts = guest_area.call("format-disk", FOLDER, hypervisors.SERIAL, spec.guest_fs, *discard, timeout=300)
        facts |= {"kernel": _kernel(inside), "host_mount_options": host_facts["mount_options"]}
        machines.append(Machine(number, guest_area, facts, name))
    return machines


@contextmanager
def log_in(
    hypervisor: Hypervisor, host: Connection, name: str, host_key: str, keep: Callable[[], object]
) -> Iterator[Connection]:
    """Give the way to a guest that has come up. Raises what its hypervisor raises, and ssh."""
    with hypervisors.connection(host, name, hypervisor.way_in(host, name), host_key) as inside:
        _first_contact(inside, keep)
        yield inside


def _first_contact(guest: Connection, keep: Callable[[], object]) -> None:
    """Wait for a guest to answer: its sshd listens, but a busy guest may drop the first connections."""
    deadline = time.monotonic() + CONTACT_SECONDS
    while True:
        try:
            guest.run(["true"])
            return
        except Unreachable:
            keep()
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)


def attached(machines: Sequence[tuple[Connection, str, bool]], spec: RunSpec, say: Say) -> list[Machine]:
    """Prepare virtual machines that exist, each with its pool and whether that makes images."""
    prepared = []
    for number, (connection, pool, makes_image) in enumerate(machines, start=1):
        area = Area(connection, pool, spec.token)
        area.call("begin", timeout=120)
        if makes_image:
            say(steps.guest_file_system(spec.guest_fs, f"virtual machine {number}"))
            facts = area.call("make-fs", FOLDER, spec.disk_mib, spec.guest_fs, timeout=600)
        else:
            say(steps.guest_folder(spec.guest_fs, f"virtual machine {number}"))
            facts = area.call("make-folder", FOLDER, spec.guest_fs)
        prepared.append(Machine(number, area, {**facts, "kernel": _kernel(connection)}))
    return prepared


def _kernel(machine: Connection) -> str:
    return machine.run(["uname", "-r"]).text.strip()


def drop_caches(machines: Sequence[Machine], host: Connection | None) -> bool:
    """Drop caches, inside first, as guests write back into the host's. Return False where a login may not drop them."""
    reached = [machine.area.machine for machine in machines if machine.number] + [host]
    answers = [remote.call(machine, "drop-caches", timeout=300) for machine in reached if machine is not None]
    return not any(answers)
