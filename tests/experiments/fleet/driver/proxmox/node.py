"""A node of Proxmox VE for tests: its files, a machine that writes, and a connection to it without ssh."""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from experiments.fleet.driver.proxmox.configuration import parsed
from experiments.laboratory.reach.ssh import Address, Answer, Connection
from tests.experiments.fleet.driver.proxmox import machine, programs

HERE = Path(__file__).parent
NUMBER = 100
UUID = "6a7b2a3c-0000-4000-8000-000000000100"
SIZE = 8 * 2**20
TOTAL = 2**30
PROGRAMS = ("qm", "pvesh", "pvesm", "findmnt", "lsblk")

# In place of ssh: the last word is what a login shell would be given.
_SSH = '#!/bin/sh\nfor word; do :; done\nKDB_ROOT={root} PATH={root}/bin:$PATH exec sh -c "$word"\n'


class LocalConnection(Connection):
    """A connection whose ssh is a shell of this machine, with the node's programs before all others.

    around : called with the number of a command and the command; it may raise instead, before or after
    """

    def __init__(self, root: Path, *, uses_sudo: bool = False) -> None:
        super().__init__(Address("pve-1", 22, "root", "ssh-ed25519 AAAA", uses_sudo=uses_sudo))
        self.root = root
        self.around: Callable[[int, Callable[[], Answer]], Answer] = lambda number, go_on: go_on()
        self.asked: list[list[str]] = []

    def __enter__(self) -> "LocalConnection":
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def _command(self) -> list[str]:
        return [str(self.root / "ssh")]

    def run(self, arguments: Sequence[str], **how: Any) -> Answer:
        self.asked.append(list(arguments))
        # grep is this machine's own, so the node's files are named where they lie.
        words = [
            word.replace("/etc/pve/", f"{self.root}/etc/pve/") if word.startswith("/etc") else word
            for word in arguments
        ]
        answer = self.around(len(self.asked), lambda: super(LocalConnection, self).run(words, **how))
        return Answer(answer.status, answer.output.replace(f"{self.root}/etc".encode(), b"/etc"), answer.errors)


class Node:
    """The node, with one machine on the storage `slow`, a folder on ext4; `fast` is a pool of ZFS."""

    def __init__(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="pve"))  # short: sockets lie in it
        for folder in (
            "etc/pve/nodes/pve-1/qemu-server",
            "etc/pve/nodes/pve-2/qemu-server",
            "run/qemu-server",
            "run/lock",
        ):
            (self.root / folder).mkdir(parents=True)
        for folder in ("bin", "var/lib", "dev/fast", "srv/slow/images/100"):
            (self.root / folder).mkdir(parents=True)
        (self.root / "etc/pve/qemu-server").symlink_to("nodes/pve-1/qemu-server")
        for name in PROGRAMS:
            program = self.root / "bin" / name
            program.write_text(f'#!/bin/sh\nexec {sys.executable} -S -E {HERE}/programs.py {name} "$@"\n')
            program.chmod(0o755)
        ssh = self.root / "ssh"
        ssh.write_text(_SSH.format(root=self.root))
        ssh.chmod(0o755)
        self.state: dict[str, Any] = {
            "storages": {
                "slow": {"type": "dir", "path": "/srv/slow", "content": "images,iso", "total": TOTAL},
                "fast": {"type": "zfspool", "pool": "fast", "content": "images,rootdir", "total": TOTAL, "sparse": 1},
            },
            **{"ha": {}, "replication": [], "faults": {}, "says_allocated": True, "agents": {}},
            "findmnt": {"filesystems": [mount("/", "/dev/sda2", "xfs"), mount("/srv/slow", "/dev/sdb1", "ext4")]},
            "lsblk": {"blockdevices": [disk("sda", "sda2", rota=False), disk("sdb", "sdb1", rota=True)]},
        }
        self.keep()
        self.first = f"slow:{NUMBER}/vm-{NUMBER}-disk-0.raw"
        with self.place(self.first).open("wb") as file:
            file.truncate(SIZE)
        self.write(f"name: mail-1\nsmbios1: uuid={UUID}\nscsi0: {self.first},cache=none,size=8M\nagent: 1\n")
        self.process: subprocess.Popen[bytes] | None = None

    # Its files

    def keep(self, **changed: Any) -> None:
        self.state |= changed
        new = self.root / "state.new"
        new.write_text(json.dumps(self.state))
        new.rename(self.root / "state.json")

    def fault(self, **faults: Any) -> None:
        self.keep(faults={name.replace("_", " "): value for name, value in faults.items()})

    def file(self, number: int = NUMBER) -> Path:
        return self.root / f"etc/pve/qemu-server/{number}.conf"

    def write(self, text: str, number: int = NUMBER) -> None:
        self.file(number).write_text(text)

    def change(self, **values: str) -> None:
        """Set options of the machine's file; an empty one goes."""
        config, below, _ = self.programs().read(str(NUMBER))
        kept = {name: value for name, value in (config | values).items() if value}
        self.programs().write(str(NUMBER), kept, below)

    def conf(self):
        return parsed(NUMBER, self.file().read_text())

    def place(self, volume: str) -> Path:
        return self.programs().place_of(volume)

    def volumes(self, storage: str) -> list[str]:
        return list(self.programs().volumes_on(storage))

    def programs(self):
        programs.ROOT, programs.FILES = self.root, self.root / "etc/pve/qemu-server"
        return programs

    # Its machine

    def start(self) -> None:
        drive = self.conf().disks["scsi0"]
        words = [sys.executable, "-S", "-E", str(HERE / "machine.py"), str(self.root), str(NUMBER), "scsi0"]
        self.process = subprocess.Popen([*words, str(self.place(drive.volume))])
        self.wait(lambda: (self.root / f"run/qemu-server/{NUMBER}.pid").exists() and self._answers())

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None
        (self.root / f"run/qemu-server/{NUMBER}.pid").unlink(missing_ok=True)

    def reboot(self) -> None:
        """End everything that runs on the node, as a loss of power would, and start its machine again."""
        for process in self.of_tasks():
            os.kill(process, signal.SIGKILL)
        self.stop()
        self.idle()
        self.start()

    def acknowledged(self) -> int:
        acks = self.root / f"run/qemu-server/{NUMBER}.acks"
        return int([0, *(acks.read_text() if acks.exists() else "").split("\n")[:-1]][-1])

    def writes_on(self) -> None:
        now = self.acknowledged()
        self.wait(lambda: self.acknowledged() > now + 3)

    def lost(self, volume: str) -> list[str]:
        last = self.acknowledged()
        return machine.lost(self.place(volume), last)

    def idle(self) -> None:
        """Wait until no task of Proxmox VE runs."""
        self.wait(lambda: not self.is_at_work())

    def is_at_work(self) -> bool:
        """Tell whether a task of Proxmox VE runs: it holds its journal's lock."""
        for lock in (self.root / "var/lib/kdb-moves").glob("*/lock"):
            with lock.open() as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    return True
        return False

    def end(self) -> None:
        for process in self.of_tasks():
            os.kill(process, signal.SIGKILL)
        self.stop()
        shutil.rmtree(self.root, ignore_errors=True)

    def of_tasks(self) -> list[int]:
        """Return the processes of `qm disk move`: those that have a journal's lock open."""
        held = f"{self.root}/var/lib/kdb-moves/"
        there = []
        for folder in Path("/proc").glob("[0-9]*/fd"):
            try:
                if any(os.readlink(link).startswith(held) for link in folder.iterdir()):
                    there.append(int(folder.parent.name))
            except OSError:
                continue
        return there

    def jobs(self) -> dict[str, Any]:
        """Return the block jobs of the machine's QEMU."""
        return self.programs().qmp(str(NUMBER), do="jobs")["jobs"]

    def _answers(self) -> bool:
        try:
            return bool(self.programs().qmp(str(NUMBER), do="opened"))
        except programs.FailedError:
            return False

    @staticmethod
    def wait(condition: Callable[[], bool], seconds: float = 30) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline
            time.sleep(0.02)


def mount(target: str, source: str, kind: str) -> dict[str, Any]:
    return {"target": target, "source": source, "fstype": kind, "size": TOTAL, "avail": TOTAL // 2}


def disk(name: str, part: str, *, rota: bool) -> dict[str, Any]:
    below = [{"name": part, "path": f"/dev/{part}", "type": "part", "rota": rota, "tran": None}]
    return {"name": name, "path": f"/dev/{name}", "type": "disk", "rota": rota, "tran": "sata", "children": below}
