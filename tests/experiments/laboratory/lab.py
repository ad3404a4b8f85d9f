"""A laboratory host for tests: sshd, and libvirtd where it is wanted, in namespaces of their own.

What runs there has its own processes and mounts, so nothing of it outlives the test that started it,
and /etc/libvirt and /run of the machine stay as they are.
"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

PROGRAMS = ("unshare", "sshd", "ssh", "ssh-keygen", "losetup", "mkfs.ext4", "mkfs.xfs", "mkfs.btrfs", "fio")
QEMU_PROGRAMS = ("libvirtd", "virtlogd", "virsh", "qemu-system-x86_64", "qemu-img", "mmdebstrap", "mksquashfs")
FILEBENCH_SOURCE = os.environ.get("KDB_FILEBENCH_SOURCE", "")  # of release 1.5-alpha3
NAMESPACES = ("unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child", "--propagation", "private")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

_INIT = r"""
set -eu
cd "$1"
mount -t tmpfs tmpfs /run
mkdir -p /run/sshd
if [ -e /etc/machine-id ]; then  # it is another machine than the one that it runs on
    tr -d - </proc/sys/kernel/random/uuid >machine-id
    mount --bind machine-id /etc/machine-id
fi
home=$(getent passwd root | cut -d : -f 6)
if [ -f "$home/.bashrc" ]; then  # what the machine does at each login is no part of the laboratory
    : >bashrc
    mount --bind bashrc "$home/.bashrc"
fi
if [ "$2" = libvirt ]; then
    for folder in /var/lib/libvirt /etc/libvirt /var/cache/libvirt /var/log/libvirt; do  # a restart finds them again
        mkdir -p $folder "$1/state$folder"
        mount --bind "$1/state$folder" $folder
    done
    # The user who runs guests, and the rights of the device, are as Debian's packages make them.
    for kind in passwd group; do cp /etc/$kind $kind; done
    grep -q '^kvm:' group || echo 'kvm:x:64056:' >>group
    if ! grep -q '^libvirt-qemu:' passwd; then
        echo 'libvirt-qemu:x:64055:64055::/var/lib/libvirt:/usr/sbin/nologin' >>passwd
        echo 'libvirt-qemu:x:64055:' >>group
        sed -i '/^kvm:/ { s/$/,libvirt-qemu/; s/:,/:/ }' group
    fi
    for kind in passwd group; do mount --bind $kind /etc/$kind; done
    if [ -c /dev/kvm ] && mknod -m 660 kvm c 10 232; then
        chgrp kvm kvm
        mount --bind kvm /dev/kvm
    fi
    # Without systemd nobody delegates control groups.
    awk '$3 == "cgroup" && $4 !~ /name=systemd/ { print $2 }' /proc/self/mounts | xargs --no-run-if-empty umount
    virtlogd -d
    libvirtd -d
fi
exec /usr/sbin/sshd -D -e -f "$1/sshd_config"
"""


def missing(programs=PROGRAMS) -> str:
    """Return why there can be no laboratory here; empty if there can."""
    if os.geteuid() != 0:
        return "loop devices need root"
    lacking = [name for name in programs if shutil.which(name, path=PATH) is None]
    if lacking:
        return f"{', '.join(lacking)} not installed"
    if not os.path.exists("/dev/loop-control"):
        return "this machine makes no loop devices"
    if subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], capture_output=True).returncode:
        return "this machine makes no namespaces"
    return ""


def no_filebench() -> str:
    """Return why Filebench cannot be built here; empty if it can."""
    if not FILEBENCH_SOURCE:
        return "KDB_FILEBENCH_SOURCE names no source of Filebench"
    return missing(("mmdebstrap",))


class Lab:
    """One host: `folder` holds its keys and its pool. login : of KDB there; sudo where it is not root"""

    login = "root"

    def __init__(self, folder: Path, *, with_libvirt: bool) -> None:
        self.folder, self.with_libvirt = folder, with_libvirt
        folder.chmod(0o711)  # who runs guests passes through
        self.port = free_port()
        self.pool = folder / "pool"
        self.pool.mkdir()
        for name in ("host_key", "login_key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
        (folder / "keys").mkdir(mode=0o700)
        shutil.copy(folder / "login_key", folder / "keys/lab")
        (folder / "sshd_config").write_text(
            f"ListenAddress 127.0.0.1:{self.port}\nHostKey {folder}/host_key\nPidFile {folder}/sshd.pid\n"
            f"AuthorizedKeysFile {folder}/login_key.pub\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n"
            "MaxSessions 100\nMaxStartups 100\n"
        )
        self.process: subprocess.Popen | None = None
        self.facts: dict = {}  # of a host's first check here

    @property
    def host_key(self) -> str:
        return " ".join((self.folder / "host_key.pub").read_text().split()[:2])

    def take_image(self, image: Path) -> None:
        """Copy a guest image here, as its docs tell; the key that it lets in logs in to the host too."""
        self.image = self.folder / "guest-image"
        shutil.copytree(image, self.image, ignore=shutil.ignore_patterns("login_key*"))
        for name in ("login_key", "login_key.pub"):
            shutil.copy(image / name, self.folder / name)
        shutil.copy(image / "login_key", self.folder / "keys/lab")

    def start(self) -> None:
        log = (self.folder / "log").open("ab")
        arguments = [str(self.folder), "libvirt" if self.with_libvirt else "plain"]
        self.process = subprocess.Popen(
            [*NAMESPACES, "sh", "-c", _INIT, "lab", *arguments],
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            env={"PATH": PATH},
        )
        log.close()
        deadline = time.monotonic() + 30
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the laboratory does not start: {(self.folder / 'log').read_text()[-2000:]}")
            time.sleep(0.05)

    def stop(self) -> None:
        """Stop the host as if the power failed."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None

    def forget_loops(self) -> None:
        """Detach the loop devices that a killed host leaves to this kernel: a host that is off has none."""
        for line in loops():
            if str(self.folder) in line:
                subprocess.run(["losetup", "--detach", line.split()[0]], check=False)

    def inside(self, *command: str) -> str:
        """Run something on the host, beside ssh."""
        done = subprocess.run(
            ["nsenter", "--target", self.leader(), "--mount", "--pid", *command],
            capture_output=True,
            text=True,
            env={"PATH": PATH},
        )
        return done.stdout

    def leader(self) -> str:
        """Return the host's first process."""
        return Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()[0]

    def stop_libvirt(self) -> None:
        self.inside("pkill", "-KILL", "libvirtd")

    def start_libvirt(self) -> None:
        self.inside("libvirtd", "-d")

    def left_overs(self) -> list[str]:
        """Mounts, loop devices, virtual machines and files that a campaign would have to clean up."""
        left = [line for line in self.inside("cat", "/proc/self/mounts").splitlines() if f"{self.pool}/" in line]
        left += [line for line in loops() if str(self.pool) in line]
        left += [str(path) for path in self.pool.iterdir()]
        if self.with_libvirt:
            left += self.inside("virsh", "-c", "qemu:///system", "--quiet", "list", "--all", "--name").split()
            left += self.inside("pgrep", "-a", "qemu-system").splitlines()
        return left


def loops() -> list[str]:
    return subprocess.run(["losetup", "--list", "--noheadings"], capture_output=True, text=True).stdout.splitlines()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def laboratory(*, with_libvirt: bool = False, prepare: Callable[[Lab], None] = lambda lab: None):
    """Run a laboratory. prepare : what is done to its folder before it starts"""
    with tempfile.TemporaryDirectory(prefix="kdb-lab-") as name:
        lab = Lab(Path(name).resolve(), with_libvirt=with_libvirt)
        prepare(lab)
        lab.start()
        try:
            yield lab
        finally:
            lab.stop()
            lab.forget_loops()
