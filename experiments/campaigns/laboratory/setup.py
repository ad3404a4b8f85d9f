"""What a plain host still needs before campaigns run on it, as steps that can be read, done and undone."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from . import remote
from .ssh import Connection

SCRIPT = Path(__file__).with_name("setup.sh").read_text()
INSTALL_SECONDS = 1800

# Program to its package, by package manager. Tried: apt-get. The others stand as their distributions name them.
_COMMON = {"apt-get": "mount util-linux coreutils e2fsprogs xfsprogs btrfs-progs fio"}
_COMMON["dnf"] = "util-linux coreutils e2fsprogs xfsprogs fio"
_COMMON["zypper"] = "util-linux coreutils e2fsprogs xfsprogs btrfsprogs fio"
_COMMON["pacman"] = "util-linux coreutils e2fsprogs xfsprogs btrfs-progs fio"
_LIBVIRT = {
    "apt-get": "libvirt-clients libvirt-daemon-system qemu-system-x86 qemu-utils",
    "dnf": "libvirt-client libvirt-daemon-kvm qemu-kvm qemu-img",
    "zypper": "libvirt-client libvirt-daemon-qemu qemu-x86 qemu-tools",
    "pacman": "libvirt qemu-base",
}
_INSTALLS = {
    "apt-get": "apt-get install --no-install-recommends",
    "dnf": "dnf install",
    "zypper": "zypper install",
    "pacman": "pacman --sync --needed",
}
_REMOVES = {"apt-get": "apt-get remove", "dnf": "dnf remove", "zypper": "zypper remove", "pacman": "pacman --remove"}

# Of /etc/libvirt/qemu.conf, with why. A run's folder may be read by its owner alone, who is root.
SETTINGS = {
    "user": ('"root"', "guests read their disks in a folder that only root may enter"),
    "group": ('"root"', "the same"),
    "namespaces": ("[]", "a guest's own mount namespace would keep a file system busy that a run has unmounted"),
    "dynamic_ownership": ("0", "libvirt would change the owner of the guest image and not give it back"),
    "remember_owner": ("0", "it would write attributes on every disk"),
}


@dataclass(frozen=True)
class Found:
    """What a look at the host says."""

    manager: str
    is_root: bool
    lacking: tuple[str, ...]  # packages
    units: dict[str, str]  # name to "enabled active"
    settings: dict[str, str] | None  # of qemu.conf, without ours; None: there is none, or it may not be read
    has_ours: bool
    done: tuple[str, ...]  # what earlier setups changed


@dataclass(frozen=True)
class Step:
    """One change. words : what a person would type; undo : what takes it back; verb, arguments : of setup.sh"""

    why: str
    words: str
    undo: str
    verb: str
    arguments: tuple[str, ...]


def packages(manager: str, *, with_guests: bool) -> list[str]:
    return f"{_COMMON[manager]} {_LIBVIRT[manager] if with_guests else ''}".split()


def look(machine: Connection, *, with_guests: bool) -> Found:
    """Changes nothing. Raises remote.Refused where the host has no package manager that is known, and as ssh."""
    manager = dict(_call(machine, "look"))["manager"]
    said = _call(machine, "look", *packages(manager, with_guests=with_guests))
    known = dict(said)
    units = dict(value.split(" ", 1) for key, value in said if key == "unit")
    return Found(
        manager=manager,
        is_root=known["user"] == "0",
        lacking=tuple(value for key, value in said if key == "lacks"),
        units=units,
        settings={name: known[name] for name in SETTINGS} if "qemu_conf" in known else None,
        has_ours="ours" in known,
        done=tuple(value for key, value in said if key == "done"),
    )


def steps(found: Found, *, with_guests: bool) -> Iterator[Step]:
    """What is still to be done, in order. The service is there only once its package is: look again after that."""
    if found.lacking:
        listed = shlex.join(found.lacking)
        yield Step(
            "programs that runs use",
            f"{_INSTALLS[found.manager]} {listed}",
            f"{_REMOVES[found.manager]} {listed}",
            "install",
            found.lacking,
        )
    if not with_guests:
        return
    unit = next((name for name in ("virtqemud", "libvirtd") if name in found.units), "libvirtd")
    running = [name for name, state in found.units.items() if state.endswith(" active")]
    if found.units and not running:
        undo = f"systemctl disable --now {unit}"
        yield Step("guests are started by libvirt", f"systemctl enable --now {unit}", undo, "enable", (unit,))
    if found.settings is not None and not found.has_ours:
        wrong = [name for name, (value, _) in SETTINGS.items() if found.settings[name] != value]
        if wrong:
            lines = tuple(f"{name} = {SETTINGS[name][0]}" for name in wrong)
            yield Step(
                "; ".join(dict.fromkeys(f"{name}: {SETTINGS[name][1]}" for name in wrong)),
                f"add to /etc/libvirt/qemu.conf: {'; '.join(lines)}, and restart libvirt where it runs",
                "take these lines out again",
                "set-qemu",
                lines,
            )


def simulated(machine: Connection, lacking: Sequence[str]) -> str:
    """What the package manager says that it would do; it does nothing."""
    return remote.call(machine, "simulate", *lacking, script=SCRIPT, timeout=120)


def apply(machine: Connection, step: Step) -> None:
    """Raises remote.Refused with what the host's own program says."""
    _call(machine, step.verb, *step.arguments, timeout=INSTALL_SECONDS)


def undo(machine: Connection) -> list[str]:
    """Take back what setups changed, the last first; returns it in words."""
    return [value for key, value in _call(machine, "undo", timeout=INSTALL_SECONDS) if key == "undone"]


def _call(machine: Connection, verb: str, *arguments: str, timeout: float = 60) -> remote.MachineFacts:
    return remote.facts(remote.call(machine, verb, *arguments, script=SCRIPT, timeout=timeout))
