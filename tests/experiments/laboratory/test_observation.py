"""Machines that a campaign did not make, on a real host of libvirt: found, watched, and missed when they stop."""

import threading
import time
from contextlib import ExitStack

import pytest
from django.db import connection
from django.utils.timezone import now

from experiments.campaigns import hosts
from experiments.fleet import actions, watching
from experiments.laboratory.targets import drivers, libvirt
from experiments.laboratory.targets.drivers import RunSpec
from experiments.laboratory.transport import remote
from experiments.models import DiskStatistics, Host, ObservedMachine
from kdb.models import Job
from tests import factories
from tests.experiments.fleet.visits import watch_for
from tests.experiments.laboratory.conftest import do, wait_until

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.django_db(transaction=True)]
MIB = 2**20


@pytest.fixture(params=["qemu_lab", pytest.param("stock_lab", marks=pytest.mark.nightly)])
def lab(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def host(lab, keys):
    keys(lab)
    about = {"address": "127.0.0.1", "port": lab.port, "key_name": "lab", "host_key": lab.host_key}
    return factories.make_host(login=lab.login, uses_sudo=lab.login != "root", pools=(str(lab.pool),), **about)


@pytest.fixture
def mail(host, lab, monkeypatch):
    """Give a machine of somebody else's, ext4 on XFS, that runs."""
    monkeypatch.setattr(drivers, "domain_name", lambda token, number: "mail")
    with ExitStack() as stack:
        machine = stack.enter_context(hosts.connect(host))
        host_key = (lab.image / "image.json").read_text().partition('"host_key": "')[2].partition('"')[0]
        wanted = RunSpec(
            **{"token": 7, "host_fs": "xfs", "guest_fs": "ext4", "pool": str(lab.pool), "makes_image": True},
            **{"host_disk_mib": 512, "disk_mib": 256, "vm_count": 1, "ram_mib": 384, "vcpus": 1},
            **{"image_folder": str(lab.image), "image_host_key": host_key, "accelerator": "qemu"},
        )
        area = remote.Area(machine, str(lab.pool), 7)
        stack.callback(area.call, "clean", timeout=180)
        (guest,) = drivers.guests(stack, libvirt, machine, wanted, lambda text: None, lambda: None)
        guest.area.machine.run(["sync"])
        yield guest


def reads(guest, mib: int) -> None:
    read = ["dd", "if=/dev/vdb", "of=/dev/null", "iflag=direct", "bs=1M", f"count={mib}"]
    assert guest.area.machine.run(read).status == 0


def read_by(machine: ObservedMachine) -> int:
    return sum(row.read_bytes for row in DiskStatistics.objects.filter(disk__machine=machine))


def test_a_machine_is_found_watched_and_missed(host, mail, lab):
    actions.turn_on(host, user=None, every=5)
    host.refresh_from_db()

    def work() -> None:
        wait_until(ObservedMachine.objects.exclude(guest_fs="").exists)  # then the looks begin
        time.sleep(2)
        reads(mail, 40)
        connection.close()

    worker = threading.Thread(target=work)
    worker.start()
    assert watch_for(host, 11)
    worker.join()

    machine = ObservedMachine.objects.get()
    (disk,) = machine.disks.select_related("pool")
    assert (machine.name, machine.is_running) == ("mail", True)
    assert (machine.guest_fs, machine.guest_fs_source) == ("ext4", "superblock")
    assert (disk.target, disk.image_format, disk.cache_mode, disk.has_backing_chain) == ("vdb", "raw", "none", False)
    assert (disk.size_bytes, disk.pool.host_fs, disk.pool.backend) == (256 * MIB, "xfs", "file")
    assert disk.path.startswith(disk.pool.path)
    seen = list(DiskStatistics.objects.all())
    assert 9 <= sum(row.seconds for row in seen) <= 15
    assert 40 * MIB <= sum(row.read_bytes for row in seen) <= 42 * MIB

    # What it did while nobody looked is known by the next look.
    reads(mail, 10)
    watch_for(host, 1)
    assert 50 * MIB <= sum(row.read_bytes for row in DiskStatistics.objects.all()) <= 52 * MIB

    # The daemon is gone: said, and no row.
    rows = DiskStatistics.objects.count()
    lab.stop_libvirt()
    try:
        assert not watch_for(host, 1)
        host.refresh_from_db()
        assert "virsh list" in host.observation_error
        assert DiskStatistics.objects.count() == rows
    finally:
        lab.start_libvirt()
        wait_until(lambda: "mail" in lab.inside("virsh", "-c", libvirt.URI, "--quiet", "list", "--name"))

    # Made anew: the same name on the same image, another UUID. What it does is its own from the first look.
    virsh = f"virsh -c {libvirt.URI}"
    anew = (
        f"definition=$({virsh} dumpxml mail --inactive | sed '/<uuid>/d'); {virsh} destroy mail; {virsh} undefine mail"
    )
    lab.inside("sh", "-c", f'{anew}; echo "$definition" | {virsh} define /dev/stdin && {virsh} start mail')
    Host.objects.update(listed_at=now() - watching.LIST_NEW)  # since when what is not known is listed again
    watch_for(host, 6)
    machine.refresh_from_db()
    (other,) = ObservedMachine.objects.exclude(pk=machine.pk)
    assert (machine.is_running, other.is_running, other.name) == (False, True, "mail")
    # Two looks are needed, which take longer than six seconds on a busy machine.
    wait_until(lambda: watch_for(host, 6) and DiskStatistics.objects.filter(disk__machine=other).exists())
    assert read_by(machine) <= 52 * MIB

    lab.inside("virsh", "-c", libvirt.URI, "destroy", "mail")
    (job,) = Job.objects.filter(kind=watching.JOB)
    watching.SECONDS, before = 7, watching.SECONDS  # it is due five after the last look
    try:
        do(job)
    finally:
        watching.SECONDS = before
    host.refresh_from_db()
    other.refresh_from_db()
    assert (other.is_running, host.observation_error) == (False, "")
    assert read_by(machine) <= 52 * MIB
