"""A plan against its host: what keeps it from running there, and the time and room that it takes."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, TypedDict

from experiments.laboratory import plan
from experiments.laboratory.benchmarks import engines
from experiments.laboratory.targets import disks, drivers, proxmox, xen
from experiments.laboratory.transport.facts import HostFacts, ImageFacts, PoolFacts
from experiments.models import Campaign, CampaignRun, Host, HostStorage, StoragePool

from . import abilities, host_checks, hosts
from .abilities import MAKES

MAX_RUNS = 10_000
Say = Callable[[str, str], None]  # of a field, a sentence
_INTO_IMAGE = {"filebench": "manage.py build_filebench, and build_guest_image with --filebench"}
SPARE_RAM_MIB = 512  # of a host, beside its guests
_PROGRAMS = {"libvirt": ("losetup", "virsh"), "xen": ("losetup", "qemu-img")}  # that drivers cannot do without


class Steps(TypedDict):
    run: str
    steps: list[str]


@dataclass(frozen=True)
class Estimate:
    """An estimate of what a plan takes; nothing is stored or done."""

    runs: int
    seconds: int
    pool_mib: Annotated[int, "Needed in the pool at a time."]
    free_mib: Annotated[int | None, "Free there at the last check; null: not known."]
    files_mib: Annotated[dict[str, int], "Workload to the files that it works on, on each machine."]
    left_out: Annotated[list[str], "Of the matrix: which disks on what cannot be run, and why."]
    steps: list[Steps] = field(repr=False)  # of each kind of run


def problems_of(campaign: Campaign) -> dict[str, list[str]]:
    """Return everything that keeps the host from running this plan, by field: what was found, and what is allowed.

    Asks the database only.
    """
    problems: dict[str, list[str]] = {}

    def say(name: str, sentence: str) -> None:
        if sentence not in problems.setdefault(name, []):
            problems[name].append(sentence)

    host, facts = campaign.host, campaign.host.facts
    if host.runs_on_id:
        say(
            "host", f"{host} is a virtual machine of {host.runs_on}: plan the campaign there, with the attached driver."
        )
    if host.blocked_reason:
        say("host", f"{host} is blocked: {host.blocked_reason}")
    if host.archived_at:
        say("host", f"{host} is archived: bring it back first.")
    if host.is_by_runner and campaign.driver != Host.Driver.NATIVE:
        say("driver", f"{host} has a runner, and virtual machines of campaigns are logged in to by ssh: native only.")
    if host.is_by_api:
        say("host", f"{host} is reached by Proxmox VE's API, for observation alone; a campaign logs in by ssh.")
    if campaign.driver not in host.drivers:
        say("driver", f"{host} is registered for {', '.join(host.drivers) or 'no driver'}.")
    for name in ("host_file_systems", "workloads"):
        if not getattr(campaign, name):
            say(name, "At least one is needed.")
    for name in ("host_file_systems", "guest_file_systems", "workloads", "vm_counts"):
        listed = getattr(campaign, name)
        if twice := sorted({str(item) for item in listed if listed.count(item) > 1}):
            say(name, f"Found more than once: {', '.join(twice)}. Each is allowed once.")
    for name, chosen in campaign.disk.items():
        if unknown := sorted({value for value in chosen if value not in disks.CHOICES[name]}):
            say(name, f"Found {', '.join(unknown)}; allowed are {', '.join(disks.CHOICES[name])}.")
        elif len(set(chosen)) < len(chosen):
            say(name, "Each value is allowed once.")
        elif name in disks.OF_FILE_SYSTEM:
            if chosen != [disks.USUAL[name]] and campaign.driver != Host.Driver.NATIVE:
                say(name, f"Only native campaigns make file systems with it: {disks.USUAL[name]} is allowed.")
        elif len(chosen) > 1 and campaign.driver not in drivers.HYPERVISORS:
            say(name, "Only machines that the campaign makes have disks to vary: one value.")
    if unknown := [name for name in campaign.workloads if name not in engines.WORKLOADS]:
        say("workloads", f"{', '.join(unknown)}: the workloads are {', '.join(engines.WORKLOADS)}.")
    is_native = campaign.driver == Host.Driver.NATIVE
    if is_native and (campaign.guest_file_systems or campaign.vm_counts):
        say("guest_file_systems", "A native campaign has no guests.")
    if not is_native and not campaign.guest_file_systems:
        say("guest_file_systems", "At least one is needed.")
    if not is_native and not campaign.vm_counts:
        say("vm_counts", "At least one is needed.")
    if campaign.run_count > MAX_RUNS:
        say("repetitions", f"Found {campaign.run_count:,} runs in all, more than a campaign holds ({MAX_RUNS:,}).")
        return problems
    if host.runs_on_id or host.is_by_api or campaign.driver not in host.drivers:
        return problems
    if campaign.driver == Host.Driver.ATTACHED:
        _check_attached(campaign, say)
    elif not facts:
        say("host", f"{host} was not checked yet.")
    else:
        _check_host(campaign, facts, say)
    _check_sizes(campaign, say)
    is_as_shipped = (campaign.engine, campaign.scale_percent, host.is_by_runner) == ("filebench", 100, False)
    if campaign.personality == Campaign.Personality.SHIPPED and not is_as_shipped:
        say("personality", "What Filebench ships runs with Filebench, at 100 %, and by no runner.")
    return problems


def _check_host(campaign: Campaign, facts: HostFacts, say: Say) -> None:
    host, lacking = campaign.host, abilities.missing_programs(campaign.host.facts)
    about = _check_pool(campaign, facts, say)
    if campaign.driver == Host.Driver.NATIVE:
        _check_engine(campaign, str(host), str(facts.get(campaign.engine, "")), say)
        _check_limit(campaign, host, say)
        if about:
            _check_disks(campaign, say)
        return
    for name in _PROGRAMS.get(campaign.driver, ()):
        if name in lacking:
            say("driver", f"{host} has no {name}: {host_checks.PROGRAM_SOURCES[name]}.")
    _check_machines(campaign, facts, say)
    image = facts.get("guest_image")
    if not image or not facts.get("accelerator"):
        say(
            "host",
            f"No guest of {host} was seen to start: build a guest image, name it in the host's record, check the host.",
        )
        return
    _check_image(campaign, image, say)
    if about:
        _check_driver(campaign, say)
        _check_disks(campaign, say)
        _check_pinning(campaign, facts, say)


def _check_pool(campaign: Campaign, facts: HostFacts, say: Say) -> PoolFacts:
    """Check the pool and what shall lie on it. Return what the last check found there; nothing if it is unusable."""
    pool, host = campaign.pool, campaign.host
    if pool is None or pool.host_id != host.pk:
        say("pool", f"A storage pool of {host} is needed.")
        return {}
    about: PoolFacts = facts["pools"].get(pool.path, {"is_missing": True})
    if about.get("is_missing"):
        say("pool", f"{about.get('why') or f'{pool.path} was not there'}, at the last check.")
        return {}
    if (pool.kind == StoragePool.Kind.STORAGE) != (campaign.driver == Host.Driver.PROXMOX):
        say("pool", "Machines of Proxmox VE lie on a storage of it, and everything else lies in a folder.")
        return {}
    if pool.kind == StoragePool.Kind.IMAGE and facts.get("root", "0") != "0":
        say(
            "host",
            f"{host.login} is not root on {host}, and only root makes file systems and guests: log in as root, or say "
            "in the host's record that the login may sudo without a password, and check the host.",
        )
    lacking = abilities.missing_programs(host.facts)
    if pool.kind == StoragePool.Kind.IMAGE and "loop devices" in lacking:
        say("pool", f"{host} has no loop devices: {host_checks.PROGRAM_SOURCES['loop devices']}.")
    for name in campaign.host_file_systems:
        if pool.kind != StoragePool.Kind.IMAGE:
            if name != about["file_system"]:
                say("host_file_systems", f"Found {name}; {pool.path} is {about['file_system']}; it is used as it is.")
        elif name in abilities.BACKENDS:
            _check_volume(campaign, name, facts, say)
        elif name not in MAKES or f"mkfs.{name}" in lacking:
            where = host_checks.PROGRAM_SOURCES.get(f"mkfs.{name}", "KDB cannot either")
            able = ", ".join(fs for fs in MAKES if f"mkfs.{fs}" not in lacking) or "none"
            say("host_file_systems", f"{host} cannot make {name}: {where}. Allowed are {able}.")
    needed = plan.host_disk_mib(campaign.driver, campaign.disk_mib, campaign.vm_counts or [1])
    if about["free_mib"] < needed + 64:
        say(
            "disk_mib",
            f"{needed + 64:,} MiB are needed in {pool.path}, {about['free_mib']:,} MiB were free at the last check.",
        )
    return about


def _check_machines(campaign: Campaign, facts: HostFacts, say: Say) -> None:
    """Check the machines' processors and memory against the host's. Processors may be promised to several machines."""
    host, cores = campaign.host, facts.get("cores", 0)
    if cores and campaign.vm_vcpus > cores:
        say("vm_vcpus", f"Found {campaign.vm_vcpus}; {host} has {cores} CPUs, so 1 to {cores} are allowed.")
    most, there = max(campaign.vm_counts, default=1), facts["ram_mib"] - SPARE_RAM_MIB
    if most * campaign.vm_ram_mib > there:
        say(
            "vm_ram_mib",
            f"Found {campaign.vm_ram_mib:,} MiB for each of {most} guests; {host} has {facts['ram_mib']:,} MiB in all, "
            f"of which {max(there, 0) // most:,} MiB each are allowed.",
        )


def _check_image(campaign: Campaign, image: ImageFacts, say: Say) -> None:
    """Say what runs ask for and a guest lacks."""
    version = image["filebench"] if campaign.engine == "filebench" else image["packages"]["fio"]
    _check_engine(campaign, f"the guest image of {campaign.host}", version, say, _INTO_IMAGE)
    if unmade := [name for name in campaign.guest_file_systems if name not in MAKES]:
        say("guest_file_systems", f"{', '.join(unmade)}: the guest image makes {', '.join(MAKES)}.")


def _check_volume(campaign: Campaign, name: str, facts: HostFacts, say: Say) -> None:
    """Say why the host cannot make this volume on image files."""
    if campaign.driver == Host.Driver.NATIVE:
        say("host_file_systems", f"A native campaign runs on file systems, not on {name}.")
        return
    if name not in disks.VOLUMES:
        label = HostStorage.label(name)
        say("host_file_systems", f"KDB makes no {label} by itself: {', '.join(disks.VOLUMES)} it does.")
        return
    if name == "lvm" and "lvm" in abilities.missing_programs(facts):
        say("host_file_systems", f"{campaign.host} has no lvm: {host_checks.PROGRAM_SOURCES['lvm']}.")
    if name == "lvm" and "device_mapper" not in facts:
        say("host_file_systems", f"The kernel of {campaign.host} has no device-mapper, which LVM needs.")


def _check_driver(campaign: Campaign, say: Say) -> None:
    """Say what Proxmox VE or Xen cannot do of a plan, whatever its disks are."""
    facts = campaign.host.facts
    if campaign.driver == Host.Driver.XEN and "hvm" not in facts.get("xen_caps", ""):
        say("driver", f"{campaign.host} is no Xen, seen by xl, whose processors can virtualise fully.")
    if campaign.driver != Host.Driver.PROXMOX:
        return
    if "pve" not in facts:
        say("driver", f"{campaign.host} is no host of Proxmox VE: it has no pveversion.")
    try:
        hosts.folder_beside(campaign.host)
    except hosts.HostError as error:
        say("pool", str(error))
    if len(campaign.disk["allocation"]) > 1:
        say("allocation", f"{campaign.pool} allocates as Proxmox VE has it set up there: leave one value.")
    if max(campaign.vm_counts, default=1) > proxmox.MOST_GUESTS:
        say("vm_counts", f"At most {proxmox.MOST_GUESTS} machines together have numbers of their own.")
    if campaign.pinned_cpus:
        say("pinned_cpus", "Proxmox VE pins a machine to several CPUs and no vCPU to one: leave it empty.")


def _check_disks(campaign: Campaign, say: Say) -> None:
    """For each storage and value that no combination can run with, say why, by the combination with fewest problems."""
    problems_of_disk = {
        (host_fs, combination): list(_disk_problems(campaign, host_fs, combination))
        for host_fs in campaign.host_file_systems
        for combination in disks.combinations(campaign.disk)
    }
    in_it: dict[str, list[list[tuple[str, str]]]] = {}
    for (host_fs, combination), problems in problems_of_disk.items():
        for word in (host_fs, *combination.split()):
            in_it.setdefault(word, []).append(problems)
    for problem_lists in in_it.values():
        for name, sentence in min(problem_lists, key=len):
            say(name, sentence)


def _disk_problems(campaign: Campaign, host_fs: str, combination: str) -> Iterator[tuple[str, str]]:
    """Yield why what is made cannot be this on that storage of the host: the option and a sentence."""
    host, driver, facts = campaign.host, campaign.driver, campaign.host.facts
    options = CampaignRun(campaign=campaign, disk=combination).options
    if driver == Host.Driver.NATIVE:
        yield from _file_system_problems(campaign, host_fs, options)
        return
    on_volume = host_fs in abilities.BACKENDS
    if driver == Host.Driver.PROXMOX:
        allocations = facts.get("pools", {}).get(str(campaign.pool), {}).get("allocation", {})
        if options.image_format not in allocations:
            yield "image_format", f"A disk on {campaign.pool} is {' or '.join(allocations)}."
        if options.volume_block_bytes != disks.USUAL["volume_block_bytes"]:
            yield "volume_block_bytes", "Proxmox VE makes images as it is set up there, and no clusters of other sizes."
        options = disks.Options(**{**options.values, "allocation": allocations.get(options.image_format, "")})
    elif on_volume:
        yield from disks.problems_on_volumes(options)
    if driver == Host.Driver.XEN:
        yield from xen.problems(options)
        yield from xen.problems_on_volumes(options) if on_volume else ()
    elif options.disk_bus == "xen":
        yield "disk_bus", "Only Xen's machines have disks on its bus."
    yield from disks.problems(options)
    if options.disk_bus not in facts.get("guest_image", {}).get("disk_buses", ("virtio", "scsi", "ide")):
        yield "disk_bus", f"The kernel in the guest image of {host} has no driver for {options.disk_bus} disks."
    lacks_qemu_img = "qemu-img" in abilities.missing_programs(facts)
    if driver != Host.Driver.PROXMOX and options.image_format == "qcow2" and lacks_qemu_img:
        yield "image_format", f"{host} has no qemu-img: {host_checks.PROGRAM_SOURCES['qemu-img']}."
    match = re.search(r"QEMU (\d{1,4}(?:\.\d{1,4}){0,3})", facts.get("running", ""))
    version = tuple(int(part) for part in match[1].split(".")) if match else ()
    if sentence := disks.problem_with_qemu(options, version):
        yield "io_mode", sentence


def _file_system_problems(campaign: Campaign, host_fs: str, options: disks.Options) -> Iterator[tuple[str, str]]:
    """Yield why a file system of a native run cannot be made so: the option and a sentence."""
    pool, host = campaign.pool, campaign.host
    is_image = pool is not None and pool.kind == StoragePool.Kind.IMAGE
    if compares_compression(campaign):
        if campaign.engine != Campaign.Engine.FIO:
            yield "compression", "Only fio writes data of which it is known how well they can be compressed."
        elif passes_memory_by(campaign, host.facts):
            yield (
                "compression",
                f"{host} cannot limit the memory of a benchmark, so fio writes past the cache, and nothing of that is "
                "compressed.",
            )
    if options.compression != disks.USUAL["compression"] and (host_fs != "btrfs" or not is_image):
        yield "compression", f"KDB compresses on Btrfs that it makes itself, not on {host_fs} of {pool}."
    if options.pool_devices == "journal":
        if host_fs not in ("ext4", "xfs") or not is_image:
            yield "pool_devices", f"KDB puts the journals of ext4 and XFS apart that it makes itself, not {host_fs}'s."
        elif host.is_by_runner:
            yield "pool_devices", f"{host} has a runner, which works in one pool at a time."
        elif journal_pool(campaign) is None:
            yield (
                "pool_devices",
                f"A journal apart needs a second pool of {host} for image files, on another disk than {pool}; "
                "the last check saw none.",
            )


def compares_compression(campaign: Campaign) -> bool:
    return campaign.disk["compression"] != [disks.USUAL["compression"]]


def passes_memory_by(campaign: Campaign, facts: HostFacts) -> bool:
    """Tell whether fio writes and reads past the cache, as the memory of a machine cannot be limited."""
    is_fio = campaign.engine == Campaign.Engine.FIO
    return campaign.follows_protocol and is_fio and not memory_mib(campaign, facts)


def journal_pool(campaign: Campaign) -> StoragePool | None:
    """Return the first pool for image files on another disk than the campaign's, as the last check saw the disks."""
    pools = campaign.host.facts.get("pools", {})
    disk = _disk_below(pools.get(str(campaign.pool), {}))
    for pool in campaign.host.pools.filter(kind=StoragePool.Kind.IMAGE).order_by("pk"):
        if disk and _disk_below(pools.get(pool.path, {})) not in ("", disk):
            return pool
    return None


def _disk_below(about: PoolFacts) -> str:
    """Return the name of a pool's disk, without the number of a partition; empty where the check did not see it."""
    name = about.get("disk", "").partition(" ")[0]
    return re.sub(r"^((?:s|h|v|xv)d[a-z]{1,4})[0-9]{1,3}$|^((?:nvme|mmcblk)[0-9n]{1,8})p[0-9]{1,3}$", r"\1\2", name)


def _check_pinning(campaign: Campaign, facts: HostFacts, say: Say) -> None:
    if not campaign.pinned_cpus:
        return
    needed, cores = max(campaign.vm_counts, default=1) * campaign.vm_vcpus, facts.get("cores", 0)
    if len(campaign.pinned_cpus) < needed:
        say("pinned_cpus", f"{needed} vCPUs run at once, so as many CPUs are needed, not {len(campaign.pinned_cpus)}.")
    if beyond := [str(cpu) for cpu in campaign.pinned_cpus if cpu >= cores]:
        say("pinned_cpus", f"{campaign.host} has the CPUs 0 to {cores - 1}, and no {', '.join(beyond)}.")


def _check_attached(campaign: Campaign, say: Say) -> None:
    most = max(campaign.vm_counts, default=1)
    for host_fs in campaign.host_file_systems:
        for guest_fs in campaign.guest_file_systems:
            ready = machines_for(campaign, host_fs, guest_fs)
            if len(ready) < most:
                say(
                    "vm_counts",
                    f"{most} virtual machines with a pool for {guest_fs} on {host_fs} are needed, "
                    f"{len(ready)} checked ones are registered.",
                )
            for pool in ready:
                _check_engine(campaign, str(pool.host), pool.host.facts.get(campaign.engine, ""), say)
                _check_limit(campaign, pool.host, say)


def _lacks(where: str, program: str, ways: Mapping[str, str]) -> str:
    return f"{where[:1].upper()}{where[1:]} has no {program}: {ways[program]}."


def _check_engine(
    campaign: Campaign,
    where: str,
    version: str,
    say: Say,
    ways: Mapping[str, str] = host_checks.PROGRAM_SOURCES,
) -> None:
    """Say why the engine cannot run there. ways : where to get the missing programs"""
    if not version:
        say("engine", _lacks(where, campaign.engine, ways))
    elif campaign.engine == "filebench":
        try:
            words = engines.dialect(version)
        except engines.UnknownVersion as error:
            say("engine", str(error))
            return
        if (words, campaign.personality) == ("1.5", "shipped") and "randomfileaccess" in campaign.workloads:
            say("workloads", "Filebench 1.5 ships it in words that only 1.4 understands.")


def _check_limit(campaign: Campaign, machine: Host, say: Say) -> None:
    """Say why a machine's memory would answer Filebench in place of the disk; fio can pass the memory by."""
    if campaign.follows_protocol and campaign.engine == "filebench" and "limits_memory" not in machine.facts:
        say(
            "follows_protocol",
            f"{machine} cannot limit the memory of Filebench, so its files would be read from memory. That takes root "
            "and control groups that may be written; a container is given them when it is started. Check the host "
            "again, use fio, or leave this out: then what exceeds the reference load is flagged.",
        )


def memory_mib(campaign: Campaign, facts: HostFacts | None = None) -> int:
    """Return the memory that may cache the files of a machine's load, MiB; 0: they are as large as the plan says.

    facts : of a machine that the campaign does not make; None: the host's, or those of some that can limit it
    """
    if facts is None and campaign.driver == Host.Driver.NATIVE:
        facts = campaign.host.facts
    is_known = campaign.driver in drivers.HYPERVISORS or facts is None or "limits_memory" in facts
    return campaign.vm_ram_mib if campaign.follows_protocol and is_known else 0


def _check_sizes(campaign: Campaign, say: Say) -> None:
    if campaign.follows_protocol and campaign.personality == Campaign.Personality.SHIPPED:
        say("follows_protocol", "Filebench's own texts have a size of their own: leave this out, or use KDB's texts.")
    memory = memory_mib(campaign)
    for name in {*campaign.host_file_systems, *campaign.guest_file_systems} & MAKES.keys():
        if campaign.disk_mib < MAKES[name]:
            say("disk_mib", f"{name} needs {MAKES[name]} MiB.")
    for workload in [name for name in campaign.workloads if name in engines.WORKLOADS]:
        needed = engines.working_set_bytes(workload, campaign.scale_percent, memory) * 2 // 2**20 + 128
        if campaign.disk_mib < needed:
            say("disk_mib", f"{workload} at {campaign.scale_percent} % needs {needed:,} MiB to write in.")
        threads = engines.scaled(engines.SHAPES[workload], campaign.scale_percent).threads
        # Every thread of Filebench touches its 10 MiB, a job of fio 0.6; names of files take a tenth of the rest.
        mib, beside = (10, 256) if campaign.engine == "filebench" else (1, 64)
        is_bounded = memory > 0 or (campaign.driver in drivers.HYPERVISORS and campaign.engine == "filebench")
        if is_bounded and threads * mib + beside > campaign.vm_ram_mib:
            need = f"runs {threads} threads of {mib} MiB each, beside {beside} MiB"
            say("vm_ram_mib", f"{workload} at {campaign.scale_percent} % {need}.")


def machines_for(campaign: Campaign, host_fs: str, guest_fs: str) -> list[StoragePool]:
    """Return a pool for this pair of each attached virtual machine that can be used, in the order of their names."""
    by_host: dict[int, StoragePool] = {}
    pools = StoragePool.objects.filter(host__runs_on=campaign.host, host_fs__slug=host_fs, host__blocked_reason="")
    for pool in pools.exclude(host__host_key="").select_related("host", "host_fs").order_by("host__slug", "path"):
        about = pool.host.facts.get("pools", {}).get(pool.path, {"is_missing": True})
        is_made = pool.kind == StoragePool.Kind.IMAGE and guest_fs in MAKES
        if not about.get("is_missing") and (is_made or about["file_system"] == guest_fs):
            by_host.setdefault(pool.host_id, pool)
    return list(by_host.values())


def estimate(campaign: Campaign) -> Estimate:
    """Return time, space and the steps of each kind of run."""
    matrix = cells_of(campaign)
    accelerator = campaign.host.facts.get("accelerator", "") if campaign.driver in drivers.HYPERVISORS else ""
    host_mib = plan.host_disk_mib(campaign.driver, campaign.disk_mib, campaign.vm_counts or [1])
    load = (campaign.scale_percent, memory_mib(campaign))
    timing = (campaign.run_seconds, campaign.cool_down_seconds, accelerator, *load)
    seconds = [plan.run_seconds(cell, *timing) for cell in matrix]
    warm_ups = int(campaign.follows_protocol)
    is_image = campaign.pool is not None and campaign.pool.kind == StoragePool.Kind.IMAGE
    pool = str(campaign.pool)
    sizes = (campaign.run_seconds, campaign.disk_mib, host_mib, is_image)
    described = (campaign.driver, campaign.get_engine_display(), *sizes)
    return Estimate(
        runs=len(matrix) * campaign.repetitions + warm_ups,
        seconds=sum(seconds) * campaign.repetitions + warm_ups * max(seconds, default=0),
        pool_mib=host_mib,
        free_mib=campaign.host.facts.get("pools", {}).get(pool, {}).get("free_mib"),
        files_mib={name: -(-engines.working_set_bytes(name, *load) // 2**20) for name in campaign.workloads},
        left_out=_left_out(campaign, matrix),
        steps=[
            Steps(run=run.cell, steps=plan.steps(cell, *described, run.options, pool))
            for cell in matrix
            for run in [CampaignRun(campaign=campaign, **cell._asdict())]
        ],
    )


def cells_of(campaign: Campaign) -> list[plan.Cell]:
    """Return the cells of the matrix that are run: those that a stored campaign has, else all that are possible."""
    combinations = disks.combinations(campaign.disk)
    guest_file_systems, vm_counts = campaign.guest_file_systems, campaign.vm_counts
    whole = plan.cells(campaign.host_file_systems, guest_file_systems, campaign.workloads, vm_counts, combinations)
    if len(combinations) == 1:
        return whole
    there = set(campaign.runs.values_list("host_fs", "disk").distinct()) if campaign.pk else set()
    if not there:
        there = {
            (host_fs, combination)
            for host_fs in campaign.host_file_systems
            for combination in combinations
            if not any(_disk_problems(campaign, host_fs, combination))
        }
    return [cell for cell in whole if (cell.host_fs, cell.disk) in there]


def _left_out(campaign: Campaign, matrix: list[plan.Cell]) -> list[str]:
    """Return a sentence for each combination of host storage and disk that is in no cell: what, and why."""
    there = {(cell.host_fs, cell.disk) for cell in matrix}
    return [
        f"{host_fs}, {disks.describe(combination)}: {' '.join(sentence for _, sentence in problems) or 'not planned.'}"
        for host_fs in campaign.host_file_systems
        for combination in disks.combinations(campaign.disk)
        if (host_fs, combination) not in there
        for problems in [[*_disk_problems(campaign, host_fs, combination)]]
    ]


def is_untried(driver: str) -> bool:
    """Tell whether no campaign by this driver was filed yet, and no real host was at hand where it was written."""
    return driver in drivers.UNTRIED and not Campaign.objects.filter(driver=driver, case_study__isnull=False).exists()
