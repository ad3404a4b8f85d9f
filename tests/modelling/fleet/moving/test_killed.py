"""Whatever is killed in the middle of a move: the machine has one whole image, and the record says which.

Three kills in the suite; KDB_KILLS=100 asks for a hundred, with their result printed as a table (docs/placement.md).
"""

import os
import random
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tests.experiments.fleet.driver.machines import Machine, mount_pool
from tests.experiments.laboratory.conftest import qemu_lab, wait_until  # noqa: F401 - a fixture
from tests.kdb.jobs.test_worker import Place, kill

pytestmark = [pytest.mark.nightly, pytest.mark.server, pytest.mark.slow]

KILLS = int(os.environ.get("KDB_KILLS", "3"))
SEED = int(os.environ.get("KDB_SEED", "16"))
LONGEST_SECONDS = 300  # until a move ends after a kill, on a machine that has much else to do
PREPARE = """
import django; django.setup()
from django.utils.timezone import now
from experiments.models import ObservedDisk, ObservedMachine, ObservedPool
from modelling.models import PlacementPolicy
from tests import factories
host = factories.make_host("lab", pools=(), address="127.0.0.1", port={port}, login="root", key_name="lab",
                           host_key={host_key!r}, drivers=["libvirt"])
PlacementPolicy.objects.create(host=host, copy_rate_mib=24)
pools = [ObservedPool.objects.create(host=host, path=path, backend="file", host_fs=fs, size_bytes=1, free_bytes=1,
                                     seen_at=now(), is_target=True) for fs, path in {pools!r}]
machine = ObservedMachine.objects.create(host=host, uuid={uuid!r}, name="mail-1", is_running=True, seen_at=now())
ObservedDisk.objects.create(machine=machine, target="vdb", pool=pools[0], path={image!r}, image_format="raw",
                            size_bytes=1, allocated_bytes=1, seen_at=now())
"""
WORKER = "tests.modelling.fleet.moving.worker"
ENDED = ("done", "failed", "cancelled", "undone")


class Scene:
    """A host, its machine that writes, and a worker that moves its disk to and fro."""

    def __init__(self, place: Place, lab) -> None:
        self.place, self.lab = place, lab
        self.chance = random.Random(SEED)
        self.pools = [mount_pool(lab, "ext4", 256), mount_pool(lab, "xfs", 320)]
        self.machine = Machine(lab, "mail-1", self.pools[0])
        place.environment |= {"KEYS_DIR": str(lab.folder / "keys"), "ENOUGH": str(place.data_dir / "enough")}
        self.prepare()
        self.machine.start()
        self.worker = self.place.start_worker(WORKER)

    def prepare(self) -> None:
        pools = [("ext4", str(self.pools[0])), ("xfs", str(self.pools[1]))]
        about = {"port": self.lab.port, "host_key": self.lab.host_key, "pools": pools, "uuid": self.machine.uuid}
        self.place.run_python("-c", PREPARE.format(**about, image=str(self.machine.image)))

    def move(self) -> dict:
        """Return the latest move as its row says."""
        with closing(sqlite3.connect(self.place.data_dir / "kdb.sqlite3", timeout=30)) as database:
            database.row_factory = sqlite3.Row
            row = database.execute("SELECT * FROM modelling_placementmove ORDER BY id DESC LIMIT 1").fetchone()
        return dict(row) if row else {"id": 0, "state": ""}

    def has_ended(self) -> bool:
        row = self.move()
        return row["state"] in ENDED or (row["state"] == "kept" and bool(row["left_over"]))

    def told(self) -> set[str]:
        """Images that rows say are left."""
        with closing(sqlite3.connect(self.place.data_dir / "kdb.sqlite3", timeout=30)) as database:
            return {path for (path,) in database.execute("SELECT left_over FROM modelling_placementmove")}

    def said(self) -> str:
        with closing(sqlite3.connect(self.place.data_dir / "kdb.sqlite3", timeout=30)) as database:
            lines = database.execute("SELECT move_id, text FROM modelling_moveline ORDER BY id DESC LIMIT 20")
            return "\n".join(f"{move}: {text}" for move, text in reversed(lines.fetchall()))

    # What is killed

    def kill_worker(self) -> None:
        kill(self.worker)
        self.worker = self.place.start_worker(WORKER)

    def kill_ssh(self) -> None:
        """Kill every connection of the worker to the host."""
        listed = subprocess.run(["pgrep", "-af", "kdb-ssh-"], capture_output=True, text=True).stdout.splitlines()
        for line in listed:
            if f"-p {self.lab.port} " in line:
                with_id = int(line.split()[0])
                with suppress(ProcessLookupError):
                    os.kill(with_id, signal.SIGKILL)

    def inside(self, pattern: str) -> list[str]:
        return self.lab.inside("pgrep", "-f", pattern).split()

    def kill_libvirtd(self) -> None:
        for process in self.inside("^libvirtd"):
            self.lab.inside("kill", "-KILL", process)
        time.sleep(self.chance.choice((0, 1)))
        self.lab.inside("libvirtd", "-d")
        wait_until(lambda: self.machine.virsh("uri"), 60)

    def kill_qemu(self) -> None:
        for process in self.inside("guest=mail-1"):
            self.lab.inside("kill", "-KILL", process)
        wait_until(lambda: self.machine.state == "shut off", 60)

    def kill_step(self) -> None:
        """Kill the shell that does a step of the move on the host."""
        for process in self.inside("kdb-remote"):
            self.lab.inside("kill", "-KILL", process)

    def fill_target(self) -> None:
        row = self.move()
        pool = next(pool for pool in self.pools if str(row["new_path"]).startswith(f"{pool}/"))
        filler = str(pool / "filler")
        free = int(self.lab.inside("df", "--output=avail", "--block-size=1", str(pool)).split()[1])
        self.lab.inside("fallocate", "--length", str(max(free - 2**20, 4096)), filler)
        time.sleep(2)
        self.lab.inside("rm", filler)

    def restart_host(self) -> None:
        """Restart the host as if its power was cut; but what its kernel holds of files is not lost."""
        self.lab.stop()
        wait_until(lambda: not [line for line in _loops() if str(self.lab.folder) in line], 60)
        self.lab.start()
        for pool in self.pools:
            image = self.lab.folder / f"{pool.name}.pool"
            self.lab.inside("mount", "-o", "loop", str(image), str(pool))
        wait_until(lambda: self.machine.virsh("uri"), 60)

    # What must hold

    def source(self) -> str:
        which = ("--inactive",) if self.machine.state == "shut off" else ()
        listed = self.machine.virsh("domblklist", "mail-1", *which).splitlines()
        return next(line.split()[1] for line in listed if line.split()[:1] == ["vdb"])

    def check_stopped(self) -> None:
        """Check that a machine that was stopped starts from an image that holds all it was promised."""
        if self.machine.state == "shut off":
            lost = self.machine.lost(image := self.source())
            assert lost == [], f"{image}: {lost[:5]}\n{self.said()}"
            self.machine.start()

    def check_whole(self, row: dict) -> None:
        self.machine.writes_on()
        self.machine.virsh("suspend", "mail-1")
        lost, image = self.machine.lost(self.source()), self.source()
        self.machine.virsh("resume", "mail-1")
        assert lost == [], f"{image}: {lost[:5]}\n{self.said()}"
        assert image == {"old": row["old_path"], "new": row["new_path"]}[row["runs_from"]], self.said()
        assert row["runs_from"] == ("old" if row["state"] in ("failed", "cancelled") else "new"), self.said()
        left = self.lab.inside("find", *map(str, self.pools), "-type", "f").split()
        later = self.move()
        mine = {image, *self.told()} if later["id"] == row["id"] else {image, later["new_path"], *self.told()}
        assert set(left) - mine == set(), self.said()


def _loops() -> list[str]:
    return subprocess.run(["losetup", "--list", "--noheadings"], capture_output=True, text=True).stdout.splitlines()


@pytest.fixture
def scene(tmp_path, migrated_sqlite, qemu_lab):  # noqa: F811
    place = Place(tmp_path, migrated_sqlite)
    place.environment["DJANGO_SETTINGS_MODULE"] = "tests.background.settings"
    scene = Scene(place, qemu_lab)
    yield scene
    for worker in place.workers:
        kill(worker)
    scene.machine.forget()
    for pool in scene.pools:
        qemu_lab.inside("umount", str(pool))


def test_whatever_is_killed_no_acknowledged_record_is_lost(scene):
    chance = scene.chance
    deeds = [scene.kill_worker, scene.kill_ssh, scene.kill_libvirtd, scene.kill_qemu, scene.kill_step]
    deeds += [scene.fill_target, scene.restart_host]
    counted: Counter[tuple[str, str]] = Counter()
    ended: Counter[str] = Counter()
    enough = Path(scene.place.environment["ENOUGH"])
    left = [deeds[number % len(deeds)] for number in range(KILLS)]
    chance.shuffle(left)
    while left:
        before = scene.move()["id"]
        enough.unlink(missing_ok=True)
        wait_until(lambda last=before: scene.move()["id"] > last, LONGEST_SECONDS)
        enough.touch()
        for _ in range(chance.randint(1, 4)):  # some moves are let come to their end
            time.sleep(chance.uniform(0, 5))
            if not left or scene.has_ended():
                break
            deed, row = left.pop(), scene.move()
            counted[deed.__name__, f"{row['state']}: {row['step'].partition(':')[0]}"] += 1
            deed()
            print(f"{KILLS - len(left)}: {deed.__name__} while {row['state']} {row['step']}", flush=True)
            scene.check_stopped()
        wait_until(scene.has_ended, LONGEST_SECONDS)
        row = scene.move()
        scene.check_whole(row)
        ended[row["state"]] += 1
        print(f"move {row['id']}: {row['state']} {row['reason']}", flush=True)
    for (name, at), times in sorted(counted.items()):
        print(f"| {name} | {at} | {times} |")
    print(f"{sum(counted.values())} kills, {sum(ended.values())} moves: {dict(ended)}")
    print(f"{scene.machine.acknowledgements()} records were acknowledged, none is lost")
    assert sum(counted.values()) == KILLS
