"""Detect, plan, move, verify, in the browser: what the third paper ends with, as an operator sees it.

Two machines of a stock Debian lie on the wrong pools. They are seen and told, planned for by what was measured on both
pools, and moved while they run and workers are killed; one move is kept, and the one that made its machine slower is
taken back.
"""

import re

import pytest

from tests.browser.test_fleet import Operator, disk_of, kill_workers, run, server  # noqa: F401 - a fixture
from tests.experiments.fleet.driver.machines import Loaded, Machine, mount_pool
from tests.experiments.laboratory.conftest import stock_lab  # noqa: F401 - a fixture
from tests.kdb.jobs.test_serve import Server, start, wait_until  # noqa: F401 - a fixture

pytestmark = [pytest.mark.nightly, pytest.mark.server, pytest.mark.slow]

TOLD_SECONDS = 1500  # detection looks every ten minutes
PREPARE = """
import django; django.setup()
from django.contrib.auth.models import User
from experiments.models import FileSystem, Hypervisor, Workload
from modelling.own_lab import laboratories
from tests.factories import entry
for slug in ("kvm", "qemu-tcg"):
    entry(Hypervisor, slug)
for slug in ("ext4", "xfs", "btrfs"):
    entry(FileSystem, slug)
for slug in ("varmail", "fileserver", "webserver", "randomfileaccess"):
    entry(Workload, slug)
laboratories.create_laboratory(User.objects.get(username="ada"), "ours", "Our laboratory")
"""
# What `kdb measure --like` would report of the load of a machine on both pools: one is six times as fast.
MEASURE = """
import sys
import django; django.setup()
from modelling.models import Laboratory
from modelling.own_lab.content import Choice
from tests.modelling.fleet.moving.test_measured_pools import measure
laboratory = Laboratory.objects.get(slug="ours")
machine, *places = sys.argv[1:]
choices = [Choice(place, place, {"guest_fs": "ext4"}) for place in places]
measure(laboratory, ratio=6.0, machine="lab", workload="", like={"machine": machine, "job": "[job]"}, choices=choices)
"""
# As if the move was hours ago, and the same load was watched for hours before and after it.
WATCHED = """
import sys
import django; django.setup()
from datetime import timedelta
from experiments.models import DiskStatistics
from kdb.jobs import jobs
from modelling.fleet.moving import outcomes
from modelling.models import PlacementMove
from tests.factories import make_minutes
before, after = ({"write_seconds": float(s), "flush_seconds": 0.75 * float(s)} for s in sys.argv[2:])
move = PlacementMove.objects.filter(machine_name=sys.argv[1]).latest("pk")
at = (move.switched_at - timedelta(hours=8)).replace(second=0, microsecond=0)
PlacementMove.objects.filter(pk=move.pk).update(started_at=at, switched_at=at)
DiskStatistics.objects.filter(disk__machine=move.machine).delete()
make_minutes(move.machine, 300, begin=at - timedelta(hours=6), **before)
make_minutes(move.machine, 300, begin=at + timedelta(minutes=1), **after)
jobs.enqueue(outcomes.JOB)
"""


@pytest.fixture
def machines(stock_lab):  # noqa: F811
    """Give mail on ext4 and files on XFS, both in pools that libvirt knows, and running."""
    points = {host_fs: mount_pool(stock_lab, host_fs) for host_fs in ("ext4", "xfs")}
    mail = Machine(stock_lab, "mail-1", points["ext4"])
    files = Loaded(stock_lab, "files-1", points["xfs"], "fileserver", 1)
    for host_fs, point in points.items():
        mail.virsh("pool-define-as", host_fs, "dir", "--target", str(point))
        mail.virsh("pool-start", host_fs)
    for machine in (mail, files):
        machine.start()
    yield mail, files
    for machine in (mail, files):
        machine.forget()
    for host_fs, point in points.items():
        mail.virsh("pool-destroy", host_fs)
        stock_lab.inside("umount", str(point))


def moves(kdb: Server) -> dict[str, str]:
    return dict(kdb.ask("SELECT machine_name, state FROM modelling_placementmove"))


def test_two_machines_are_told_and_moved_to_their_pools_and_one_is_taken_back(page, server, stock_lab, machines):  # noqa: F811
    mail, files = machines
    ext4, xfs = str(mail.image.parent), str(files.image.parent)
    ada = Operator(page, f"http://127.0.0.1:{server.port}")

    # Seen
    ada.registers_host(stock_lab)
    ada.turns_observation_on(pools=("ext4", "xfs"))
    ada.follows("mail-1")
    page.get_by_label("File system inside").select_option("ext4")
    ada.presses("Save")
    of_mail = page.url.removeprefix(ada.site)

    # Told: what is not sure is not told, but neither is taken for the other
    detected = "SELECT count(DISTINCT machine_id) FROM modelling_detectedhour WHERE minutes >= 6"
    wait_until(lambda: server.ask(detected) == [(2,)], TOLD_SECONDS)
    ada.goes(of_mail)
    told = page.locator("section[aria-labelledby=like]")
    assert "minutes watched" in told.inner_text()
    assert "File server" not in told.locator(".lead").inner_text()

    # Planned for, once each load was played on both pools
    run(server.data_dir, "-c", MEASURE, "lab/mail-1", xfs, ext4)
    run(server.data_dir, "-c", MEASURE, "lab/files-1", ext4, xfs)
    ada.goes("/placement/")
    ada.follows("Policy of Lab")
    page.get_by_label("A copy takes at most, MiB/s").fill("12")
    page.locator("[name=laboratory]").select_option(label="Our laboratory")
    ada.presses("Save")
    ada.goes("/placement/")
    page.get_by_role("checkbox", name="Lab").check()
    ada.presses("Plan")
    ada.sees("Move 2 of 2.")
    text = page.get_by_role("main").inner_text()
    assert f"Move from lab{ext4} to lab{xfs}" in text
    assert f"Move from lab{xfs} to lab{ext4}" in text

    # Moved while they run, with all workers killed in each copy
    for box in page.get_by_role("checkbox").all():
        box.check()
    ada.presses("Move what is ticked")
    for _ in machines:
        wait_until(lambda: "copying" in moves(server).values())
        kill_workers(server)
        wait_until(lambda: "copying" not in moves(server).values())
    wait_until(lambda: moves(server) == {"mail-1": "kept", "files-1": "kept"})
    assert (disk_of(mail).startswith(xfs), disk_of(files).startswith(ext4)) == (True, True)
    mail.writes_on()

    # Verified: mail is three times as fast, files half as fast
    run(server.data_dir, "-c", WATCHED, "mail-1", "18", "6")
    run(server.data_dir, "-c", WATCHED, "files-1", "6", "12")
    ada.goes("/placement/")
    ada.looks_until("kept promise")
    ada.looks_until("worse")
    shown = page.get_by_role("main").inner_text()
    assert re.search(r"mail-1.*kept promise: requests are served [23]\.\d+× as fast as before", shown)

    # Kept, and taken back
    ada.follows(re.compile("files-1.*to"))
    ada.sees("Worse: on the same load a request takes longer than before.")
    ada.moves_back()
    assert disk_of(files).startswith(xfs)
    ada.goes("/placement/")
    ada.follows(re.compile("mail-1.*to"))
    ada.presses("Remove the image that is left")
    ada.looks_until("its old image is removed")
    mail.virsh("suspend", "mail-1")
    assert mail.lost(disk_of(mail)) == []
