"""The columns of a result table: what each means, and the headers people give it."""

import re
from dataclasses import dataclass

from kdb.disk_path import SETTINGS
from kdb.units import UNITS

PARAMETER = "parameter:"


@dataclass(frozen=True)
class Column:
    """One column. aliases : further headers that mean it, as `fold_header` gives them."""

    name: str
    explanation: str
    example: str = ""
    aliases: tuple[str, ...] = ()


def fold_header(header: str) -> str:
    """Return a header without case, spaces and separators, equal for all its spellings."""
    return re.sub(r"[\s_.\-]+", "", header.casefold())


_COLUMNS = (
    Column("configuration", "Name of a configuration of the case study; else it is found by the columns below.", ""),
    Column("hypervisor", "Hypervisor, or native for the bare machine.", "kvm", ("virtualizer", "vmm", "platform")),
    Column("hypervisor_release", "Its release.", "QEMU 8.1.2", ("hypervisorversion",)),
    Column(
        "virtualisation",
        "full, para, emulated, container, or none for native.",
        "full",
        ("virtualization", "virtualisationmode"),
    ),
    Column("virtual_devices", "Virtual disk drivers, with version.", "virtio", ("virtualdrivers",)),
    Column("host_os", "Operating system of the host.", "debian-12", ("hostsystem", "hostoperatingsystem")),
    Column("host_kernel", "Its kernel.", "6.1.0-18"),
    Column(
        "host_fs",
        "File system that holds the images, or under native the one measured.",
        "ext4",
        ("hfs", "hostfilesystem"),
    ),
    Column("host_mkfs_options", "What its mkfs was given beyond the device."),
    Column("host_mount_options", "Its mount options.", "noatime"),
    Column("host_io_scheduler", "I/O scheduler of the host's disks.", "none", ("hostscheduler",)),
    Column("backend", "What the images lie on: file, lvm, zvol, rbd, nfs ...", "file", ("hoststorage",)),
    Column("below", "What lies below it, in words: RAID, layout of the pool."),
    Column("storage_kind", "hdd, ssd, nvme or mixed; empty: as the storage of the case study."),
    Column("image_format", "Format of the disk image.", "raw", ("diskformat", "imagetype")),
    Column("allocation", "Of its space: sparse, metadata, falloc or full.", "full", ("preallocation",)),
    Column("cache_mode", "Cache mode of the virtual disk.", "none", ("diskcache", "cache")),
    Column("io_mode", "threads, native, io_uring, sync or async.", "native", ("aio", "aiomode")),
    Column("discard", "unmap or ignore."),
    Column("disk_bus", "Bus of the virtual disk.", "virtio", ("bus",)),
    Column("iothread", "Whether a thread of its own serves the disk: yes or no."),
    Column("guest_os", "Operating system of the guest.", "debian-12", ("guestsystem", "guestoperatingsystem")),
    Column("guest_kernel", "Its kernel.", "6.1.0-18"),
    Column("guest_fs", "File system inside the machine; empty under native.", "xfs", ("gfs", "guestfilesystem")),
    Column("guest_access", "Where no guest_fs is stated: file-system, raw-device for none, or not-stated."),
    Column("guest_mkfs_options", "What its mkfs was given beyond the device."),
    Column("guest_mount_options", "Its mount options.", "noatime"),
    Column("guest_io_scheduler", "I/O scheduler of the virtual disk in the guest.", "none", ("guestscheduler",)),
    Column("vm_vcpus", "Virtual processors of one machine.", "4", ("vcpus", "vcpu")),
    Column("vm_ram_gib", "Memory of one machine, GiB.", "8", ("vmram", "vmmemorygib", "ramgib")),
    Column("vm_disk", "Disk of one machine, in words.", ""),
    Column(
        "workload", "The load: an entry of the catalogue or one of its aliases.", "varmail", ("personality", "test")
    ),
    Column("benchmark", "The program that made it.", "filebench", ("tool",)),
    Column("benchmark_version", "Its version.", "1.4.9.1", ("toolversion", "version")),
    Column(
        "vm_count",
        "Machines that ran together; 0 or empty under native.",
        "1",
        ("vms", "numberofvms", "machines", "vmnumber"),
    ),
    Column(
        "machine",
        "Which of the machines that ran together the value is of, from 1; empty: not of one alone.",
        "",
        ("machinenumber", "vmindex"),
    ),
    Column(
        "operation",
        'What was measured of the load: read, write, random-read ...; empty is "mixed", the whole.',
        "mixed",
    ),
    Column(
        "block_size_bytes", "Block size, bytes; empty where there is none.", "", ("blocksize", "blocksizebytes", "bs")
    ),
    Column("metric", "What was measured, e.g. throughput or latency_p99; empty: by the unit.", "throughput"),
    Column(
        "value",
        "The number: a decimal point, nothing between the thousands, above zero.",
        "85.4",
        ("result", "mean", "average"),
    ),
    Column("unit", f"One of {', '.join(UNITS)}.", "MiB/s", ("units",)),
    Column("repetition", "Number of the run; empty: they are counted.", "", ("run", "runnumber", "iteration")),
    Column("repetitions", "Runs that the value is the mean of; empty: not stated.", "3", ("runs", "n", "samples")),
    Column(
        "standard_deviation", "Of those runs, in the unit of the value.", "1.9", ("stddev", "sd", "deviation", "stdev")
    ),
    Column("minimum", "Least of those runs, in the unit of the value.", "", ("min",)),
    Column("maximum", "Greatest of those runs, in the unit of the value.", "", ("max",)),
    Column("reference", "What a ratio is a ratio to; only for the unit ratio.", ""),
    Column("working_set_bytes", "Size of all files that the load works on, bytes.", "", ("workingset", "filesetsize")),
    Column("quality", "exact, ocr-ambiguous or digitised; empty is exact.", ""),
    Column("alternative_value", "The other reading of an ocr-ambiguous value.", ""),
    Column("excluded_because", "Why the value shall be shown but count nowhere; empty: it counts.", "", ("exclusion",)),
    Column("excluded_by", "Who excluded it: the source, or a person; with excluded_because.", ""),
    Column("source", "Where it stands in a paper.", "Table 3", ("table", "figure")),
    Column("note", "Anything a reader should know.", "", ("notes", "comment", "remark")),
)
# Settings without an entry above are described as in kdb.disk_path.
COLUMNS = (
    *_COLUMNS,
    *(
        Column(
            setting.column,
            setting.meaning + (f" {', '.join(v.name for v in setting.values)}." if setting.is_closed else ""),
            "16384" if setting.is_bytes else setting.values[0].name if setting.values else "",
            tuple({fold_header(setting.axis), fold_header(setting.label)} - {fold_header(setting.column)}),
        )
        for setting in SETTINGS.values()
        if setting.column not in {column.name for column in _COLUMNS}
    ),
)
FIELDS = {column.name: column for column in COLUMNS}
IGNORED = "ignore"  # declared of a column that shall not be imported
NUMERIC = frozenset(
    (
        *("vm_vcpus", "vm_ram_gib", "vm_count", "machine", "block_size_bytes", "value", "repetition", "repetitions"),
        *("standard_deviation", "alternative_value", "working_set_bytes", "minimum", "maximum"),
    )
)

# A header that names a metric is a column of values, and may have their unit in brackets.
METRIC_HEADERS = {
    "throughput": "throughput",
    "bandwidth": "throughput",
    "iops": "operation_rate",
    "operationrate": "operation_rate",
    "latency": "latency",
}
UNIT_SPELLINGS = {unit.casefold(): unit for unit in UNITS} | {"iops": "ops/s"}

MAX_HEADER = 200  # characters of one header cell

_UNIT_IN_HEADER = re.compile(r"[\[(]([^\])]{1,12})[\])]$")
_OF_ELBENCHO = ("first", "last")  # "IOPS [last]" of its CSV, which has a reader of its own
_MACHINES = re.compile(r"^(\d{1,5}) ?(?:vms?|guests?|virtual machines?)$")
_RUN = re.compile(r"^(?:run|repetition|rep|iteration) ?#?(\d{1,6})$")


ALIASES = {
    spelling: column.name
    for column in COLUMNS
    for spelling in (fold_header(column.name), *map(fold_header, column.aliases))
} | {"pair": "pair", "fspair": "pair", "filesystempair": "pair", "parameters": "parameters"}


def is_column_role(name: str) -> bool:
    """Tell whether this is something that a user may declare a column to be."""
    return name in (*FIELDS, "pair", IGNORED) or (name.startswith(PARAMETER) and len(name) > len(PARAMETER))


@dataclass(frozen=True)
class Header:
    """The meaning of one header cell.

    name : field the cells belong to; "value" for a wide column, whose cells are values of their own row
    unit, metric : given by the header, else ""
    vm_count, repetition : of a wide column, else ""
    """

    name: str
    unit: str = ""
    metric: str = ""
    vm_count: str = ""
    repetition: str = ""

    @property
    def is_wide(self) -> bool:
        return bool(self.vm_count or self.repetition)


class UnknownHeader(ValueError):  # noqa: N818 - becomes a fault
    """The header is of no column; the text says what is expected.

    is_value : it names a known metric, in an unknown unit
    """

    def __init__(self, expected: str, *, is_value: bool = False) -> None:
        super().__init__(expected)
        self.is_value = is_value


def parse_header(text: str) -> Header:
    """Parse a header cell. Raises UnknownHeader."""
    unit, bare = "", text.strip()
    if len(bare) > MAX_HEADER:
        raise UnknownHeader(f"at most {MAX_HEADER} characters, not {len(bare):,}")
    if match := _UNIT_IN_HEADER.search(bare):
        before, bracket = bare[: match.start()].rstrip(), match[1].strip()
        unit = UNIT_SPELLINGS.get(bracket.casefold(), "") if bracket.casefold() != "mb/s" or bracket == "MB/s" else ""
        if unit:
            bare = before
        elif "/" in bracket or (fold_header(before) in METRIC_HEADERS and bracket not in _OF_ELBENCHO):
            raise UnknownHeader(f"a unit among {', '.join(UNITS)}", is_value=fold_header(before) in METRIC_HEADERS)
    if bare.casefold().startswith(PARAMETER):
        return Header(PARAMETER + bare[len(PARAMETER) :].strip())
    if machines := _MACHINES.match(bare.casefold()):
        return Header("value", unit, vm_count=str(int(machines[1])))
    if bare.casefold() in ("native", "bare metal"):
        return Header("value", unit, vm_count="0")
    if run := _RUN.match(bare.casefold()):
        return Header("value", unit, repetition=str(int(run[1])))
    folded = fold_header(bare)
    if folded in METRIC_HEADERS:
        metric = METRIC_HEADERS[folded]
        return Header("value", unit or ("ops/s" if folded == "iops" else ""), metric)
    if folded in ALIASES:
        return Header(ALIASES[folded], unit)
    raise UnknownHeader(f"one of {', '.join(FIELDS)}, {PARAMETER}<name>, or like 2 VMs, Run 1")
