"""The steps that a plain host still needs before campaigns run on it, which can be read, done and undone."""

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
    "apt-get": "apt-get update; apt-get install --no-install-recommends",
    "dnf": "dnf install",
    "zypper": "zypper install",
    "pacman": "pacman --sync --needed",
}
_REMOVES = {"apt-get": "apt-get remove", "dnf": "dnf remove", "zypper": "zypper remove", "pacman": "pacman --remove"}


@dataclass(frozen=True)
class HostState:
    """The findings of a look at the host."""

    manager: str
    is_root: bool
    lacking: tuple[str, ...]  # packages
    units: dict[str, str]  # name to "enabled active"
    has_settings: bool  # in libvirt's qemu.conf, which an earlier version of KDB wrote
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


def look(machine: Connection, *, with_guests: bool) -> HostState:
    """Look at the host; it changes nothing. Raises Refused where its package manager is not known, and as ssh."""
    manager = dict(_call(machine, "look"))["manager"]
    answer = _call(machine, "look", *packages(manager, with_guests=with_guests))
    known = dict(answer)
    units = dict(value.split(" ", 1) for key, value in answer if key == "unit")
    return HostState(
        manager=manager,
        is_root=known["uid"] == "0",
        lacking=tuple(value for key, value in answer if key == "lacks"),
        units=units,
        has_settings="has_settings" in known,
        done=tuple(value for key, value in answer if key == "done"),
    )


def steps(seen: HostState, *, with_guests: bool) -> Iterator[Step]:
    """Yield what is still to be done, in order. Look again after installing, which may do more by itself."""
    if seen.lacking:
        listed = shlex.join(seen.lacking)
        yield Step(
            "programs that runs use",
            f"{_INSTALLS[seen.manager]} {listed}",
            f"{_REMOVES[seen.manager]} {listed}{'; apt-get autoremove' if seen.manager == 'apt-get' else ''}",
            "install",
            seen.lacking,
        )
    unit = next((name for name in ("virtqemud", "libvirtd") if name in seen.units), "libvirtd")
    is_running = any(state.endswith(" active") for state in seen.units.values())
    if with_guests and not is_running and (seen.units or seen.lacking):
        command, undo = f"systemctl enable --now {unit}", f"systemctl disable --now {unit}"
        words = command if seen.units else f"{command}, where installing it did not"
        yield Step("guests are started by libvirt", words, undo, "enable", (unit,))
    if seen.has_settings:
        yield Step(
            "an earlier version of KDB wrote it; by it all virtual machines of the host run as root, and no campaign "
            "needs that any more",
            "take what lies between # kdb begin and # kdb end out of /etc/libvirt/qemu.conf; "
            "systemctl restart libvirtd or virtqemud, where it runs",
            "writing these lines there again",
            "remove-settings",
            (),
        )


def simulated(machine: Connection, lacking: Sequence[str]) -> str:
    """Return what the package manager says that it would do; it does nothing."""
    return remote.call(machine, "simulate", *lacking, script=SCRIPT, timeout=120)


def apply(machine: Connection, step: Step) -> None:
    """Do the step. Raises remote.Refused with what the host's own program says."""
    _call(machine, step.verb, *step.arguments, timeout=INSTALL_SECONDS)


def undo(machine: Connection) -> list[str]:
    """Take back what setups changed, the last first; returns it in words."""
    return [value for key, value in _call(machine, "undo", timeout=INSTALL_SECONDS) if key == "undone"]


def orphans(machine: Connection) -> list[str]:
    """Return the packages that `apt-get autoremove` would remove there; other package managers are not asked."""
    return [value for key, value in _call(machine, "orphans") if key == "orphan"]


def _call(machine: Connection, verb: str, *arguments: str, timeout: float = 60) -> remote.MachineFacts:
    return remote.facts(remote.call(machine, verb, *arguments, script=SCRIPT, timeout=timeout))
