"""Builds the image that the libvirt driver boots its guests from, of Debian packages only.

    vmlinuz          the kernel, booted directly
    initrd           finds the root disk
    root.squashfs    read-only, shared by all guests; what they write is in their memory
    image.json       kernel, versions, the guests' host key, digests

Needs root, debootstrap and squashfs-tools. About two minutes.
"""

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from . import debian, filebench_tree
from .debian import MIRROR, BuildError

PACKAGES = (
    *("openssh-server", "e2fsprogs", "xfsprogs", "btrfs-progs", "fio", "kmod", "iproute2"),
    *("procps", "util-linux", "busybox-static", "cpio", "ca-certificates"),
)
KERNEL = "linux-image-cloud-amd64"
INITRD_MODULES = ("virtio_pci", "virtio_blk", "squashfs", "overlay")
PROGRAMS = ("debootstrap", "mksquashfs", "ssh-keygen")
_LEFT_OUT = (
    "boot",
    "usr/share/doc",
    "usr/share/man",
    "usr/share/locale",
    "usr/share/info",
    "var/cache",
    "var/lib/apt",
    "initrd",
)
_PARTS = Path(__file__).with_name("guest")


def build(
    folder: Path,
    authorized_keys: Sequence[str],
    *,
    filebench: Path | None = None,
    mirror: str = MIRROR,
    release: str = debian.RELEASE,
    tell: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Build the four files in `folder` and return what image.json holds.

    authorized_keys : public keys of the workers that will log in
    filebench : what build_filebench made, or the folder that Filebench was installed into (its --prefix), which gets
        the same path in the guest, because Filebench looks for its helpers where it was built to be
    release : of Debian, one of debian.SUITES
    Raises BuildError, filebench_tree.TreeError; `folder` then holds what it held before.
    """
    debian.check_tools(PROGRAMS, "debootstrap squashfs-tools openssh-client")
    if filebench is not None and not (filebench / "bin" / "filebench").is_file():
        raise BuildError(f"{filebench} has no bin/filebench")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".kdb-guest-", dir=folder) as name:
        work = Path(name)
        root = work / "root"
        tell(f"debootstrap {debian.SUITES[release]}: {len(PACKAGES)} packages and what they need")
        debian.bootstrap(root, PACKAGES, mirror, release)
        tell("kernel")
        version = _unpack_kernel(root)
        tell("settings")
        host_key = _configure(root, authorized_keys)
        if filebench is not None:
            _add_filebench(root, filebench)
        tell("initrd")
        _make_initrd(root, version, work / "initrd")
        tell("root.squashfs")
        left_out = [item for name in _LEFT_OUT for item in ("-e", name)]
        debian.run(
            "mksquashfs",
            root,
            work / "root.squashfs",
            "-noappend",
            "-quiet",
            "-no-progress",
            "-comp",
            "zstd",
            *left_out,
        )
        shutil.copy(root / "boot" / f"vmlinuz-{version}", work / "vmlinuz")
        files = ("vmlinuz", "initrd", "root.squashfs")
        about = {
            "format": 1,
            "kernel": version,
            "distribution": debian.distribution(root),
            "distribution_id": "debian",
            "host_key": host_key,
            "packages": debian.versions(root, ("openssh-server", "e2fsprogs", "xfsprogs", "btrfs-progs", "fio")),
            "filebench": _filebench_version(root) if filebench else "",
            "sha256": {name: debian.sha256(work / name) for name in files},
        }
        (work / "image.json").write_text(json.dumps(about, indent=1) + "\n")
        for name in (*files, "image.json"):
            (work / name).chmod(0o644)
            (work / name).replace(folder / name)
    return about


def _unpack_kernel(root: Path) -> str:
    """The kernel and its modules, without the package's scripts, which would build an initrd of their own."""
    _chroot(root, "apt-get", "update", "-qq")
    depends = _chroot(root, "apt-cache", "depends", "--important", KERNEL)
    names = [line.split()[-1] for line in depends.splitlines() if "Depends: linux-image-" in line]
    if len(names) != 1:
        raise BuildError(f"the package {KERNEL} names no kernel: {depends.strip()!r}")
    # Not into / itself: the package's lib would take the place of the link to usr/lib.
    script = 'cd /tmp && apt-get download -qq "$1" && dpkg-deb -x ./"$1"_*.deb kernel && rm -- *.deb'
    _chroot(root, "sh", "-c", script, "sh", names[0])
    version = names[0].removeprefix("linux-image-")
    unpacked = root / "tmp/kernel"
    modules = next(path for path in (unpacked / "usr/lib/modules", unpacked / "lib/modules") if path.is_dir())
    modules.rename(root / "usr/lib/modules")
    (unpacked / f"boot/vmlinuz-{version}").rename(root / f"boot/vmlinuz-{version}")
    shutil.rmtree(unpacked)
    _chroot(root, "depmod", version)
    return version


def _configure(root: Path, authorized_keys: Sequence[str]) -> str:
    ssh = root / "etc/ssh"
    for path in ssh.glob("ssh_host_*"):
        path.unlink()
    debian.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "kdb guest", "-f", ssh / "kdb_host_key")
    shutil.copy(_PARTS / "sshd_config", ssh / "sshd_config")
    (ssh / "kdb_authorized_keys").write_text("".join(f"{key.strip()}\n" for key in authorized_keys))
    (ssh / "kdb_authorized_keys").chmod(0o600)
    shutil.copy(_PARTS / "kdb-init", root / "sbin/kdb-init")
    (root / "sbin/kdb-init").chmod(0o755)
    (root / "etc/resolv.conf").unlink(missing_ok=True)
    (root / "srv/kdb").mkdir()
    return " ".join((ssh / "kdb_host_key.pub").read_text().split()[:2])


def _add_filebench(root: Path, filebench: Path) -> None:
    place = filebench.resolve()
    if (filebench / filebench_tree.MANIFEST).is_file():
        place = Path(filebench_tree.built_prefix(filebench_tree.read(filebench).version))
    inside = root / place.relative_to("/")
    shutil.copytree(filebench, inside, symlinks=True)
    link = root / "usr/local/bin/filebench"
    if not link.exists():
        link.symlink_to(f"/{inside.relative_to(root)}/bin/filebench")


def _filebench_version(root: Path) -> str:
    (root / "version.f").write_text("quit\n")
    done = subprocess.run(  # noqa: S603
        ["chroot", str(root), "filebench", "-f", "/version.f"],  # noqa: S607 - inside the image
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=60,
    )
    found = re.search(r"Filebench Version (\S+)", done.stdout + done.stderr)
    if not found:
        raise BuildError(f"Filebench does not run in the image: {(done.stderr or done.stdout).strip()[-500:]}")
    return found[1]


def _make_initrd(root: Path, version: str, target: Path) -> None:
    tree = root / "initrd"
    for name in ("bin", "modules", "dev", "proc", "lower", "upper", "new"):
        (tree / name).mkdir(parents=True)
    shutil.copy(root / "bin/busybox", tree / "bin/busybox")
    shutil.copy(_PARTS / "initrd-init", tree / "init")
    (tree / "init").chmod(0o755)
    order: dict[str, None] = {}
    for module in INITRD_MODULES:
        for line in _chroot(root, "modprobe", "--show-depends", "-S", version, module).splitlines():
            kind, path = line.split()[:2]
            if kind == "insmod":
                shutil.copy(root / path.lstrip("/"), tree / "modules")
                order[Path(path).name] = None
    (tree / "modules/order").write_text("".join(f"{name}\n" for name in order))
    _chroot(root, "sh", "-c", "cd /initrd && find . | cpio --create --format=newc --quiet | gzip > /initrd.gz")
    (root / "initrd.gz").replace(target)


def _chroot(root: Path, *command: str) -> str:
    return debian.run("chroot", root, *command)
