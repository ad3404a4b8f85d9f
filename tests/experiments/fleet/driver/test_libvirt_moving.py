"""Libvirt's driver, with a guest under emulation that writes all the while."""

import time
from itertools import count
from pathlib import Path
from xml.etree.ElementTree import Element

import pytest
from kdb_client import allowed as grammar

from experiments.fleet.driver.contract import Forbidden, ImageInUse, Move
from experiments.fleet.driver.libvirt.listing import LibvirtListing
from experiments.fleet.driver.libvirt.moving import LibvirtMoving
from experiments.laboratory.transport import ssh
from tests.experiments.fleet.driver.conformance import ListingConformance, NamingConformance
from tests.experiments.fleet.driver.machines import DISK_MIB, Machine, host_of, mount_pool
from tests.experiments.laboratory.conftest import qemu_lab, stock  # noqa: F401 - a fixture
from tests.experiments.runner import forms

pytestmark = [pytest.mark.server, pytest.mark.slow]


class Place:
    """The guest on ext4, and a pool on XFS."""

    def __init__(self, lab, driver: LibvirtMoving) -> None:
        self.lab, self.driver, self.listing = lab, driver, LibvirtListing(driver.host)
        self.first, self.second = mount_pool(lab, "ext4"), mount_pool(lab, "xfs")
        self.machine = Machine(lab, "mail-1", self.first)
        self.size_bytes = DISK_MIB * 2**20
        self.image, self._tokens, self._put = str(self.machine.image), count(1), []
        self.machine.start()

    def new_move(self, **fields) -> Move:
        token = f"k{next(self._tokens):012x}"
        there = self.second if str(self.first) in self.image else self.first
        return Move(token, self.machine.uuid, "vdb", self.image, f"{there}/mail-1.{token}.img", **fields)

    def moved(self, move: Move) -> None:
        self.image = move.new

    def exists(self, path: str) -> bool:
        return bool(self.lab.inside("find", path, "-maxdepth", "0"))

    def put(self, path: str) -> None:
        self.lab.inside("touch", path)

    def stop(self) -> None:
        self.machine.virsh("destroy", self.machine.name)

    def free_bytes(self) -> int:
        return int(self.lab.inside("df", "--output=avail", "--block-size=1", str(self.second)).split()[1])


@pytest.fixture(scope="module", params=["libvirt", pytest.param("stock", marks=pytest.mark.nightly)])
def lab(request, pytestconfig):
    """libvirt as it is built, beside this machine's programs; and a whole Debian with it."""
    if request.param == "libvirt":
        yield request.getfixturevalue("qemu_lab")
    else:
        with stock(pytestconfig) as host:
            yield host


@pytest.fixture(scope="module")
def place(lab):
    with host_of(lab) as host:
        place = Place(lab, LibvirtMoving(host))
        yield place
        place.machine.forget()


class TestLibvirt(NamingConformance, ListingConformance):
    @pytest.fixture(autouse=True)
    def _is_what_a_runner_may_be_asked(self, place, monkeypatch):
        sent, run = [], ssh.Connection.run

        def noted(machine, words, **options):
            answer = run(machine, words, **options)
            if machine.via is None:
                sent.append(words)
            return answer

        monkeypatch.setattr(ssh.Connection, "run", noted)
        yield
        of_drivers = [words for words in sent if "qemu-monitor-command" not in words]  # by which tests log in to guests
        # The laboratory's libvirt keeps the disk, not this machine's; test_allowed holds the two against each other.
        monkeypatch.setattr(grammar, "kept_disk", lambda *_: Element("disk"))
        monkeypatch.setattr(grammar, "_canonical", lambda element: "")
        assert forms.refused(of_drivers, map(str, (place.first, place.second))) == []


def test_a_machine_with_a_snapshot_or_a_path_of_odd_characters_is_not_moved(place):
    move = place.new_move()
    odd = Move(move.token, move.machine, move.disk, move.old, f"{Path(move.new).parent}/a b.{move.token}.img")
    with pytest.raises(Forbidden, match="letters"):
        place.driver.check(odd)
    with pytest.raises(Forbidden, match="token"):
        place.driver.check(Move("other", move.machine, move.disk, move.old, move.new))
    with pytest.raises(Forbidden, match="lies at"):
        place.driver.check(Move(move.token, move.machine, "vda", move.old, move.new))


def test_an_image_that_a_process_still_has_open_stays_and_is_told(place):
    move = place.new_move()
    place.put(move.new)
    follow = f"setsid tail -f {move.new} >/dev/null 2>&1 </dev/null & echo $!"
    holder = place.lab.inside("sh", "-c", follow).strip()
    time.sleep(0.5)
    with pytest.raises(ImageInUse, match=holder):
        place.driver.undo(move)
    assert place.exists(move.new)
    place.lab.inside("kill", "-KILL", holder)
    place.driver.undo(move)
    assert not place.exists(move.new)
