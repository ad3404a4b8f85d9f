"""A control domain of Xen: Debian's hypervisor, kernel and tools, booted in QEMU's software emulation.

The processor is emulated with AMD's virtualisation (SVM), so Xen also starts machines that are fully virtualised. The
control domain's first process is a script of ours in place of systemd, which takes minutes there. Nothing that a test
does outlives it: QEMU writes to a temporary file without a name, and ends with the process that started it.
"""

import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from experiments.laboratory.images import debian
from experiments.laboratory.transport import ssh
from tests import made_once
from tests.experiments.laboratory import lab as laboratories
from tests.experiments.laboratory.lab import Lab

PROGRAMS = ("mmdebstrap", "mkfs.ext4", "qemu-system-x86_64", "setpriv", "ssh", "ssh-keygen")
BOOT_SECONDS = 900  # 40 on a machine that does nothing else
DISK_MIB = 4096  # of the laboratory's disk, a sparse file
RAM_MIB, DOM0_MIB = 2560, 1024  # of everything, and of the control domain
_PACKAGES = (
    *("linux-image-amd64", "tiny-initramfs", "xen-system-amd64", "qemu-system-xen", "openssh-server", "iproute2"),
    *("qemu-utils", "kmod", "procps", "xfsprogs", "btrfs-progs", "fio"),
)
_MODULES = (
    *("virtio_net", "virtio_rng", "loop", "xenfs", "xen-evtchn", "xen-gntdev", "xen-gntalloc"),
    *("xen-privcmd", "xen-netback", "xen-blkback"),
)
_PLACE = "/srv/lab"  # where the laboratory's disk is mounted

_INIT = rf"""#!/bin/sh
# The first process of the control domain.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /tmp
mkdir -p /dev/pts /dev/shm /run/lock /run/sshd
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -o remount,rw,noatime /
for module in {" ".join(_MODULES)}; do modprobe "$module"; done
mount -t xenfs xenfs /proc/xen
mount /dev/vdb {_PLACE}
ip link set lo up
ip link set eth0 up
ip address add 10.0.2.15/24 dev eth0
/etc/init.d/xen start
/usr/sbin/sshd -D -e &
while :; do
    wait
    sleep 1
done
"""

# FOLDER MIRROR PACKAGES INIT PLACE: what QEMU boots. Its loader wants the hypervisor without compression, and Xen the
# first file system likewise.
_MAKE = r"""
set -eu
cd "$1"
mmdebstrap --quiet --mode=root --variant=minbase --include="$3" \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' bookworm root "$2"
printf '%s' "$4" >root/usr/local/sbin/lab-init
chmod 755 root/usr/local/sbin/lab-init
mkdir -p "root$5"
rm -f root/etc/ssh/ssh_host_*
printf '%s\n' "HostKey $5/host_key" "AuthorizedKeysFile $5/login_key.pub" 'StrictModes no' 'UsePAM no' \
    >root/etc/ssh/sshd_config.d/lab.conf
chroot root mktirfs -m no --include-modules=virtio_pci,virtio_blk,crc32c_generic,ext4 -o /initrd \
    "$(ls root/lib/modules)"
zcat root/initrd >initrd
zcat root/boot/xen-*.gz >xen
cp root/boot/vmlinuz-* vmlinuz
rm -r root/boot root/initrd
truncate --size 2G system.raw
mkfs.ext4 -q -d root system.raw
rm -r root
"""


def missing() -> str:
    """Return why there can be no Xen here; empty if there can."""
    return laboratories.missing(PROGRAMS)


def made(cache: Path) -> Path:
    """Return the folder with hypervisor, kernel, first file system and disk."""
    words = (debian.MIRROR, ",".join(_PACKAGES), _INIT, _PLACE)
    return made_once.made_by(cache, "xen-host", _MAKE, *words)


class XenHost(Lab):
    """A laboratory in a control domain. `pool` and `image` are its own paths; root's key logs in."""

    def __init__(self, folder: Path, tree: Path) -> None:
        super().__init__(folder, with_libvirt=False)
        self.tree = tree
        self.pool = Path(_PLACE) / "pool"

    def take_image(self, image: Path) -> None:
        super().take_image(image)
        self.image = Path(_PLACE) / self.image.name

    def _make_disk(self) -> None:
        """Make the disk with what differs from host to host: keys, an empty pool, and the guest image."""
        disk = self.folder / "lab"
        (disk / "pool").mkdir(parents=True)
        for name in ("host_key", "login_key.pub"):
            shutil.copy(self.folder / name, disk / name)
        shutil.move(self.folder / "guest-image", disk / "guest-image")
        with (self.folder / "lab.raw").open("wb") as file:
            file.truncate(DISK_MIB * 2**20)
        subprocess.run(["mkfs.ext4", "-q", "-d", disk, self.folder / "lab.raw"], check=True)
        shutil.rmtree(disk)

    def start(self) -> None:
        self._make_disk()
        tree, folder = self.tree, self.folder
        console = folder / "console"
        words = ["setpriv", "--pdeathsig", "KILL", "qemu-system-x86_64", "-nodefaults", "-display", "none"]
        # Its clock counts instructions, 4 ns each, so on a busy machine it is slow and no limit of Xen's tools runs out
        # (they give QEMU ten seconds to answer). Two processors would wait for each other most of the time.
        words += ["-accel", "tcg,thread=single", "-icount", "shift=2,sleep=on", "-smp", "1", "-m", str(RAM_MIB)]
        # Under the processor "max" the control domain's kernel dies early (QEMU 7.2, Xen 4.17).
        words += ["-cpu", "qemu64,+svm,+npt"]
        words += ["-no-reboot", "-serial", f"file:{console}", "-kernel", f"{tree}/xen"]
        words += ["-append", f"dom0_mem={DOM0_MIB}M,max:{DOM0_MIB}M console=com1 spec-ctrl=no xpti=no"]
        line = "console=hvc0 root=/dev/vda ro net.ifnames=0 mitigations=off init=/usr/local/sbin/lab-init"
        words += ["-initrd", f"{tree}/vmlinuz {line},{tree}/initrd"]
        words += ["-drive", f"file={tree}/system.raw,if=virtio,format=raw,snapshot=on,cache=unsafe"]
        words += ["-drive", f"file={folder}/lab.raw,if=virtio,format=raw,cache=unsafe"]
        words += ["-device", "virtio-rng-pci", "-device", "virtio-net-pci,netdev=n,romfile="]
        words += ["-netdev", f"user,id=n,restrict=on,hostfwd=tcp:127.0.0.1:{self.port}-:22"]
        with (folder / "log").open("ab") as log:
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + BOOT_SECONDS
        # QEMU accepts connections on the forwarded port before anybody listens: wait for sshd's own words.
        while not console.exists() or b"Server listening on" not in console.read_bytes():
            if self.process.poll() is not None or time.monotonic() > deadline:
                logs = (folder / "log").read_text() + console.read_text(errors="replace")
                self.stop()
                raise RuntimeError(f"the control domain does not start: {logs[-3000:]}")
            time.sleep(0.2)

    def connection(self) -> ssh.Connection:
        """Return a connection to the control domain as root."""
        return ssh.Connection(ssh.Address("127.0.0.1", self.port, "root", self.host_key, self.folder / "keys/lab"))

    def stop(self) -> None:
        """Stop the host as if the power failed."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None

    def inside(self, *command: str) -> str:
        with self.connection() as host:
            return host.run(command).text

    def left_overs(self) -> list[str]:
        mounts = self.inside("cat", "/proc/self/mounts").splitlines()
        left = [line for line in mounts if f"{self.pool}/" in line]
        left += self.inside("losetup", "--list", "--noheadings").splitlines()
        left += self.inside("ls", "-A", str(self.pool)).splitlines()
        left += [line for line in self.inside("xl", "list").splitlines()[1:] if not line.startswith("Domain-0 ")]
        return left + [name for name in self.inside("ls", "/var/log/xen").split() if "kdb-" in name]


@contextmanager
def xen_host(cache: Path, *, image: Path) -> Iterator[XenHost]:
    """Give a control domain of its own, removed at the end with all it holds. image : a folder with a guest image"""
    tree = made(cache)
    with tempfile.TemporaryDirectory(prefix="kdb-xen-") as name:
        host = XenHost(Path(name).resolve(), tree)
        host.take_image(image)
        try:
            host.start()
            yield host
        finally:
            host.stop()
