"""A Debian as a user has one: booted with systemd, and libvirt as the distribution leaves it.

It is a container of systemd-nspawn on an overlay, so nothing that a test does outlives it. Of the machine below it has
the kernel, the network and the loop devices. It has no /dev/kvm: guests are emulated.
"""

import os
import shutil
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

PROGRAMS = (
    "unshare",
    "nsenter",
    "systemd-nspawn",
    "mmdebstrap",
    "ssh",
    "ssh-keygen",
    "losetup",
    "mkfs.xfs",
    "mkfs.btrfs",
)
PACKAGES = (  # as docs/campaigns.md has them
    "mount util-linux coreutils e2fsprogs xfsprogs btrfs-progs fio",
    "libvirt-clients libvirt-daemon-system qemu-system-x86 qemu-utils",
)
LOGIN = "ada"  # who may sudo, without a password
BOOT_SECONDS = 300
_UNITS = ("libvirtd.socket", "libvirtd-ro.socket", "libvirtd-admin.socket", "libvirtd.service")
_LOOPS = 256  # devices that it can name

# `bare` is what Debian's installer would leave, and `libvirt` what installing libvirt adds to it. The packages stay in
# apt's cache: a host that installs them needs no network.
_MAKE = r"""
set -eu
cd "$1"
packages=$2 login=$3 mirror=$5
mmdebstrap --quiet --mode=root --variant=important \
    --include=openssh-server,sudo,systemd-sysv,dbus,libpam-systemd,policykit-1,ca-certificates --skip=cleanup/apt \
    --customize-hook="chroot \"\$1\" apt-get -q -y --no-install-recommends --download-only install $packages" \
    bookworm bare "$mirror"
chroot bare useradd --create-home --shell /bin/bash "$login"
echo "$login ALL=(ALL) NOPASSWD: ALL" >"bare/etc/sudoers.d/$login"
rm -f bare/etc/ssh/ssh_host_* bare/etc/machine-id bare/etc/resolv.conf
for unit in systemd-udevd.service systemd-udevd-control.socket systemd-udevd-kernel.socket \
    systemd-udev-trigger.service networking.service systemd-sysctl.service systemd-timesyncd.service \
    systemd-modules-load.service systemd-logind.service apt-daily.timer apt-daily-upgrade.timer \
    getty.target console-getty.service; do
    ln -s /dev/null "bare/etc/systemd/system/$unit"
done
cat >bare/etc/systemd/system/container.service <<-'END'
	[Unit]
	Description=What a container lacks of a machine: names of loop devices, and no old control groups
	DefaultDependencies=no
	Before=sysinit.target
	[Service]
	Type=oneshot
	ExecStart=/usr/local/sbin/container
	[Install]
	WantedBy=sysinit.target
END
cat >bare/usr/local/sbin/container <<-END
	#!/bin/sh
	[ -e /dev/loop-control ] || mknod -m 660 /dev/loop-control c 10 237
	for number in \$(seq 0 $4); do [ -e /dev/loop\$number ] || mknod -m 660 /dev/loop\$number b 7 \$number; done
	awk '\$3 == "cgroup" && \$4 !~ /name=systemd/ { print \$2 }' /proc/self/mounts | xargs --no-run-if-empty umount
END
chmod 755 bare/usr/local/sbin/container
ln -s ../container.service bare/etc/systemd/system/sysinit.target.wants/
mkdir libvirt work whole
mount -t overlay overlay -o lowerdir=bare,upperdir=libvirt,workdir=work whole
mount -t proc proc whole/proc
printf '#!/bin/sh\nexit 101\n' >whole/usr/sbin/policy-rc.d
chmod 755 whole/usr/sbin/policy-rc.d
# shellcheck disable=SC2086 # a name each
DEBIAN_FRONTEND=noninteractive chroot whole apt-get -q -y --no-install-recommends install $packages
rm whole/usr/sbin/policy-rc.d
umount whole/proc whole
rm -rf work whole
"""

# FOLDER LOWER PORT: boots an overlay over LOWER, kept in FOLDER/system, in which FOLDER has its own path.
_BOOT = r"""
set -eu
mkdir -p "$1/system/upper" "$1/system/work" "$1/system/host"
cd "$1/system"
mount -t overlay overlay -o "lowerdir=$2,upperdir=upper,workdir=work" host
exec env SYSTEMD_NSPAWN_API_VFS_WRITABLE=yes systemd-nspawn --quiet -D host --bind="$1:$1:norbind" \
    --machine="stock-$3" --register=no --keep-unit --boot --capability=all --resolv-conf=off --timezone=off \
    --link-journal=no --console=pipe --system-call-filter="@privileged @raw-io @mount personality"
"""


def missing() -> str:
    """Return why there can be no stock host here; empty if there can."""
    return laboratories.missing(PROGRAMS)


def made(cache: Path) -> Path:
    """Return the folder with `bare` and `libvirt`."""
    packages = " ".join(PACKAGES)
    words = (packages, LOGIN, str(_LOOPS - 1), debian.MIRROR)
    return made_once.made_by(cache, "stock-host", _MAKE, *words)


class StockHost(Lab):
    """A laboratory on a stock host. Its folder has the same path there, and holds the pool; root's key logs in."""

    def __init__(self, folder: Path, tree: Path, *, with_libvirt: bool) -> None:
        super().__init__(folder, with_libvirt=with_libvirt)
        self.lower = f"{tree / 'libvirt'}:{tree / 'bare'}" if with_libvirt else str(tree / "bare")
        self.identity = os.urandom(16).hex()
        folder.chmod(0o755)

    def _make_its_own(self) -> None:
        """Make what differs from host to host: who may log in, where sshd listens, its keys and its identity."""
        upper = self.folder / "system/upper"
        for home, owner in (("root", 0), (f"home/{LOGIN}", 1000)):
            keys = upper / home / ".ssh"
            keys.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.folder / "login_key.pub", keys / "authorized_keys")
            for path in (upper / home, keys, keys / "authorized_keys"):
                os.chown(path, owner, owner)
                path.chmod(0o700)
        (upper / "etc/ssh/sshd_config.d").mkdir(parents=True, exist_ok=True)
        (upper / "etc/ssh/sshd_config.d/port.conf").write_text(f"ListenAddress 127.0.0.1:{self.port}\n")
        for name in ("host_key", "host_key.pub"):
            shutil.copy(self.folder / name, upper / "etc/ssh" / name.replace("host_key", "ssh_host_ed25519_key"))
        (upper / "etc/machine-id").write_text(f"{self.identity}\n")

    login = LOGIN

    def stop_libvirt(self) -> None:
        self.inside("systemctl", "stop", *_UNITS)

    def start_libvirt(self) -> None:
        self.inside("systemctl", "start", *_UNITS)

    def start(self) -> None:
        self._make_its_own()
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [*laboratories.NAMESPACES, "sh", "-c", _BOOT, "boot", str(self.folder), self.lower, str(self.port)],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env={"PATH": laboratories.PATH},
                start_new_session=True,
            )
        deadline = time.monotonic() + BOOT_SECONDS
        while not self._is_up():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the stock host does not start: {(self.folder / 'log').read_text()[-3000:]}")
            time.sleep(0.2)

    def _is_up(self) -> bool:
        try:
            with self.connection() as host:
                return host.run(["systemctl", "is-system-running"]).text.strip() in ("running", "degraded")
        except ssh.SshError:
            return False

    def connection(self, login: str = "root") -> ssh.Connection:
        """Return a connection to the host under this login."""
        return ssh.Connection(ssh.Address("127.0.0.1", self.port, login, self.host_key, self.folder / "keys/lab"))

    def leader(self) -> str:
        """Return the process that is the host's first."""
        pid = str(self.process.pid)
        for _ in range(2):  # nspawn, and what it starts
            pid = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0]
        return pid


@contextmanager
def stock_host(cache: Path, *, with_libvirt: bool = True, image: Path) -> Iterator[StockHost]:
    """Give a host of its own, removed at the end with all it holds. image : a folder with a guest image and a key"""
    tree = made(cache)
    with tempfile.TemporaryDirectory(prefix="kdb-stock-", dir="/srv") as name:  # systemd empties /tmp
        host = StockHost(Path(name), tree, with_libvirt=with_libvirt)
        host.take_image(image)
        host.start()
        try:
            yield host
        finally:
            host.stop()
            host.forget_loops()
