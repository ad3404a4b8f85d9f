"""Builds the image that guests made for a run are booted from, of Debian packages only.

    vmlinuz          the kernel, booted directly
    initrd           finds the root disk
    root.squashfs    read-only, shared by all guests; what they write is in their memory
    image.json       kernel, versions, the guests' host key, digests

mmdebstrap makes the Debian: for root as usual, for others in a user namespace, where all the programs of the new
Debian run. Nothing else needs a right: everything goes in and comes out as an archive or a file.
"""

import io
import json
import os
import re
import shlex
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from experiments.laboratory.transport import remote

from . import debian, filebench_tree
from .debian import MIRROR, BuildError

PACKAGES = (
    *("openssh-server", "e2fsprogs", "xfsprogs", "btrfs-progs", "fio", "kmod", "iproute2"),
    *("procps", "util-linux", "busybox-static", "cpio", "ca-certificates"),
)
KERNEL = "linux-image-cloud-amd64"
# What the kernel needs for a disk under test on each bus (disks.CHOICES); the cloud kernel has no SATA.
DISK_MODULES = {
    **{"virtio": "virtio_blk", "scsi": "virtio_scsi", "sata": "ahci", "ide": "ata_piix"},
    "xen": "xen-blkfront",
}
INITRD_MODULES = ("virtio_pci", "virtio_blk", "xen-blkfront", "squashfs", "overlay")
PROGRAMS = ("mmdebstrap", "mksquashfs", "ssh-keygen")
_TOLD = ("openssh-server", "e2fsprogs", "xfsprogs", "btrfs-progs", "fio")  # their versions
_LEFT_OUT = ("boot", "kdb", "usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info")
_COMPRESSED = ("-comp", "zstd", "-Xcompression-level", "6")  # the usual 15 takes ten times as long, for 8 % less
_PARTS = Path(__file__).with_name("guest")
_PUBLIC_KEY = re.compile(r"(?:ssh|ecdsa|sk)-[\w@.-]{1,60} [A-Za-z0-9+/]{4,20000}={0,2}(?: .{0,500})?")


def public_keys(paths: Iterable[Path]) -> list[str]:
    """Return the keys in files of OpenSSH's public keys. Raises BuildError, which repeats no line: it may be secret."""
    keys: list[str] = []
    for path in paths:
        before = len(keys)
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), start=1):
            key = line.strip()
            if not _PUBLIC_KEY.fullmatch(key) and key and not key.startswith("#"):
                raise BuildError(
                    f"{path}, line {number}: not a public key of OpenSSH; name the file that ends in .pub."
                )
            if key and not key.startswith("#"):
                keys.append(key)
        if len(keys) == before:
            raise BuildError(f"{path} holds no public key.")
    return keys


def build(
    folder: Path,
    authorized_keys: Sequence[str],
    *,
    filebench: Path | None = None,
    kernel: str = KERNEL,
    mirror: str = MIRROR,
    release: str = debian.RELEASE,
    tell: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Build the four files in `folder` and return what image.json holds.

    authorized_keys : public keys of the workers that will log in
    filebench : what build_filebench made, or the folder that Filebench was installed into (its --prefix), which gets
        the same path in the guest, because Filebench looks for its helpers where it was built to be
    kernel : the package that depends on it
    release : of Debian, one of debian.SUITES
    Raises BuildError, filebench_tree.TreeError; `folder` then holds what it held before.
    """
    programs = PROGRAMS if os.geteuid() == 0 else (*PROGRAMS, "newuidmap")
    debian.check_tools(programs, "mmdebstrap squashfs-tools openssh-client uidmap")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".kdb-guest-", dir=folder) as name:
        work = Path(name)
        host_key = _new_host_key(work / "host_key")
        with tarfile.open(work / "parts.tar", "w") as archive:
            _add_parts(archive, work / "host_key", authorized_keys)
            if filebench is not None:
                _add_filebench(archive, filebench)
        finish = shlex.join(["/kdb/finish", kernel, *map(" ".join, (_TOLD, DISK_MODULES.values(), INITRD_MODULES))])
        tell(f"Debian {debian.SUITES[release]}: {len(PACKAGES)} packages and what they need")
        hooks = [
            f"tar-in {shlex.quote(str(work / 'parts.tar'))} /",
            f'chroot "$1" sh {finish}',
            *(
                f"download /kdb/{inside} {shlex.quote(str(work / outside))}"
                for inside, outside in (("vmlinuz", "vmlinuz"), ("initrd.gz", "initrd"), ("facts", "facts"))
            ),
            " ".join(["rm -rf", *(f'"$1/{name}"' for name in _LEFT_OUT)]),
        ]
        debian.bootstrap(work / "root.tar", PACKAGES, mirror, release, hooks)
        tell("root.squashfs")
        with (work / "root.tar").open("rb") as tree:
            debian.run(
                *("mksquashfs", "-", work / "root.squashfs", "-tar", "-quiet", "-no-progress", *_COMPRESSED),
                *("-root-mode", "755", "-root-uid", "0", "-root-gid", "0"),  # it does not take them from the archive
                given=tree,
            )
        files = ("vmlinuz", "initrd", "root.squashfs")
        about = {
            "format": 1,
            **_facts((work / "facts").read_text()),
            "distribution_id": "debian",
            "host_key": host_key,
            "sha256": {name: debian.sha256(work / name) for name in files},
        }
        (work / "image.json").write_text(json.dumps(about, indent=1) + "\n")
        for name in (*files, "image.json"):
            (work / name).chmod(0o644)
            (work / name).replace(folder / name)
    return about


def _new_host_key(file: Path) -> str:
    """Make the pair that guests show who they are with; returns the public one as a host's record has it."""
    debian.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "kdb guest", "-f", file)
    return " ".join(file.with_suffix(".pub").read_text().split()[:2])


def _add_parts(archive: tarfile.TarFile, host_key: Path, authorized_keys: Sequence[str]) -> None:
    """Put our parts into the new Debian: its settings, and what makes its boot files in /kdb."""
    keys = "".join(f"{key}\n" for key in authorized_keys)
    for name, content, mode in (
        ("etc/ssh/kdb_host_key", host_key.read_text(), 0o600),
        ("etc/ssh/kdb_host_key.pub", host_key.with_suffix(".pub").read_text(), 0o644),
        ("etc/ssh/kdb_authorized_keys", keys, 0o600),
        ("etc/ssh/sshd_config", (_PARTS / "sshd_config").read_text(), 0o644),
        ("usr/sbin/kdb-init", (_PARTS / "kdb-init").read_text(), 0o755),
        ("srv/kdb", None, 0o755),
        ("kdb", None, 0o755),
        ("kdb/finish", (_PARTS / "finish").read_text(), 0o755),
        ("kdb/initrd-init", (_PARTS / "initrd-init").read_text(), 0o755),
    ):
        _add_member(archive, name, content, mode)


def _add_member(archive: tarfile.TarFile, name: str, content: str | None, mode: int) -> None:
    """Add a file of root's, or a folder where there is no content."""
    member = tarfile.TarInfo(name)
    member.mode = mode
    if content is None:
        member.type = tarfile.DIRTYPE
        archive.addfile(member)
    else:
        data = content.encode()
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))


def _add_filebench(archive: tarfile.TarFile, filebench: Path) -> None:
    """Add Filebench and a link to it in /usr/local/bin. Raises BuildError, filebench_tree.TreeError."""
    if not (filebench / "bin" / "filebench").is_file():
        raise BuildError(f"{filebench} has no bin/filebench")
    place = filebench.resolve()
    if (filebench / filebench_tree.MANIFEST).is_file():
        place = Path(filebench_tree.built_prefix(filebench_tree.read(filebench).version))
    archive.add(filebench, str(place.relative_to("/")), filter=_of_root)
    link = tarfile.TarInfo("usr/local/bin/filebench")
    link.type, link.linkname = tarfile.SYMTYPE, f"{place}/bin/filebench"
    if place != Path("/usr/local"):
        archive.addfile(link)


def _of_root(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def _facts(text: str) -> dict[str, Any]:
    pairs = remote.facts(text)
    known = dict(pairs)
    modules = {value for key, value in pairs if key == "module"}
    return {
        **{name: known[name] for name in ("kernel", "distribution", "distribution_version")},
        "disk_buses": [bus for bus, module in DISK_MODULES.items() if module in modules],
        "packages": dict(value.split(" ", 1) for key, value in pairs if key == "package"),
        "filebench": known.get("filebench", ""),
    }
