"""A node of Proxmox VE listed by its API with a token: as by its commands, with few rights, and what may go wrong."""

import logging
import re
import socket
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.fleet.driver.contract import Move
from experiments.fleet.driver.proxmox import listing, listing_by_api
from experiments.laboratory.places.proxmox import asked
from experiments.laboratory.reach import proxmox_api, remote, ssh
from experiments.laboratory.reach.proxmox_api import ApiConnection
from tests.experiments.fleet.driver.conformance import ListingConformance
from tests.experiments.fleet.driver.proxmox.door import ALL, TOKEN, Door
from tests.experiments.fleet.driver.proxmox.node import NUMBER, SIZE, TOTAL, UUID, LocalConnection, Node
from tests.experiments.fleet.driver.proxmox.test_listing import CONFIGURATION

pytestmark = pytest.mark.server

PAGE = Path("docs/observation.md")
SECRET = TOKEN.partition("=")[2]


class Place:
    """The node as the conformance suite asks for it, by its API."""

    listing = listing_by_api
    size_bytes = SIZE

    def __init__(self, node: Node, door: Door, host: ApiConnection) -> None:
        self.node = self.machine = node
        self.door, self.host = door, host

    def new_move(self) -> Move:
        return Move("t0001", UUID, "scsi0", self.node.conf().disks["scsi0"].volume, "fast:")

    def stop(self) -> None:
        self.node.stop()


@pytest.fixture
def key_file(tmp_path) -> Path:
    file = tmp_path / "pve-1.token"
    file.write_text(f"{TOKEN}\n")
    return file


@pytest.fixture
def place(tmp_path, key_file):
    with ExitStack() as stack:
        node = Node()
        stack.callback(node.end)
        node.programs()
        door = stack.enter_context(Door(tmp_path))
        address = ssh.Address(
            "127.0.0.1", door.port, "root", f"certificate {door.fingerprint}", key_file, label="pve-1"
        )
        yield Place(node, door, stack.enter_context(ApiConnection(address)))


def another(place: Place, **fields) -> ApiConnection:
    return ApiConnection(replace(place.host.address, **fields))


class TestByTheApi(ListingConformance):
    @pytest.fixture(autouse=True)
    def _machine_runs(self, place):
        place.node.start()


# What is told


def test_both_doors_give_one_list(place):
    mounted = {"target": "/mnt/pve/more", "source": "/dev/sdb1", "fstype": "xfs", "size": TOTAL, "avail": TOTAL}
    more = {
        "more": {"type": "dir", "path": "/mnt/pve/more", "content": "images", "total": TOTAL},
        "thin": {"type": "lvmthin", "vgname": "vg", "content": "images", "total": TOTAL},
        "isos": {"type": "dir", "path": "/srv/slow", "content": "iso", "total": TOTAL},
        "away": {"type": "dir", "path": "/srv/slow", "content": "images", "total": TOTAL, "active": 0},
    }
    slow = place.node.state["storages"].pop("slow") | {"path": "/mnt/pve/slow"}
    place.node.keep(
        storages={"slow": slow, **place.node.state["storages"], **more},
        directories={"/mnt/pve/more": "xfs", "/mnt/pve/slow": "ext4"},
        findmnt={"filesystems": [mounted, mounted | {"target": "/mnt/pve/slow", "fstype": "ext4"}]},
    )
    for number, text in {
        101: CONFIGURATION,
        102: "name: a\ntemplate: 1\n",
        901_234_507: "name: kdb-1234502-7\n",
    }.items():
        place.node.write(text, number)
    for volume in (place.node.first, "slow:101/vm-101-disk-0.qcow2"):
        image = place.node.place(volume)
        image.parent.mkdir(parents=True)
        image.write_bytes(bytes(3 * 2**20))
    by_commands = listing.listing(LocalConnection(place.node.root))
    by_api = listing_by_api.listing(place.host)
    assert by_api.machines == by_commands.machines
    assert [machine.name for machine in by_api.machines] == ["mail-1", "web"]
    assert [disk.has_backing_chain for disk in by_api.machines[1].disks] == [False, True, True]  # scsi0: a snapshot
    kinds = {pool.path: (pool.backend, pool.host_fs) for pool in by_api.pools}
    assert kinds == {pool.path: (pool.backend, pool.host_fs) for pool in by_commands.pools}
    assert kinds == {"slow": ("file", "ext4"), "fast": ("zvol", ""), "more": ("file", "xfs"), "thin": ("lvm-thin", "")}


def test_a_look_is_one_request_and_every_request_only_reads(place):
    listing_by_api.counts(place.host)
    assert place.door.asked == [("GET", "/nodes/localhost/qemu")]
    listing_by_api.listing(place.host)
    assert {method for method, _ in place.door.asked} == {"GET"}


def test_the_agent_tells_the_file_systems_inside_or_that_it_does_not_run(place):
    (machine,) = listing_by_api.listing(place.host).machines
    with pytest.raises(remote.Refused, match="500 QEMU guest agent is not running"):
        listing_by_api.file_systems_by_agent(place.host, machine)
    place.node.keep(agents={"100": [{"type": "ext4"}, {"type": "vfat"}]})
    assert listing_by_api.file_systems_by_agent(place.host, machine) == ["ext4"]


def test_a_machine_that_goes_while_it_is_listed_is_left_out(place, monkeypatch):
    place.node.write("name: gone\n", 101)
    answered = place.node.programs().answered

    def gone(words):
        answer = answered(words)
        place.node.file(101).unlink(missing_ok=True)
        return answer

    monkeypatch.setattr(place.node.programs(), "answered", gone)
    assert [machine.number for machine in listing_by_api.listing(place.host).machines] == [NUMBER]


# Rights


def test_the_roles_that_the_page_of_observation_names_suffice(place):
    observe, folders = re.findall(r'pveum role add \w+ --privs "(.*?)"', PAGE.read_text())
    place.door.privileges = tuple(observe.split())
    assert all(privilege.endswith(".Audit") for privilege in (*place.door.privileges, *folders.split()))
    place.node.keep(agents={"100": [{"type": "ext4"}]})
    place.node.start()
    (machine,) = listing_by_api.listing(place.host).machines
    (disk,) = machine.disks
    assert (disk.size_bytes, disk.allocated_bytes, disk.allocation) == (SIZE, SIZE, "")  # as the configuration has it
    assert listing_by_api.file_systems_by_agent(place.host, machine) == ["ext4"]
    assert list(listing_by_api.counts(place.host)["mail-1"]) == ["scsi0"]
    place.door.privileges += tuple(folders.split())
    place.node.state["storages"]["slow"]["path"] = "/mnt/pve/slow"
    place.node.keep(directories={"/mnt/pve/slow": "ext4"})
    assert listing_by_api.listing(place.host).pools[0].host_fs == "ext4"


def without(place: Place, privilege: str) -> Place:
    place.door.privileges = tuple(name for name in ALL if name != privilege)
    return place


def test_without_a_right_what_it_is_for_is_not_known_and_the_rest_is(place):
    storage = place.node.state["storages"]["slow"] | {"path": "/mnt/pve/slow"}
    place.node.keep(
        storages={"slow": storage}, directories={"/mnt/pve/slow": "ext4"}, agents={"100": [{"type": "xfs"}]}
    )
    place.node.place(place.node.first).parent.mkdir(parents=True)
    place.node.place(place.node.first).write_bytes(b"")
    file_systems = [pool.host_fs for pool in listing_by_api.listing(without(place, "Sys.Audit").host).pools]
    assert file_systems == [""]
    (machine,) = listing_by_api.listing(without(place, "VM.GuestAgent.Audit").host).machines
    with pytest.raises(remote.Refused, match=r"403 Permission check failed \(/vms/100, VM.GuestAgent.Audit\)"):
        listing_by_api.file_systems_by_agent(place.host, machine)
    assert listing_by_api.listing(without(place, "VM.Audit").host).machines == ()
    listed = listing_by_api.listing(without(place, "Datastore.Audit").host)
    assert (listed.pools, listed.machines[0].disks[0].pool) == ((), "")


# Faults


@pytest.mark.parametrize(
    ("status", "kind", "why"),
    [
        (403, ssh.NotAllowed, "pve-1 does not allow it to the token: GET /version: 403"),
        (500, remote.Refused, "GET /version: 500 a fault of the test"),
        (302, remote.Refused, "GET /version: 302"),
    ],
)
def test_an_answer_that_is_none_is_told_with_its_reason(place, status, kind, why):
    place.door.status = status
    with pytest.raises(kind, match=why):
        asked(place.host, "get", "/version")
    assert len(place.door.asked) == 1  # a redirect is not followed


def test_a_token_that_is_not_taken_is_told(place, key_file):
    key_file.write_text(TOKEN[:-1] + "0")
    with another(place) as host, pytest.raises(ssh.LoginRefused, match=r"401 Authentication failed!"):
        asked(host, "get", "/version")


def test_an_answer_that_is_cut_off_or_too_long_is_not_used(place):
    place.door.cut = True
    with pytest.raises(remote.Refused, match="no whole answer"):
        asked(place.host, "get", "/version")
    place.door.cut = False
    with pytest.raises(ssh.TooMuch, match="more than 20 bytes"):
        asked(place.host, "get", "/version", most=20)


def test_a_node_that_does_not_answer_in_time_is_away(place):
    place.door.seconds = 5
    began = time.monotonic()
    with pytest.raises(ssh.Unreachable, match=r"No answer within 0.5 s"):
        asked(place.host, "get", "/version", timeout=0.5)
    assert time.monotonic() - began < 4


def test_another_certificate_is_a_changed_key_and_sees_no_token(place):
    place.door.new_certificate()
    with pytest.raises(ssh.KeyChanged, match=f"another certificate, {place.door.fingerprint}, than"):
        asked(place.host, "get", "/version")
    assert (place.door.asked, place.door.let_in) == ([], [])


def test_the_certificate_is_read_without_a_token_in_the_words_of_proxmox_ve(place):
    key = proxmox_api.scan("127.0.0.1", place.door.port)
    assert proxmox_api.fingerprint(key) == place.door.fingerprint
    assert re.fullmatch(r"([0-9A-F]{2}:){31}[0-9A-F]{2}", place.door.fingerprint)
    assert place.door.let_in == []
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        with pytest.raises(ssh.Unreachable, match="is not reached by HTTPS"):
            proxmox_api.scan("127.0.0.1", closed.getsockname()[1])


@pytest.mark.parametrize("name", ["169.254.169.254", "::ffff:169.254.169.254"])
def test_no_connection_is_made_to_a_cloud_s_metadata(place, name):
    with pytest.raises(ssh.NotAllowed, match="metadata"):
        proxmox_api.scan(name, 443)
    with pytest.raises(ssh.NotAllowed, match="metadata"), another(place, host=name):
        pass


def test_commands_are_not_run_and_nothing_is_changed(place):
    for words in (["qm", "status", "100"], ["pvesh", "create", "/x", "--output-format", "json"], ["sh", "-c", "true"]):
        with pytest.raises(ssh.NotAllowed, match="runs no command"):
            place.host.run(words)
    assert place.door.asked == []


@pytest.mark.parametrize(
    "text", ["", SECRET, f"PVEAPIToken={TOKEN}", TOKEN.replace("!", " "), f"{TOKEN}\nX: y", f"-----BEGIN {TOKEN}"]
)
def test_a_file_that_holds_no_token_is_refused_without_what_it_holds(place, key_file, text):
    key_file.write_text(text)
    with pytest.raises(ssh.LoginRefused, match=r"'pve-1.token' holds no token") as refusal, another(place):
        pass
    assert SECRET not in str(refusal.value)


def test_the_secret_is_in_no_message_and_no_log(place, caplog, key_file):
    caplog.set_level(logging.DEBUG)
    heard = []
    ssh.listeners.append(lambda *told: heard.append(repr(told[1:])))
    try:
        asked(place.host, "get", "/version")
        for status in (401, 403, 500):
            place.door.status = status
            with pytest.raises((ssh.SshError, remote.Refused)) as error:
                asked(place.host, "get", "/version")
            heard.append(repr(error.value))
    finally:
        ssh.listeners.pop()
    assert len(heard) >= 4
    assert place.door.let_in[0] == f"PVEAPIToken={TOKEN}"
    assert SECRET not in caplog.text + "".join(heard)
