"""Requests to Xen, in its words; the programs that answer are played in test_hypervisors."""

import ast
import subprocess

import pytest

from experiments.laboratory.places import disks, xen
from experiments.laboratory.places.hypervisors import Guest, GuestGone, GuestStopped
from experiments.laboratory.reach import remote
from experiments.laboratory.reach.remote import Area, NotNow
from experiments.laboratory.reach.ssh import Address, Answer, Connection
from tests.experiments.laboratory import xen_programs

ROOT = "/srv/kdb/.kdb/root1"
SERVED = disks.Options(cache_mode="none", io_mode="native", disk_bus="xen", iothread="yes")


class Machine:
    """Answers what it is told to, whatever it is asked."""

    address = Address("192.0.2.1", 22, "root", "", label="xen-1")

    def __init__(self, answer: Answer) -> None:
        self.answer = answer

    def run(self, words, **_):
        return self.answer


def settings_of(root: str = ROOT, **fields) -> dict:
    defaults = {"name": "kdb-100-1", "number": 1, "image_folder": "/srv/image", "disk": "vdev=xvdf,target=/d"}
    defaults |= {"console": "/srv/kdb/.kdb/console1", "ram_mib": 512, "vcpus": 2, "accelerator": "xen"}
    lines = xen.configuration(Guest(**defaults | fields), "an-identity", root).splitlines()
    return {name.strip(): ast.literal_eval(value.strip()) for name, _, value in (line.partition("=") for line in lines)}


@pytest.fixture
def disk_words(monkeypatch):
    """Return the words of a disk as xl reads them; the image or volume is there."""

    def words(host_storage: str, options: disks.Options) -> dict[str, str]:
        path = "/dev/null" if host_storage in disks.VOLUMES else "/etc/passwd"
        monkeypatch.setattr(Area, "call", lambda *_, **__: {"path": path})
        monkeypatch.setattr(xen_programs.stat, "S_ISBLK", lambda _: path.startswith("/dev/"))
        return xen_programs.disk_of(xen.make_disk(Area(None, "/srv/kdb", 100), "fs", host_storage, 1, 320, options))

    return words


def test_a_machine_has_a_name_and_an_identity_and_ends_when_it_stops():
    settings = settings_of()
    assert (settings["name"], settings["uuid"], settings["type"]) == ("kdb-100-1", "an-identity", "pvh")
    assert settings.keys() <= xen_programs.KEYS
    assert {settings[event] for event in ("on_poweroff", "on_reboot", "on_crash")} == {"destroy"}
    assert "console=hvc0" in settings["cmdline"].split()
    assert settings["vif"] == ["type=vif,mac=00:16:3e:6b:64:62,script=/srv/kdb/.kdb/vif"]
    assert "cpus" not in settings
    assert settings_of(pinned_cpus=(2, 5))["cpus"] == ["2", "5"]


def test_a_name_goes_into_the_configuration_as_a_word_and_never_as_a_line():
    assert settings_of(image_folder='/srv/a"\nname = "Domain-0')["kernel"] == '/srv/a"\nname = "Domain-0/vmlinuz'
    assert settings_of(image_folder='/srv/a"\nname = "Domain-0')["name"] == "kdb-100-1"


def test_the_root_disk_is_the_runs_own(tmp_path):
    (tmp_path / "root1").touch()
    disk = xen_programs.disk_of(settings_of(root=f"{tmp_path}/root1")["disk"][0])
    assert (disk["vdev"], disk["format"], disk["backendtype"]) == ("xvde", "qcow2", "qdisk")
    assert xen_programs.is_served(disk)


def test_qemu_serves_no_read_only_disk():
    assert not xen_programs.is_served({"access": "ro", "backendtype": "qdisk"})
    assert xen_programs.is_served({"access": "ro", "backendtype": "phy"})


def test_an_image_is_served_by_qemu_and_a_volume_by_the_kernel(disk_words):
    disk = disk_words("ext4", SERVED)
    assert (disk["backendtype"], disk["vdev"], disk["access"], disk["format"]) == ("qdisk", "xvdf", "rw", "raw")
    assert disk.keys() >= {"direct-io-safe", "no-discard"}
    disk = disk_words(
        "xfs",
        disks.Options(
            **{"cache_mode": "writeback", "image_format": "qcow2", "allocation": "metadata"},
            **{"disk_bus": "xen", "iothread": "yes", "discard": "unmap"},
        ),
    )
    assert disk["format"] == "qcow2"
    assert "discard" in disk
    assert disk.keys().isdisjoint({"direct-io-safe", "no-discard"})
    disk = disk_words("lvm", SERVED)
    assert disk["backendtype"] == "phy"
    assert "direct-io-safe" not in disk


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        (SERVED, set()),
        (xen.USUAL, set()),
        (disks.Options(), {"disk_bus", "iothread", "cache_mode"}),
        (disks.Options(cache_mode="writeback", io_mode="native", disk_bus="xen", iothread="yes"), {"cache_mode"}),
        (disks.Options(cache_mode="none", io_mode="threads", disk_bus="xen", iothread="yes"), {"cache_mode"}),
        (disks.Options(cache_mode="unsafe", io_mode="threads", disk_bus="xen", iothread="yes"), {"cache_mode"}),
        (disks.Options(cache_mode="none", io_mode="io_uring", disk_bus="xen", iothread="yes"), {"cache_mode"}),
    ],
)
def test_what_xen_cannot_do_is_named(options, refused):
    assert {name for name, _ in xen.problems(options)} == refused
    assert bool(list(xen.problems_on_volumes(options))) == (options.cache_mode != "none")


def line(state: str) -> str:
    """Return a line as list_domains of tools/xl/xl_info.c prints it."""
    return f"Name   ID   Mem VCPUs\tState\tTime(s)\n{'kdb-100-1':<40} {7:>5} {512:>5} {1:>5}     {state}  {1.5:>8.1f}\n"


@pytest.mark.parametrize("state", ["r-----", "-b----", "------"])
def test_a_machine_that_is_scheduled_runs(state):
    xen.check_running(Machine(Answer(0, line(state).encode(), "")), "kdb-100-1")


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (Answer(0, line("--p---").encode(), ""), GuestStopped),
        (Answer(0, line("---s--").encode(), ""), GuestGone),  # it powered off, and nobody has taken it away yet
        (Answer(0, line("---sc-").encode(), ""), GuestGone),
        (Answer(0, line("-----d").encode(), ""), GuestGone),
        (Answer(0, line("-b----").replace("kdb-100-1", "kdb-100-11").encode(), ""), GuestGone),
        (Answer(1, b"", "kdb-100-1 is an invalid domain identifier (rc=-6)"), GuestGone),
        (Answer(1, b"", "cannot init xl context"), NotNow),
    ],
)
def test_a_machine_that_does_nothing_is_told_from_one_that_is_gone(answer, error):
    with pytest.raises(error):
        xen.check_running(Machine(answer), "kdb-100-1")


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (Answer(1, b"", "is an invalid domain identifier"), GuestGone),
        (Answer(1, b"", "Can't get domid"), NotNow),
        (Answer(0, b"7;reboot", ""), remote.Refused),
    ],
)
def test_there_is_no_way_into_a_machine_that_has_no_number(answer, error):
    with pytest.raises(error):
        xen.way_in(Machine(answer), "kdb-100-1")
    assert xen.way_in(Machine(Answer(0, b"7\n", "")), "kdb-100-1") == ("fe80::216:3eff:fe6b:6462%vif7.0", 22)


def test_the_way_in_reaches_ssh_as_one_word(tmp_path):
    """ssh expands what follows a percent sign in its ProxyCommand."""
    host = Connection(Address("192.0.2.1", 22, "root", "ssh-ed25519 AAAA"))
    with host, Connection(Address("fe80::1%vif7.0", 22, "root", "ssh-ed25519 AAAA"), via=host) as guest:
        command = next(word for word in guest._options if word.startswith("ProxyCommand="))
    assert "-W '[fe80::1%%vif7.0]:22' 192.0.2.1" in command


@pytest.mark.parametrize(("place", "serial"), [("vbd-51792", "kdb-under-test"), ("vbd-51776", ""), ("virtio3", "")])
def test_the_disk_under_test_is_known_by_its_place(tmp_path, place, serial):
    (tmp_path / "devices" / place / "block/xvdf").mkdir(parents=True)
    (tmp_path / "devices" / place / "block/xvdf/device").symlink_to(f"../../../{place}")
    function = remote.SCRIPT.partition("serial_of() {")[2].partition("\n}")[0]
    script = f'set -eu\nserial_of() {{{function}\n}}\nserial_of "$1"'
    done = subprocess.run(
        ["sh", "-c", script, "sh", tmp_path / "devices" / place / "block/xvdf"], capture_output=True, text=True
    )
    assert (done.stdout.strip(), done.stderr) == (serial, "")
    assert (ord("f") - ord("a")) * 16 + (202 << 8) == 51792  # xen-vbd-interface(7): xvdf
