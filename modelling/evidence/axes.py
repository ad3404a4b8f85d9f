"""Define the axes: what can be ranked, and what must be equal for two arms to be compared. No Django.

An axis names the columns that make its entries, those in which compared arms must agree, and those that may change with
an entry (ESXi brings VMFS). The latter do not forbid the comparison, but where they differ the answer says that they
may be the cause. Defaults of two hypervisors count as equal only where both are stated. Source: docs/models/ranking.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from kdb.disk_path import SETTINGS, Setting
from kdb.pairs import pair_key, pair_parts

MACHINE = ("guest_os", "vm_vcpus", "vm_ram_gib")
# Surroundings of a file-system pair, held equal on the axes of file systems.
ENVIRONMENT = (
    "virtualisation",
    *(setting.column for setting in SETTINGS.values() if setting.is_environment),
    *MACHINE,
)
# Named in place of a hypervisor where the benchmark runs on the host itself. Native runs count only in questions that
# name it: a file system behaves differently under a load than under the images of machines.
NATIVE = "native"
# The hypervisor's family, else the hypervisor itself (modelling.evidence.names.runtimes). Where storage is compared,
# containers started by Docker and by Kubernetes are alike.
RUNTIME = "runtime"
_NATIVE_COLUMNS = (  # all others describe machines and their images
    *("hypervisor", RUNTIME, "host_fs", "storage", "host_io_scheduler"),
    *(setting.column for setting in SETTINGS.values() if setting.is_native),
)
# Columns that must be equal on every axis where both sides state them.
WHERE_STATED = (
    "storage",
    *(setting.column for setting in SETTINGS.values() if not setting.is_environment),
    *("guest_access", "host_io_scheduler", "guest_io_scheduler"),
)
# Settings with a default of each hypervisor: not stated under two of them, they may differ.
SET_BY_HYPERVISOR = tuple(setting.column for setting in SETTINGS.values() if setting.set_by_hypervisor)


@dataclass(frozen=True)
class Axis:
    """A kind of entries that can be ranked, with the rules of their comparison."""

    name: str
    label: str  # of one entry, as a heading
    entry: tuple[str, ...]  # columns of the frame of arms that make an entry
    held: tuple[str, ...]  # columns two compared arms agree in
    comes_along: tuple[str, ...] = ()  # columns that may differ, and confound where they do
    optional: tuple[str, ...] = ()  # columns of an entry that need not be stated
    setting: Setting | None = None  # whose values are compared

    @property
    def is_release(self) -> bool:
        """Return whether its entries are releases of software."""
        return self.name.endswith(("-release", "-kernel"))

    @property
    def required(self) -> tuple[str, ...]:
        """Return the columns that an arm must state to belong to an entry."""
        return tuple(column for column in self.entry if column not in self.optional)

    @property
    def set_by_entry(self) -> tuple[str, ...]:
        """Return the columns that confound two entries of different hypervisors unless both state the same value."""
        is_open = "hypervisor" in self.entry and "hypervisor" not in self.held
        return tuple(column for column in SET_BY_HYPERVISOR if is_open and column not in self.entry)

    @property
    def may_confound(self) -> tuple[str, ...]:
        """Return the columns that may differ along with an entry, without repetition."""
        return tuple(dict.fromkeys((*self.comes_along, *self.set_by_entry)))

    @property
    def held_where_stated(self) -> tuple[str, ...]:
        """Return the columns in which compared arms must agree where both state them."""
        parts = [setting.column for setting in SETTINGS.values() if set(setting.part_of) & set(self.entry)]
        free = {*self.entry, *self.comes_along, *parts}
        return tuple(column for column in WHERE_STATED if column not in free)

    def all_held(self, hypervisor: str | None) -> tuple[str, ...]:
        """Return the columns held equal, always or where stated; for native runs only those that they have."""
        held = (*self.held, *self.held_where_stated)
        return tuple(column for column in held if column in _NATIVE_COLUMNS) if hypervisor == NATIVE else held


def _coming_along(*entry: str) -> tuple[str, ...]:
    """Return the columns of settings that may differ along with an entry of these columns."""
    settings = [setting for setting in SETTINGS.values() if set(setting.comes_with) & set(entry)]
    return tuple(setting.column for setting in settings if setting.column not in entry)


def _axis_of(setting: Setting) -> Axis:
    """Return the axis of a setting's values, which holds all other settings equal."""
    entry = (setting.of, setting.column) if setting.of else (setting.column,)
    along = setting.may_come_along
    held = ("hypervisor", "guest_fs", "host_fs", "backend", *ENVIRONMENT)
    held = tuple(column for column in held if column not in (setting.column, *along))
    return Axis(setting.axis, setting.label, entry, held, along, setting=setting)


AXES = {
    axis.name: axis
    for axis in (
        Axis(
            "fs-pair",
            "Guest file system on host file system",
            ("guest_fs", "host_fs"),
            ("hypervisor", *ENVIRONMENT),
            _coming_along("guest_fs", "host_fs"),
        ),
        Axis("guest-fs", "Guest file system", ("guest_fs",), ("hypervisor", "host_fs", "backend", *ENVIRONMENT)),
        Axis(
            "host-fs",
            "Host file system",
            ("host_fs",),
            ("hypervisor", "guest_fs", *ENVIRONMENT),
            _coming_along("host_fs"),
        ),
        Axis(
            "host-storage",
            "Host storage",
            ("host_storage",),
            (RUNTIME, "guest_fs", *(column for column in ENVIRONMENT if column != "image_format")),
            _coming_along("host_storage"),
        ),
        Axis(
            "hypervisor",
            "Hypervisor",
            ("hypervisor",),
            ("guest_fs", *MACHINE),
            ("host_fs", "backend", "virtualisation", *_coming_along("hypervisor")),
        ),
        Axis(
            "configuration",
            "Configuration",
            ("hypervisor", "guest_fs", "host_fs", "cache_mode"),
            MACHINE,
            ("backend", "virtualisation", *_coming_along("hypervisor", "guest_fs", "host_fs", "cache_mode")),
            optional=("cache_mode",),
        ),
        *map(_axis_of, SETTINGS.values()),
    )
}

# Axes on which native runs are compared.
NATIVE_AXES = ("host-fs", "host-storage", *(setting.axis for setting in SETTINGS.values() if setting.is_native))


def axis_left_open(hypervisor: object, guest_fs: object, host_fs: object) -> str:
    """Return the axis to rank on, by what a question names.

    Nothing: hypervisor. A hypervisor: file-system pair; with one file system: the other; with both: configuration.
    Native: host file system. host_fs : the host file system, or other host storage
    Source: docs/models/ranking.md, section 2.
    """
    if not hypervisor:
        return "hypervisor"
    if hypervisor == NATIVE:
        return "host-fs"
    if guest_fs and host_fs:
        return "configuration"
    return "host-fs" if guest_fs else "guest-fs" if host_fs else "fs-pair"


COLUMN_LABELS = {
    **dict.fromkeys(("hypervisor", RUNTIME), "hypervisor"),
    "guest_fs": "guest file system",
    "host_fs": "host file system",
    "host_storage": "host storage",
    "backend": "backend of the images",
    "virtualisation": "kind of virtualisation",
    "storage": "kind of storage",
    **{setting.column: setting.in_sentence for setting in SETTINGS.values()},
    "guest_access": "what the load works on in the guest",
    "host_io_scheduler": "I/O scheduler of the host",
    "guest_io_scheduler": "I/O scheduler of the guest",
    "guest_os": "guest operating system",
    "vm_vcpus": "virtual processors",
    "vm_ram_gib": "memory of a virtual machine",
}


# Column of an entry to its kind of name (modelling.evidence.names).
KINDS = {
    "hypervisor": "hypervisor",
    "guest_fs": "file_system",
    "host_fs": "file_system",
    "host_storage": "host_storage",
    **{column: column for column in SETTINGS},
}


def entry_key(axis: Axis, values: tuple[str, ...]) -> str:
    """Return the key of an entry: "btrfs-on-ext4", "kvm", "kvm:btrfs-on-ext4:writeback"."""
    if axis.name == "fs-pair":
        return pair_key(*values)
    if axis.name == "configuration":
        hypervisor, guest_fs, host_fs, cache_mode = values
        key = f"{hypervisor}:{pair_key(guest_fs, host_fs)}"
        return f"{key}:{cache_mode}" if cache_mode else key
    return ":".join(values)  # "zvol:0.8.3"


def entry_parts(axis: Axis, key: str) -> dict[str, str]:
    """Return the parts of an entry, by column: the inverse of entry_key. Raises ValueError on another form.

    A cache mode may contain colons, as its source spells it; slugs cannot.
    """
    values: tuple[str, ...] = (key,)
    if axis.name == "fs-pair":
        values = pair_parts(key)
    elif axis.name == "configuration":
        hypervisor, _, rest = key.partition(":")
        pair, _, cache_mode = rest.partition(":")
        values = (hypervisor, *pair_parts(pair), cache_mode)
    elif len(axis.entry) == 2:
        owner, _, value = key.partition(":")
        values = (owner, value)
    if entry_key(axis, values) != key or not all(values[: len(axis.required)]):
        raise ValueError(f"{key!r} is not an entry of the axis {axis.name}")
    return dict(zip(axis.entry, values, strict=True))


def entry_label(axis: Axis, key: str, names: Mapping[str, Mapping[str, str]]) -> str:
    """Return an entry as a reader would write it: "Btrfs on ext4 under KVM (writeback cache)".

    names : kind of name to slug to name (modelling.evidence.names.names)
    """
    named = {
        column: names[KINDS[column]].get(word) or (SETTINGS[column].value_label(word) if column in SETTINGS else word)
        for column, word in entry_parts(axis, key).items()
    }
    if len(named) == 1:
        return named[axis.entry[0]]
    if axis.setting:
        return " ".join(named.values())
    pair = f"{named['guest_fs']} on {named['host_fs']}"
    under = f" under {named['hypervisor']}" if "hypervisor" in named else ""
    mode = named.get("cache_mode", "")
    return f"{pair}{under}{f' ({mode} cache)' if mode else ''}"
