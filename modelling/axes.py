"""What can be ranked, and what must be equal for two arms to be compared. No Django.

An axis names the fields that tell its entries apart, the fields two arms must share, and the fields
that may come along with an entry (ESXi brings VMFS): those do not forbid the comparison, but where
they differ the answer says that it is confounded with them. Source: docs/models/ranking.md.
"""

from dataclasses import dataclass

# What surrounds a pair and is equal wherever the question is about file systems.
ENVIRONMENT = (
    "virtualisation",
    "cache_mode",
    "image_format",
    "disk_bus",
    "guest_os",
    "vm_vcpus",
    "vm_ram_gib",
)
MACHINE = ("guest_os", "vm_vcpus", "vm_ram_gib")


@dataclass(frozen=True)
class Axis:
    """One way to ask: which of these is best?"""

    name: str
    label: str  # of one entry, as a heading
    entry: tuple[str, ...]  # columns of the frame of arms that make an entry
    held: tuple[str, ...]  # columns two compared arms agree in
    comes_along: tuple[str, ...] = ()  # columns that may differ, and confound where they do


AXES = {
    axis.name: axis
    for axis in (
        Axis("fs-pair", "Guest file system on host file system", ("guest_fs", "host_fs"), ("hypervisor", *ENVIRONMENT)),
        Axis("guest-fs", "Guest file system", ("guest_fs",), ("hypervisor", "host_fs", *ENVIRONMENT)),
        Axis("host-fs", "Host file system", ("host_fs",), ("hypervisor", "guest_fs", *ENVIRONMENT)),
        Axis(
            "hypervisor",
            "Hypervisor",
            ("hypervisor",),
            ("guest_fs", *MACHINE),
            comes_along=("host_fs", "virtualisation"),
        ),
        Axis("configuration", "Configuration", ("hypervisor", "guest_fs", "host_fs", "cache_mode"), MACHINE),
    )
}

COLUMN_LABELS = {
    "hypervisor": "hypervisor",
    "guest_fs": "guest file system",
    "host_fs": "host file system",
    "virtualisation": "kind of virtualisation",
    "cache_mode": "cache mode",
    "image_format": "image format",
    "disk_bus": "disk bus",
    "guest_os": "guest operating system",
    "vm_vcpus": "virtual processors",
    "vm_ram_gib": "memory of a virtual machine",
}


def entry_key(axis: Axis, values: tuple[str, ...]) -> str:
    """The address of an entry: "btrfs-on-ext4", "kvm", "kvm:btrfs-on-ext4:writeback"."""
    if axis.name == "fs-pair":
        return "{}-on-{}".format(*values)
    if axis.name == "configuration":
        hypervisor, guest_fs, host_fs, cache_mode = values
        key = f"{hypervisor}:{guest_fs}-on-{host_fs}"
        return f"{key}:{cache_mode}" if cache_mode else key
    return values[0]


def entry_parts(axis: Axis, key: str) -> dict[str, str]:
    """What an entry consists of, by column: the inverse of entry_key. Raises ValueError on another form."""
    pair = key
    parts: dict[str, str] = {}
    if axis.name == "configuration":
        hypervisor, pair, *mode = key.split(":")
        parts = {"hypervisor": hypervisor, "cache_mode": "".join(mode)}
    elif axis.name != "fs-pair":
        return {axis.entry[0]: key}
    guest_fs, host_fs = pair.split("-on-")
    return {**parts, "guest_fs": guest_fs, "host_fs": host_fs}
