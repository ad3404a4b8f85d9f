"""Tests that every maker of a campaign's virtual machines must pass (laboratory.targets.hypervisors.Hypervisor).

A class of tests of one such module inherits these, and says how a person would treat its machines.
"""

import json
from contextlib import contextmanager

import pytest

from experiments.laboratory.targets import disks, drivers, hypervisors
from experiments.laboratory.targets.hypervisors import Guest, GuestGone, GuestStopped
from experiments.laboratory.transport import remote, ssh
from experiments.laboratory.transport.remote import Area
from tests.experiments.laboratory.conftest import wait_until

MIB = 96


class Conformance:
    """hypervisor : the module, and `driver` its name; a fixture `lab` gives a started laboratory with `image`

    place, host_storage : of its disks; an empty place is a folder of the area
    """

    hypervisor: hypervisors.Hypervisor
    driver = ""
    place = ""
    host_storage = "raw"
    options = disks.Options()

    def suspend(self, lab, name: str) -> None: ...

    def resume(self, lab, name: str) -> None: ...

    def leave(self, lab) -> None:
        """Let the hypervisor fall silent; its machines run on."""

    def come_back(self, lab) -> None: ...

    @pytest.fixture
    def host(self, lab):
        address = ssh.Address("127.0.0.1", lab.port, "root", lab.host_key, lab.folder / "keys/lab")
        with ssh.Connection(address) as connection:
            yield connection

    @contextmanager
    def made(self, lab, host, token: int, number: int = 1):
        """Give a guest of this attempt that has come up; whatever happens, its area is cleaned."""
        area = Area(host, str(lab.pool), token)
        area.call("begin", self.driver, timeout=60)
        try:
            guest = self.guest(lab, area, number)
            self.hypervisor.start(area, guest)
            hypervisors.wait_ready(self.hypervisor, area, guest)
            yield guest
        finally:
            area.call("clean", timeout=60)

    def guest(self, lab, area: Area, number: int = 1) -> Guest:
        disk = self.hypervisor.make_disk(area, self.place, self.host_storage, number, MIB, self.options)
        return Guest(
            name=drivers.domain_name(area.token, number),
            number=number,
            image_folder=str(lab.image),
            disk=disk,
            console=f"{area.pool}/.kdb/console{number}",
            ram_mib=384,
            vcpus=1,
            accelerator="qemu",
            options=self.options,
        )

    def test_a_machine_comes_up_and_has_the_disk_that_was_asked_for(self, lab, host):
        with self.made(lab, host, 100) as guest:
            self.hypervisor.check_running(host, guest.name)
            key = json.loads((lab.image / "image.json").read_text())["host_key"]
            with drivers.log_in(self.hypervisor, host, guest.name, key, lambda: None) as inside:
                area = Area(inside, hypervisors.GUEST_POOL, 100)
                area.call("begin")
                area.call("format-disk", "fs", hypervisors.SERIAL, "ext4", timeout=60)
                device = inside.run(["findmnt", "-n", "-o", "SOURCE", f"{area.pool}/.kdb/fs"]).text.strip()
                assert inside.run(["blockdev", "--getsize64", device]).text.strip() == str(MIB * 2**20)
                assert inside.run(["ip", "route", "get", "192.0.2.1"]).text.startswith("192.0.2.1 via 10.0.2.2")
        assert lab.left_overs() == []

    def is_gone(self, host, name: str) -> bool:
        try:
            self.hypervisor.check_running(host, name)
        except GuestGone:
            return True
        return False

    def test_a_machine_that_stands_still_is_told_from_one_that_is_gone(self, lab, host):
        with self.made(lab, host, 200) as guest:
            self.suspend(lab, guest.name)
            with pytest.raises(GuestStopped, match="paused"):
                self.hypervisor.check_running(host, guest.name)
            self.resume(lab, guest.name)
            self.hypervisor.check_running(host, guest.name)
            lab.inside("pkill", "-KILL", "qemu-system")
            wait_until(lambda: self.is_gone(host, guest.name), 30)  # the hypervisor notices it in its own time
        with pytest.raises(GuestGone, match="is gone"):
            self.hypervisor.check_running(host, guest.name)
        assert lab.left_overs() == []

    def test_a_later_attempt_ends_the_machines_of_an_earlier_one(self, lab, host):
        with self.made(lab, host, 300) as guest:
            later = Area(host, str(lab.pool), 301)
            later.call("begin", timeout=60)
            with pytest.raises(GuestGone):
                self.hypervisor.check_running(host, guest.name)
            with pytest.raises(remote.Superseded):
                self.hypervisor.start(Area(host, str(lab.pool), 300), guest)
            later.call("clean", timeout=60)
            Area(host, str(lab.pool), 301).call("clean", timeout=60)  # nothing is left, and nothing is wrong
            later.call("begin", timeout=60)  # so that the end of the first is superseded, as it is in life
            later.call("clean", timeout=60)
        assert lab.left_overs() == []

    # What happened, how it is known, and what follows: docs/campaigns.md, "What can go wrong"

    def test_a_hypervisor_that_does_not_answer_says_nothing_of_its_machines(self, lab, host):
        with self.made(lab, host, 1000) as guest:
            area = Area(host, str(lab.pool), 1000)
            self.leave(lab)
            try:
                with pytest.raises(remote.NotNow):
                    self.hypervisor.check_running(host, guest.name)
                with pytest.raises(remote.NotNow, match="does not say"):
                    area.call("clean", timeout=60)
                with pytest.raises(remote.NotNow, match="does not say"):
                    Area(host, str(lab.pool), 1001).call("begin", self.driver, timeout=60)
                with pytest.raises(remote.NotNow, match="does not say"):
                    remote.call(host, "ready", str(lab.pool), 0, self.driver)
            finally:
                self.come_back(lab)
            self.hypervisor.check_running(host, guest.name)
            key = json.loads((lab.image / "image.json").read_text())["host_key"]
            with drivers.log_in(self.hypervisor, host, guest.name, key, lambda: None) as inside:
                assert inside.run(["echo", "still here"]).text == "still here\n"
        assert lab.left_overs() == []

    def test_what_a_removed_area_leaves_is_named_and_taken_away_on_order_only(self, lab, host):
        """`rm -rf` of the area takes the notes along, and ends nothing."""
        pool = str(lab.pool)
        with self.made(lab, host, 1100) as guest:
            area = Area(host, pool, 1100)
            area.call("make-fs", "fs", 64, "ext4")
            assert drivers.find_leftovers(host, [pool], [self.driver]) == []  # the area knows it
            lab.inside("rm", "-rf", f"{pool}/.kdb")
            with pytest.raises(remote.Leftovers):
                area.call("clean", timeout=60)
            with pytest.raises(remote.Leftovers) as refused:
                Area(host, pool, 1101).call("begin", self.driver, timeout=60)
            named = drivers.find_leftovers(host, [pool], [self.driver])
            assert f"virtual machine {guest.name} in {pool}" in named
            assert f"mount {pool}/.kdb/fs in {pool}" in named
            assert [line for line in named if line.startswith("loop device /dev/loop")]
            for line in named:
                assert line.removesuffix(f" in {pool}") in str(refused.value)
            self.hypervisor.check_running(host, guest.name)
            lab.inside("touch", f"{pool}/.kdb/benchmark.samples")  # as one that is under way writes on
            assert drivers.find_leftovers(host, [pool], [self.driver], clear=True) == []
            with pytest.raises(GuestGone):
                self.hypervisor.check_running(host, guest.name)
        assert lab.left_overs() == []

    def test_what_lies_in_another_pool_is_nobodys_left_over(self, lab, host):
        """Another KDB may have a pool on this host, and machines of the same names."""
        other = lab.folder / "other"
        other.mkdir()
        try:
            with self.made(lab, host, 1200) as guest:
                assert drivers.find_leftovers(host, [str(other)], [self.driver], clear=True) == []
                self.hypervisor.check_running(host, guest.name)
        finally:
            other.rmdir()
        assert lab.left_overs() == []
