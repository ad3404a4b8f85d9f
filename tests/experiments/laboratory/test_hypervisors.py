"""libvirt held to the contract of makers of virtual machines; test_real_xen.py does so with Xen."""

import pytest

from experiments.laboratory.targets import libvirt
from experiments.laboratory.transport import remote
from experiments.laboratory.transport.remote import Area
from tests.experiments.laboratory.conformance import Conformance
from tests.experiments.laboratory.conftest import wait_until

pytestmark = [pytest.mark.nightly, pytest.mark.server, pytest.mark.slow]


class TestLibvirt(Conformance):
    hypervisor = libvirt
    driver = "libvirt"

    @pytest.fixture
    def lab(self, qemu_lab):
        return qemu_lab

    def suspend(self, lab, name):
        lab.inside("virsh", "-c", libvirt.URI, "suspend", name)

    def resume(self, lab, name):
        lab.inside("virsh", "-c", libvirt.URI, "resume", name)

    def leave(self, lab):
        lab.inside("pkill", "libvirtd")
        wait_until(lambda: not lab.inside("pgrep", "libvirtd"))

    def come_back(self, lab):
        lab.inside("libvirtd", "-d")

    @pytest.mark.parametrize("part", ["pool", "guest-image", "guest-image/initrd"])
    def test_what_who_runs_guests_may_not_reach_is_refused_by_its_name(self, lab, host, part):
        area = Area(host, str(lab.pool), 400)
        area.call("begin")
        barred = lab.folder / part
        rights = barred.stat().st_mode
        barred.chmod(0o700)
        try:
            with pytest.raises(remote.Refused, match=f"machines as libvirt-qemu, who may not .*rights of {barred}$"):
                self.hypervisor.start(area, self.guest(lab, area))
        finally:
            barred.chmod(rights)
            area.call("clean", timeout=60)
        assert lab.left_overs() == []

    def test_the_log_of_a_guest_goes_with_it_and_others_stay(self, lab, host):
        logs = ["sh", "-c", "ls /var/log/libvirt/qemu"]
        # libvirt makes the folder with its first machine.
        lab.inside("sh", "-c", "mkdir -p /var/log/libvirt/qemu && touch /var/log/libvirt/qemu/kdb-100-11.log")
        with self.made(lab, host, 100) as guest:
            assert f"{guest.name}.log" in lab.inside(*logs).split()
        assert lab.inside(*logs).split() == ["kdb-100-11.log"]

    def test_a_machine_of_another_kdb_with_the_same_name_is_neither_taken_nor_ended(self, lab, host):
        xml = "<domain type='qemu'><name>kdb-400-1</name><memory>1</memory><os><type>hvm</type></os></domain>"
        lab.inside("sh", "-c", f'echo "{xml}" | virsh -c {libvirt.URI} define /dev/stdin')
        area = Area(host, str(lab.pool), 400)
        area.call("begin")
        try:
            with pytest.raises(remote.NotNow, match="kdb-400-1 is there already, and is not this campaign's"):
                self.hypervisor.start(area, self.guest(lab, area))
            area.call("clean", timeout=60)
            assert "kdb-400-1" in lab.inside("virsh", "-c", libvirt.URI, "list", "--all", "--name")
        finally:
            lab.inside("virsh", "-c", libvirt.URI, "undefine", "kdb-400-1")
        assert lab.left_overs() == []
