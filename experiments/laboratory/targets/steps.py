"""The words for what a run does: for the dry run that foretells it, and most of them for the run's log."""

from . import disks

CALIBRATE = "once a repetition, a short reference load on the pool"
CLEAN = "end whatever an earlier attempt left, and empty the area"
DROP_CACHES = "write dirty data back and drop the caches"
KEEP_OUTPUT = "keep its output and read it"
REMOVE = "stop and remove all that was made"


def host_image(host_fs: str, mib: int, options: disks.Options) -> str:
    packed = f" with {options.compression}" if options.compression != disks.USUAL["compression"] else ""
    apart = ", its journal in another pool" if options.pool_devices == "journal" else ""
    return f"make an image file of {mib} MiB in the pool, {host_fs}{packed} on it{apart}, and mount it"


def host_folder(host_fs: str) -> str:
    return f"make a folder on the pool's own {host_fs}"


def disk_images(mib: int, options: disks.Options) -> str:
    allocation = disks.CHOICES["allocation"][options.allocation]
    return f"make a disk image of {mib} MiB there for each, {options.image_format}, {allocation}"


def volumes(volume: str, mib: int) -> str:
    return f"make a disk of {mib} MiB for each: {disks.VOLUMES[volume]}, on a loop device on an image file in the pool"


def storage(name: str, mib: int) -> str:
    return f"have a disk of {mib} MiB made on the storage {name} for each"


def machines(count: int) -> str:
    return f"{count} virtual machine{'s' if count > 1 else ''}"


def start_machines(count: int) -> str:
    return f"define and start {machines(count)}, and wait for each"


def guest_file_system(guest_fs: str, of: str = "each") -> str:
    return f"make {guest_fs} on the disk of {of} and mount it"


def guest_folder(guest_fs: str, on: str) -> str:
    return f"on {on}: make a folder on its {guest_fs}"


def make_files(engine: str, workload: str) -> str:
    return f"make the files of {workload} with {engine}"


def benchmark(engine: str, workload: str, seconds: int, vm_count: int) -> str:
    return f"start {engine} with {workload} for {seconds} s" + (", on all machines together" if vm_count > 1 else "")
