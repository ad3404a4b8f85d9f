"""What it costs the server to watch hosts and to be asked by runners. Called by script/bench --watching.

`manage.py serve` runs on a database of its own. So many hosts, all of them one container with sshd, libvirt and a few
paused machines, are observed as users' are, by OpenSSH; so many runners, which have nothing to do, ask as kdb.py does.
Counted is what the server's processes and their ssh programs take of the processor; the container and the runners are
not. What a month of sums takes of the database is counted on rows like those that were stored.
"""

import json
import os
import subprocess
import sys
import threading
import time
from contextlib import closing, suppress
from http.client import HTTPConnection
from pathlib import Path

import psutil
from _costs import cpu_seconds, fixed_work
from bench_served import ROOT, served

WARM_SECONDS = 180  # in which all are logged in to and listed
MACHINES = 2  # of the container, all hosts have the same

PREPARE = """
import json, sys
import django; django.setup()
from django.contrib.auth.models import Group, User
from experiments.campaigns import hosts
from experiments.models import Host
count, port, host_key = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
operator = User.objects.create_user("operator")
operator.groups.add(Group.objects.get(name="operators"))
about = dict(port=port, login="root", key_name="lab", host_key=host_key, drivers=["libvirt"])
Host.objects.bulk_create(
    Host(slug=f"watched-{n}", name=f"Watched {n}", registered_by=operator, **about,
         address=f"127.{'0' * (n // 16 + 1)}.{'0' * (n % 16 + 1)}.1")  # one address, written in as many ways
    for n in range(count))
runners = [Host(slug=f"runner-{n}", name=f"Runner {n}", is_by_runner=True, registered_by=operator, drivers=["native"])
           for n in range(count)]
Host.objects.bulk_create(runners)
print(json.dumps([hosts.make_runner_token(host, user=operator) for host in runners]))
"""
OBSERVE = """
import django; django.setup()
from experiments.models import Host
Host.objects.filter(slug__startswith="watched").update(is_observed=True)
"""
SEEN = """
import django; django.setup()
from datetime import timedelta
from django.utils.timezone import now
from experiments.models import DiskStatistics, Host
late = Host.objects.filter(is_observed=True).exclude(observed_at__gt=now() - timedelta(seconds=150))
print(late.count(), "hosts were not seen for 150 s;", DiskStatistics.objects.count(), "minutes of disks stored.",
      *late.exclude(observation_error="").values_list("observation_error", flat=True)[:3])
"""
MONTH = """
import sys
import django; django.setup()
from datetime import timedelta
from django.db import connection
from django.utils.timezone import now
from experiments.fleet import statistics
from experiments.fleet.aggregation import DiskActivity
from experiments.laboratory.transport.counters import Counts
from experiments.models import DiskStatistics, ObservedDisk
disks = list(ObservedDisk.objects.values_list("pk", flat=True)[:20])
activity = DiskActivity(60.0, 42.0, Counts(1234, 98765432, 12.345, 4321, 87654321, 23.456, 321, 3.21))
def size():
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")
        cursor.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
        return cursor.fetchone()[0]
DiskStatistics.objects.all().delete()
before, end = size(), now().replace(minute=0, second=0, microsecond=0)
for span, length, number in (("minute", timedelta(minutes=1), 7 * 1440), ("hour", timedelta(hours=1), 30 * 24),
                             ("day", timedelta(days=1), 30)):
    for disk in disks:
        statistics.save([statistics.row(disk, span, end - n * length, activity) for n in range(number)])
    after = size()
    print(f"{span}s: {(after - before) / len(disks) * int(sys.argv[1]) / 2**20:.1f} MiB for {sys.argv[1]} disks")
    before = after
"""


class Runner(threading.Thread):
    """A runner that has nothing to do."""

    def __init__(self, port: int, key: str) -> None:
        super().__init__(daemon=True)
        self.port, self.key, self.asked = port, key, 0

    def run(self) -> None:
        body = json.dumps({"runner": f"bench-{self.key[-8:]}", "held": [], "room": 4})
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        while True:
            pause = 15
            with suppress(OSError), closing(HTTPConnection("127.0.0.1", self.port, timeout=60)) as connection:
                connection.request("POST", "/api/v1/runner/lease/", body, headers)
                answer = connection.getresponse()
                text = answer.read()
                if answer.status == 200:
                    pause = json.loads(text)["pause_seconds"]
                    self.asked += 1
            time.sleep(pause)


def ssh_seconds(serve: int, gone: dict[int, float]) -> float:
    """Return CPU seconds of connections that are no children of the server. gone : keeps those that ended"""
    children = {child.pid for child in psutil.Process(serve).children(recursive=True)}
    for process in psutil.process_iter():
        with suppress(psutil.NoSuchProcess):
            if process.pid not in children and "kdb-ssh-persistent" in " ".join(process.cmdline()):
                gone[process.pid] = sum(process.cpu_times()[:2])
    return sum(gone.values())


def measure_watching(number: int, seconds: int) -> None:
    """Print what so many observed hosts and so many runners cost together."""
    from bench import PAUSED_MACHINE

    from tests.experiments.laboratory.lab import laboratory

    with laboratory(with_libvirt=True) as lab:
        for index in range(MACHINES):
            image = lab.pool / f"{index}.raw"
            image.touch()
            os.truncate(image, 2**24)
            definition = Path(lab.pool, f"{index}.xml")
            definition.write_text(PAUSED_MACHINE.format(name=f"paused-{index}", image=image))
            lab.inside("virsh", "-c", "qemu:///system", "create", "--paused", str(definition))
        with served("sqlite", environment={"KEYS_DIR": str(lab.folder / "keys")}) as server:
            environment = {"PATH": os.environ["PATH"], "DATA_DIR": str(server.data_dir)}
            environment |= {"DJANGO_SETTINGS_MODULE": "kdb.settings.local"}

            def python(code: str, *words: object) -> str:
                command = [sys.executable, "-c", code, *map(str, words)]
                done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
                return done.stdout.strip()

            keys = json.loads(python(PREPARE, number, lab.port, lab.host_key))
            server.wait_for_calm()
            masters: dict[int, float] = {}

            def spend(what: str) -> None:
                before = (cpu_seconds(server.serve), ssh_seconds(server.serve, masters), time.monotonic())
                asked = sum(runner.asked for runner in runners)
                while time.monotonic() < before[2] + seconds:
                    time.sleep(5)
                    ssh_seconds(server.serve, masters)
                took = time.monotonic() - before[2]
                serve, ssh = (
                    (cpu_seconds(server.serve) - before[0]) / took,
                    (ssh_seconds(server.serve, masters) - before[1]) / took,
                )
                asked = sum(runner.asked for runner in runners) - asked
                print(
                    f"{what}: {serve + ssh:.1%} of a core, {ssh:.1%} of it connections; {asked / took:.1f} polls a "
                    f"second; the fixed work takes {fixed_work():.0f} ms",
                    flush=True,
                )

            runners: list[Runner] = []
            spend("at rest")
            runners += [Runner(server.port, key) for key in keys]
            for runner in runners:
                runner.start()
            time.sleep(min(60, WARM_SECONDS))
            spend(f"{number} runners")
            python(OBSERVE)
            time.sleep(WARM_SECONDS)
            spend(f"{number} runners and {number} observed hosts")
            print(python(SEEN), flush=True)
            print(python(MONTH, number))
