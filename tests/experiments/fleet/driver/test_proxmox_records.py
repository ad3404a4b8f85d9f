"""A record of `kdb record` names nothing of its host, has what the driver asks, and replays against the driver.

tests/data/proxmox holds a record a file: those that users sent, and one composed by hand.
"""

import json
import re
import string
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kdb_client import record

from experiments.fleet.driver.proxmox.listing import ProxmoxListing
from experiments.laboratory.transport.ssh import Address, Answer, Connection
from tests.experiments.fleet.driver import test_proxmox_listing
from tests.experiments.fleet.driver.scripted import ScriptedHost

RECORDS = sorted(Path("tests/data/proxmox").glob("*.json"))
host = test_proxmox_listing.host  # the node of that module


class ReplayedHost(Connection):
    """Answers what a record has; realpath by path, because paths are sorted by their own names."""

    def __init__(self, text: str) -> None:
        super().__init__(Address("pve-1", 22, "root", "ssh-ed25519 AAAA"))
        self.answers, self.real = {}, {}
        for command in json.loads(text)["commands"]:
            words, output = command["words"], command["output"]
            self.answers[tuple(words)] = Answer(command["status"], output.encode(), command["errors"])
            if words[0] == "realpath":
                self.real |= dict(zip(words[len(record.REALPATH) :], output.split("\0"), strict=False))

    def _run(self, arguments: Sequence[str], *_: object) -> Answer:
        if arguments[0] == "realpath":
            paths = arguments[len(record.REALPATH) :]
            return Answer(0, "".join(f"{self.real[path]}\0" for path in paths).encode(), "")
        return self.answers[tuple(arguments)]


def ask(host: ScriptedHost):
    def answer(words):
        said = host.run([*words])
        return {"words": [*words], "status": said.status, "output": said.text, "errors": said.errors}

    return answer


def recorded(host: ScriptedHost) -> str:
    return record.written(record.ask_all(ask(host)), "9.0.3")


@pytest.mark.parametrize("path", RECORDS, ids=[path.stem for path in RECORDS])
def test_a_record_replays_against_the_driver(path):
    driver = ProxmoxListing(ReplayedHost(path.read_text()))
    listed = driver.list_all()
    assert listed.pools
    assert listed.machines
    pools = {pool.path for pool in listed.pools}
    for pool in listed.pools:
        assert 0 <= pool.free_bytes <= pool.size_bytes
    for machine in listed.machines:
        for disk in machine.disks:
            assert disk.size_bytes > 0
            assert disk.pool in {*pools, ""}
    names = [machine.name for machine in listed.machines]
    assert len(set(names)) == len(names)
    running = {machine.runs_as: {disk.target for disk in machine.disks} for machine in listed.machines}
    counted = driver.read_counters()
    assert counted
    for process, disks in counted.items():
        assert process in running
        for counts in disks.values():
            assert min(counts.reads, counts.writes, counts.read_seconds, counts.write_seconds) >= 0
    for machine in listed.machines:
        if machine.has_agent and machine.is_running:
            driver.guest_file_systems(machine)


def test_a_record_asks_what_the_driver_asks_and_nothing_else(host):
    host.answers[f"pvesh get {record.QEMU}/100/agent/get-fsinfo"] = {"result": [{"type": "ext4"}]}
    host.answers["grep"] += "\n/etc/pve/qemu-server/100.conf:agent: 1"
    driver = ProxmoxListing(host)
    driver.read_counters()
    for machine in driver.list_all().machines:
        if machine.has_agent and machine.is_running:
            driver.guest_file_systems(machine)
    by_driver, host.asked = host.asked, []
    record.ask_all(ask(host))
    assert sorted(host.asked) == sorted(by_driver)


def test_replayed_it_lists_what_the_host_itself_lists_by_other_names(host):
    there, replayed = (ProxmoxListing(place).list_all() for place in (host, ReplayedHost(recorded(host))))
    pools = {pool.path: other.path for pool, other in zip(there.pools, replayed.pools, strict=True)}
    for pool, other in zip(there.pools, replayed.pools, strict=True):
        assert (other.backend, other.host_fs, other.storage_kind) == (pool.backend, pool.host_fs, pool.storage_kind)
        assert (other.size_bytes, other.free_bytes) == (pool.size_bytes, pool.free_bytes)
    for machine, other in zip(there.machines, replayed.machines, strict=True):
        assert (other.number, other.is_running, other.runs_as) == (machine.number, machine.is_running, machine.runs_as)
        for disk, twin in zip(machine.disks, other.disks, strict=True):
            assert twin.pool == pools.get(disk.pool, "")
            assert (twin.target, twin.image_format, twin.cache_mode) == (
                disk.target,
                disk.image_format,
                disk.cache_mode,
            )
            assert (twin.size_bytes, twin.has_backing_chain) == (disk.size_bytes, disk.has_backing_chain)
    counters = [ProxmoxListing(place).read_counters() for place in (host, ReplayedHost(recorded(host)))]
    assert counters[0] == counters[1]


names = st.text(string.ascii_letters, min_size=6, max_size=12).filter(lambda name: name not in record.KEPT)
dashed = st.tuples(names, names).map("-".join)
octets = st.integers(1, 254)
macs = st.lists(st.integers(0, 255), min_size=6, max_size=6).map(lambda six: ":".join(f"{one:02X}" for one in six))
digits = st.integers(10_000, 10**12).map(str)


@given(
    name=dashed,
    storage=dashed,
    group=dashed,
    node=st.one_of(names, dashed),
    snapshot=names,
    uuid=st.uuids().map(str),
    mac=macs,
    serial=st.one_of(digits, names.map(lambda name: f"WD-{name}9")),
    address=st.one_of(
        st.tuples(octets, octets, octets, octets).map(lambda four: ".".join(map(str, four))),
        st.ip_addresses(v=6).map(str).filter(lambda text: len(text) > 6),
    ),
    note=st.text("äöüéñßø", min_size=4, max_size=9),
)
def test_a_record_has_none_of_the_hosts_names_addresses_and_serial_numbers(
    name, storage, group, node, snapshot, uuid, mac, serial, address, note
):
    conf = (
        f"name: {name}\nsmbios1: uuid={uuid}\nscsi0: {storage}:1234/vm-1234-disk-0.raw,serial={serial},size=8G\n"
        f"sata1: /dev/disk/by-id/ata-{serial},size=1T\nnet0: virtio={mac},bridge=vmbr0\n#{note} {node}\n[{snapshot}]\n"
    )
    machine = {"vmid": 1234, "name": name, "status": "running", "pid": 7, "tags": f"{note};{node}"}
    answers = {
        "machines": [machine],
        "settings": [
            {"storage": storage, "type": "nfs", "server": address, "path": f"/mnt/pve/{storage}", "export": f"/{node}"},
            {"storage": name, "type": "lvm", "vgname": group},
        ],
        "volumes": {"name": f"{group.replace('-', '--')}-vm--1234--disk--0", "serial": serial, "model": note},
        "agent": {"result": [{"name": node, "mountpoint": f"/srv/{snapshot}", "hardware-address": mac.lower()}]},
    }
    said = [
        {"words": ["pvesh", "get", f"/nodes/localhost/storage/{storage}/content"], "status": 0, **texts}
        for texts in (
            *({"output": json.dumps(value), "errors": ""} for value in answers.values()),
            {"output": json.dumps(answers, ensure_ascii=False), "errors": ""},
            {"output": conf, "errors": f"ssh: connect to host {node} port 22: {address}: Connection refused"},
            {"output": f"/mnt/pve/{storage}\0", "errors": f"500 no such storage '{storage}' on {node}"},
        )
    ]
    text = record.written(said)
    originals = (
        name,
        storage,
        group,
        group.replace("-", "--"),
        node,
        snapshot,
        uuid,
        mac,
        mac.lower(),
        serial,
        address,
    )
    for original in (*originals, note, json.dumps(note)[1:-1]):
        assert not re.search(rf"(?<!\w){re.escape(original)}(?!\w)", text), original
    for part in (*name.split("-"), *storage.split("-"), *group.split("-"), note):
        assert part not in text
    assert record.written(said) == text
    volume = json.loads(json.loads(text)["commands"][2]["output"])["name"]
    vg = json.loads(json.loads(text)["commands"][1]["output"])[1]["vgname"]
    assert volume == f"{vg}-vm--1234--disk--0"


def test_what_stands_for_a_word_is_in_no_answer():
    said = {"words": ["lsblk"], "status": 0, "output": "word1 word2 password", "errors": ""}
    printed = json.loads(record.written([said]))["commands"][0]["output"].split()
    assert len(set(printed)) == 3
    assert not {*printed} & {"word1", "word2", "password"}


def test_the_command_writes_a_new_file_and_says_where_nothing_is_proxmox(tmp_path):
    for name in ("pvesh", "pveversion", "findmnt", "lsblk", "realpath", "grep"):
        (tmp_path / name).write_text("#!/bin/sh\n[ $(basename $0) != pvesh ] || { echo '[]'; exit; }\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    place = tmp_path / "pve.json"
    command = [sys.executable, "-m", "kdb_client", "record", str(place)]
    environment = {"PYTHONPATH": "script/client", "HOME": str(tmp_path)}

    def run(path: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, env=environment | {"PATH": path}, capture_output=True, text=True)

    nowhere = run(str(tmp_path / "none"))
    assert (nowhere.returncode, place.exists()) == (2, False)
    assert "Nothing was answered: pvesh: command not found" in nowhere.stderr
    done = run(f"{tmp_path}:/usr/bin:/bin")
    assert (done.returncode, json.loads(place.read_text())["format"]) == (0, record.FORMAT), done.stderr
    assert "Look it through before you send it." in done.stdout
    again = run(f"{tmp_path}:/usr/bin:/bin")
    assert (again.returncode, "File exists" in again.stderr) == (2, True)
