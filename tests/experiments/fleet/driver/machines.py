"""A virtual machine of somebody's: it writes records, each fsynced before it is acknowledged."""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

from experiments.laboratory.benchmarks import engines
from experiments.laboratory.targets import disks, hypervisors, libvirt
from experiments.laboratory.targets.hypervisors import Guest
from experiments.laboratory.targets.libvirt import URI, domain_xml
from experiments.laboratory.transport.ssh import Address, Connection
from tests.experiments.laboratory.lab import Lab

SLOT = 4096  # bytes of a record
DISK_MIB = 96
WRITTEN_MIB = 40  # the rest of the image stays sparse

# Record n lies in a slot that steps through the whole disk, and is told on the console once fsync has returned.
_WRITER = r"""
use IO::Handle;
my ($n, $slots) = (%d, %d);
open(my $disk, "+<", "/dev/vdb") or die; open(my $console, ">", "/dev/ttyS0") or die;
binmode $disk; $console->autoflush(1);
while (1) {
    my $body = sprintf("%%015d:", $n) x 255;
    sysseek($disk, (($n * 7919) %% $slots) * 4096, 0);
    syswrite($disk, $body . sprintf("%%015d;", unpack("%%32C*", $body))) == 4096 or die;
    $disk->sync or die;
    print $console "ACK $n\n";
    $n++;
}
"""

# Prints the last record of each slot that holds a whole one: "SLOT NUMBER" a line; "SLOT torn" for a broken one.
_READER = r"""
import sys
def records(path, slots):
    with open(path, "rb") as image:
        for slot in range(slots):
            data = image.read(4096)
            if not data.strip(b"\0"):
                continue
            body, end = data[:4080], data[4080:]
            whole = data[:16] * 255 == body and end == b"%015d;" % (sum(body) % 2**32)
            yield slot, int(data[:15]) if whole else "torn"
for slot, number in records(sys.argv[1], int(sys.argv[2])):
    print(slot, number)
"""

# A file system with the files of a fio job, nothing of which is left for later; and the job, once it reads.
_LOAD = r"""
set -e
mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 /dev/vdb
mount /dev/vdb /mnt
printf %s "$1" >/run/load.fio
fio --create_only=1 /run/load.fio >/dev/null
sync
reads() { awk '{ print $1 }' /sys/block/vdb/stat; }
made=$(reads)
setsid fio /run/load.fio </dev/null >/dev/null 2>&1 &
until [ "$(reads)" -gt $((made + 50)) ]; do sleep 0.2; done
"""


class Machine:
    """One domain of a laboratory; `image` is where its data disk lies at first."""

    def __init__(self, lab: Lab, name: str, folder: Path, *, cache: str = "none", ram_mib: int = 256) -> None:
        self.lab, self.name = lab, name
        self.image = folder / f"{name}.img"
        self.console = lab.folder / f"{name}.console"
        self.slots = WRITTEN_MIB * 2**20 // SLOT
        self.acknowledged = 0
        self.run("truncate", "--size", f"{DISK_MIB}M", str(self.image))
        accelerator = "qemu"
        options = disks.Options(cache_mode=cache)
        guest = Guest(name, 1, str(lab.image), str(self.image), str(self.console), ram_mib, 1, accelerator, options)
        definition = lab.folder / f"{name}.xml"
        definition.write_text(domain_xml(guest))
        self.virsh("define", str(definition))
        self.uuid = self.virsh("domuuid", name).strip()

    def run(self, *command: str) -> str:
        return self.lab.inside(*command)

    def virsh(self, *words: str) -> str:
        return self.run("virsh", "-c", URI, "--quiet", *words)

    @property
    def state(self) -> str:
        return self.virsh("domstate", self.name).strip()

    def start(self) -> None:
        """Boot it and let it begin, which is to write on from the last record that was acknowledged."""
        self.console.unlink(missing_ok=True)
        self.virsh("start", self.name)
        self._wait(lambda: hypervisors.READY in self._printed(), 90)
        key = json.loads((self.lab.image / "image.json").read_text())["host_key"]
        with host_of(self.lab) as host:
            self._wait(
                lambda: "HOST_FORWARD" in self.virsh("qemu-monitor-command", self.name, "--hmp", "info usernet"), 90
            )
            way_in = libvirt.way_in(host, self.name)
            with hypervisors.connection(host, self.name, way_in, key) as guest:
                self.begin(guest)

    def begin(self, guest: Connection) -> None:
        """Let it do what it does; it has booted."""
        writer, first = _WRITER % (self.acknowledged + 1, self.slots), self.acknowledged
        answer = guest.run(["sh", "-c", 'setsid perl -e "$1" </dev/null >/dev/null 2>/dev/null &', "sh", writer])
        assert answer.status == 0, answer.errors
        self._wait(lambda: self.acknowledgements() > first, 30)

    def acknowledgements(self) -> int:
        """Return the last record that the machine was told is written."""
        lines = self._printed().rsplit("\n", 1)[0].splitlines()
        told = [line.split()[1] for line in lines[-20:] if line.startswith("ACK ") and len(line.split()) == 2]
        self.acknowledged = max([self.acknowledged, *(int(number) for number in told if number.isdecimal())])
        return self.acknowledged

    def writes_on(self) -> None:
        """Wait until it has written more: it runs."""
        now = self.acknowledgements()
        self._wait(lambda: self.acknowledgements() > now + 3, 60)

    def lost(self, image: Path | str) -> list[str]:
        """Return what the image lacks of all that was acknowledged before this call."""
        last = self.acknowledgements()
        there = f"/proc/{self.lab.leader()}/root{image}"  # the host itself may have no Python
        words = [sys.executable, "-c", _READER, there, str(self.slots)]
        printed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        held = dict(line.split() for line in printed.splitlines())
        faults = [f"slot {slot} is torn" for slot, number in held.items() if number == "torn"]
        newest: dict[int, int] = {}
        for number in range(max(1, last - self.slots + 1), last + 1):
            newest[number * 7919 % self.slots] = number
        # The one after the last acknowledged may be half written: it was promised to nobody.
        allowed = f"slot {(last + 1) * 7919 % self.slots} is torn"
        faults = [fault for fault in faults if fault != allowed]
        faults += [
            f"record {number}: {held.get(str(slot), 'nothing')} is there"
            for slot, number in newest.items()
            if held.get(str(slot)) != "torn" and int(held.get(str(slot), 0)) < number
        ]
        return faults

    def forget(self) -> None:
        self.virsh("destroy", self.name)
        self.virsh("undefine", self.name)

    def _printed(self) -> str:
        return self.console.read_text(errors="replace") if self.console.exists() else ""

    def _wait(self, condition, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"{self.state}: {self._printed()[-500:]}"
            time.sleep(0.1)


class Loaded(Machine):
    """One that carries a small one of the four workloads on a file system of its own, by fio."""

    def __init__(self, lab: Lab, name: str, folder: Path, workload: str, percent: int) -> None:
        super().__init__(lab, name, folder)
        shape = engines.scaled(engines.SHAPES[workload], percent)
        # Straight to the disk, because what a guest keeps in its memory is nobody's load; and with pauses, because all
        # guests of a test share two cores.
        self.job = engines.fio_job(workload, shape, "/mnt", 3600) + "direct=1\nthinktime=5000\n"

    def begin(self, guest: Connection) -> None:
        answer = guest.run(["sh", "-c", _LOAD, "sh", self.job], timeout=120)
        assert answer.status == 0, answer.errors


def host_of(lab: Lab) -> Connection:
    """Return a connection to the laboratory, to be entered."""
    return Connection(Address("127.0.0.1", lab.port, "root", lab.host_key, lab.folder / "keys/lab"))


def mount_pool(lab: Lab, host_fs: str, mib: int = 512) -> Path:
    """Mount a pool with a file system of its own on a loop device, visible inside the laboratory only."""
    point, image = lab.pool / host_fs, lab.folder / f"{host_fs}.pool"
    point.mkdir(exist_ok=True)
    subprocess.run(["truncate", "--size", f"{mib}M", image], check=True)
    make = {"ext4": ["mkfs.ext4", "-q", "-F"], "xfs": ["mkfs.xfs", "-q", "-f"], "btrfs": ["mkfs.btrfs", "-q", "-f"]}
    assert shutil.which(make[host_fs][0])
    subprocess.run([*make[host_fs], image], check=True, capture_output=True)
    lab.inside("mount", "-o", "loop", str(image), str(point))
    assert lab.inside("findmnt", "--noheadings", "--output", "FSTYPE", str(point)).strip() == host_fs
    return point
