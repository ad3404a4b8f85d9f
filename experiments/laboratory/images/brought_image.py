"""Makes a guest image of a disk that an operator brings: any distribution with cloud-init and an SSH server.

    disk.qcow2, disk.raw   the disk as it came, so that its digest is the one that its distributor publishes
    seed.iso               what cloud-init finds (https://cloudinit.readthedocs.io, data source NoCloud): name, network,
                           keys, and the end of the start, brought-init
    image.json             the guests' host key, digests; the rest is found out in a guest, when the host is checked

Each guest writes to a disk of its own over the one that was brought, which goes with the run.
"""

import json
import shutil
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.laboratory.targets.hypervisors import MAC, SEED

from . import debian, guest_image
from .debian import BuildError

PROGRAMS = ("qemu-img", "xorrisofs", "ssh-keygen")
FORMATS = ("qcow2", "raw")
_BOOT_CODE = 440  # bytes: https://uefi.org/specs/UEFI/2.10/05_GUID_Partition_Table_Format.html
_END = Path(__file__).with_name("guest") / "brought-init"


def add(disk: Path, folder: Path, authorized_keys: Sequence[str], *, filebench: Path | None = None) -> dict[str, Any]:
    """Put disk, seed and image.json into `folder`, and return what image.json holds.

    authorized_keys : public keys of the workers that will log in
    filebench : as guest_image.build takes it; guests unpack it from the seed
    Raises BuildError, filebench_tree.TreeError; `folder` then holds what it held before.
    """
    debian.check_tools(PROGRAMS, "qemu-utils xorriso openssh-client")
    name = f"disk.{checked_format(disk)}"
    if there := sorted({"root.squashfs", *(f"disk.{kind}" for kind in FORMATS)} & _names(folder) - {name}):
        raise BuildError(f"{folder} holds another image ({', '.join(there)}): name a new folder.")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".kdb-guest-", dir=folder) as made:
        work = Path(made)
        host_key = guest_image.new_host_key(work / "host_key")
        _make_seed(work, authorized_keys, filebench)
        shutil.copyfile(disk, work / name)
        files = (name, SEED)
        about = {
            "format": 1,
            "disk": name,
            "brought": disk.name,
            "host_key": host_key,
            "sha256": {file: debian.sha256(work / file) for file in files},
        }
        guest_image.put_image(work, folder, files, about)
    return about


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} if folder.is_dir() else set()


def checked_format(disk: Path) -> str:
    """Return the disk's format, one of FORMATS. Raises BuildError where the disk cannot be a guest's."""
    if not disk.is_file():
        raise BuildError(f"{disk} is no file.")
    about = json.loads(debian.run("qemu-img", "info", "--output=json", disk))
    kind = str(about["format"])
    details = about.get("format-specific", {}).get("data", {})
    if kind not in FORMATS:
        raise BuildError(
            f"{disk} is {kind}; {' and '.join(FORMATS)} are taken: qemu-img convert -O qcow2 makes it one."
        )
    if "backing-filename" in about or "data-file" in details:
        raise BuildError(f"{disk} rests on another file: qemu-img convert -O qcow2 makes it whole.")
    if about.get("encrypted"):
        raise BuildError(f"{disk} is encrypted: a guest would wait for its key.")
    with tempfile.TemporaryDirectory(prefix="kdb-disk-") as folder:
        sector = Path(folder) / "sector"
        debian.run("qemu-img", "dd", "-f", kind, "-O", "raw", "bs=512", "count=1", f"if={disk}", f"of={sector}")
        first = sector.read_bytes()
    if first[510:512] != b"\x55\xaa":
        raise BuildError(f"{disk} is no disk that a machine starts from: it has no boot sector (unpack it first?).")
    if not any(first[:_BOOT_CODE]):
        raise BuildError(f"{disk} starts by UEFI only; guests start by BIOS. Take the image that is made for both.")
    return kind


def _make_seed(work: Path, authorized_keys: Sequence[str], filebench: Path | None) -> None:
    seed = work / "seed"
    seed.mkdir()
    host_key = work / "host_key"
    user_data = {
        "users": [],
        "disable_root": False,
        "ssh_authorized_keys": list(authorized_keys),
        "ssh_keys": {
            "ed25519_private": host_key.read_text(),
            "ed25519_public": host_key.with_suffix(".pub").read_text(),
        },
        # Nothing else: no packages, no growing of disks, no time server.
        "cloud_init_modules": ["set_hostname", "ssh"],
        "cloud_config_modules": ["runcmd"],
        "cloud_final_modules": ["scripts-user"],
        "runcmd": [["sh", "-c", _END.read_text()]],
    }
    # What QEMU's user network gives. Version 1 is what every cloud-init and all its ways to set up a network know.
    address = {"type": "static", "address": "10.0.2.15/24", "gateway": "10.0.2.2"}
    interface = {"type": "physical", "name": "eth0", "mac_address": MAC, "subnets": [address]}
    (seed / "user-data").write_text("#cloud-config\n" + json.dumps(user_data, indent=1))  # JSON is YAML
    (seed / "meta-data").write_text(json.dumps({"instance-id": "kdb", "local-hostname": "guest"}))
    (seed / "network-config").write_text(json.dumps({"version": 1, "config": [interface]}))
    if filebench is not None:
        with tarfile.open(seed / "filebench.tar", "w") as archive:
            guest_image.add_filebench(archive, filebench)
    words = ("-quiet", "-volid", "cidata", "-joliet", "-rational-rock", "-output")
    debian.run("xorrisofs", *words, work / SEED, seed)
