"""Plans, engines, precision, XML and ssh: what needs no machine."""

import math
import os
import random
import re
import shlex
import subprocess
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

from experiments.laboratory import plan
from experiments.laboratory.benchmarks import engines, precision
from experiments.laboratory.plan import Cell
from experiments.laboratory.targets import disks, hypervisors, libvirt
from experiments.laboratory.targets.hypervisors import Guest
from experiments.laboratory.transport import remote, ssh
from experiments.rules.protocol import files_bytes
from modelling.workloads import wml

MATRIX = plan.cells(["ext4", "xfs"], ["btrfs", "ext4"], ["varmail"], [1, 2])


def test_a_matrix_has_every_combination():
    assert len(MATRIX) == 8
    assert Cell("xfs", "btrfs", "varmail", 2) in MATRIX
    assert plan.cells(["ext4"], [], ["varmail"], []) == [Cell("ext4", "", "varmail", 0)]


def test_each_repetition_is_a_shuffled_whole_and_the_seed_repeats_it():
    ordered = plan.in_order(MATRIX, [1, 2], seed=7)
    for repetition, block in ((1, ordered[:8]), (2, ordered[8:])):
        assert {number for number, _ in block} == {repetition}
        assert sorted(cell for _, cell in block) == sorted(MATRIX)
    assert [cell for _, cell in ordered[:8]] != [cell for _, cell in ordered[8:]]
    assert plan.in_order(MATRIX, [1, 2], seed=7) == ordered
    assert plan.in_order(MATRIX, [2], seed=7) == ordered[8:]
    assert plan.in_order(MATRIX, [1], seed=8) != ordered[:8]


@pytest.mark.parametrize("engine", ["fio", "filebench"])
@pytest.mark.parametrize("workload", engines.WORKLOADS)
def test_files_are_larger_than_the_memory_that_may_cache_them(engine, workload):
    """Threads stay as they are: more of them would be another load."""
    usual, large = (
        engines.load(engine, "1.5-alpha3", workload, "/a", "/a/fs", 60, 10, memory_mib=mib, is_limited=True)
        for mib in (0, 512)
    )
    assert (usual.limit_mib, large.limit_mib, large.parameters["memory_bytes"]) == (0, 512, 2**29)
    assert large.working_set_bytes >= engines.ABOVE_MEMORY * 2**29 > usual.working_set_bytes
    assert files_bytes(large.parameters) == large.working_set_bytes
    assert large.parameters["threads"] == usual.parameters["threads"]


def test_the_host_has_room_for_every_guest_at_once():
    assert plan.host_disk_mib("native", 1000, [1]) == 1000
    assert plan.host_disk_mib("libvirt", 1000, [1, 3]) >= 3000


# Engines


@pytest.mark.parametrize("workload", engines.WORKLOADS)
@pytest.mark.parametrize("version", ["1.4.9.1", "1.5-alpha3"])
def test_the_personalities_are_in_the_words_of_the_version(version, workload):
    """Both were run with Filebench 1.4.9.1 and 1.5-alpha3; here they are read by our own reader of WML."""
    load = engines.load("filebench", version, workload, "/a/.kdb", "/a/.kdb/fs", 60, 100)
    text = load.files["job.f"]
    assert ("cvar(" in text) == version.startswith("1.5")
    assert ("randvar" in text) == (version.startswith("1.4") and workload == "randomfileaccess")
    personality = wml.parse(text)
    shape = engines.SHAPES[workload]
    assert personality.filesets["tree"].entries == shape.files
    assert personality.filesets["tree"].mean_bytes == shape.file_bytes
    assert text.endswith("run 60\n")
    assert load.parameters["threads"] == shape.threads


@pytest.mark.parametrize("version", ["1.4.9.1", "1.5-alpha3"])
def test_filebench_makes_its_files_before_the_barrier_and_measures_after_it(version):
    lines = engines.load("filebench", version, "varmail", "/a/.kdb", "/a/.kdb/fs", 60, 100).files["job.f"].splitlines()
    assert lines[-4:] == [
        "create files",
        'system "sh /a/.kdb/barrier /a/.kdb/benchmark"',
        'echo "all machines begin"',
        "run 60",
    ]


def test_a_shipped_personality_gets_the_folder_and_the_end_of_the_run_and_nothing_else(tmp_path):
    """The program that stands in for Filebench prints what it is told to run."""
    area, program = tmp_path / "area", tmp_path / "made" / "bin" / "filebench"
    for folder in (area, program.parent, tmp_path / "made/share/filebench/workloads"):
        folder.mkdir(parents=True)
    program.write_text('#!/bin/sh\ncat "$2"\n')
    program.chmod(0o755)
    shipped = 'set $dir=/tmp\nset $nfiles=1000\ndefine fileset name=bigfileset,path=$dir\nusage "run 60"\nrun 60\n'
    (tmp_path / "made/share/filebench/workloads/varmail.f").write_text(shipped)
    where = (str(area), str(area / "fs"))
    load = engines.load("filebench", "1.5", "varmail", *where, 120, 100, program=str(program), is_shipped=True)
    for name, text in load.files.items():
        (area / name).write_text(text)
    printed = subprocess.run(load.command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert printed[:3] == [f"set $dir={area}/fs", "set $nfiles=1000", "define fileset name=bigfileset,path=$dir"]
    assert (printed[3], printed[-1]) == ("create files", "run 120")
    assert load.parameters["personality"] == "shipped"


def test_how_long_filebench_took_from_the_barrier_to_its_measurement():
    new = b"0.002: Filebench Version 1.5\n0.170: all machines begin\n0.171: Starting 1 instances\n1.242: Running...\n"
    old = b"2117: 0.170: all machines begin\n2118: 0.171: Starting\n2117:  1.292: Running...\n"
    assert engines.seconds_to_measuring(new) == pytest.approx(1.072)
    assert engines.seconds_to_measuring(old) == pytest.approx(1.122)
    assert engines.seconds_to_measuring(b'{"fio version" : "fio-3.33"}') is None


def at_the_barrier(folder, at):
    """Wait there as a benchmark does; `at` is what it is told. Returns when it says that it went on."""
    name = folder / "benchmark"
    os.mkfifo(f"{name}.go")
    waiting = subprocess.Popen(["sh", "-c", engines.BARRIER, "barrier", str(name)])
    while not Path(f"{name}.ready").exists():
        time.sleep(0.01)
    assert waiting.poll() is None
    told = os.open(f"{name}.go", os.O_RDWR)
    os.write(told, f"{at()}\n".encode())
    assert waiting.wait(10) == 0
    os.close(told)
    return float(Path(f"{name}.began").read_text())


def up() -> float:
    return float(Path("/proc/uptime").read_text().split()[0])


def test_the_barrier_opens_at_the_moment_it_is_told(tmp_path):
    moment = round((up() + 0.4) * 100)
    assert at_the_barrier(tmp_path, lambda: moment) == pytest.approx(moment / 100, abs=0.05)


def test_the_barrier_opens_at_once_where_no_moment_is_told(tmp_path):
    before = up()
    assert before <= at_the_barrier(tmp_path, lambda: 0) <= up()


def test_nobody_waits_where_there_is_no_barrier(tmp_path):
    assert subprocess.run(["sh", "-c", engines.BARRIER, "barrier", str(tmp_path / "x")], timeout=5).returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_another_filebench_is_refused():
    with pytest.raises(engines.UnknownVersion, match=r"1\.3\.4"):
        engines.dialect("1.3.4")


def test_the_mean_place_of_random_file_access_grows_with_the_files():
    small = engines.load("filebench", "1.5", "randomfileaccess", "/a", "/a/fs", 60, 10).files["job.f"]
    large = engines.load("filebench", "1.5", "randomfileaccess", "/a", "/a/fs", 60, 100).files["job.f"]
    assert "mean:100;gamma:0.1" in small
    assert "mean:1000;gamma:0.1" in large


def test_scaling_keeps_at_least_a_thread():
    assert engines.scaled(engines.SHAPES["randomfileaccess"], 1).threads == 1


# Precision


def test_the_width_is_welchs_by_hand():
    """Two configurations, logs 0, .1, .2 and 1, 1.1, 1.2: variances .01, t(4 degrees) 2.776, sqrt(.02/3)."""
    samples = {"a": [math.exp(x) for x in (0, 0.1, 0.2)], "b": [math.exp(x) for x in (1, 1.1, 1.2)]}
    half = 2.7764451 * math.sqrt(0.01 / 3 + 0.01 / 3)
    assert precision.widest_percent(samples) == pytest.approx((math.exp(half) - 1) * 100, rel=1e-6)


def test_nothing_is_said_with_too_few_repetitions_or_nothing_to_compare():
    assert precision.widest_percent({"a": [1, 2, 3], "b": [1, 2]}) is None
    assert precision.widest_percent({"a": [1, 2, 3]}) is None


@pytest.mark.slow
def test_stopping_by_width_favours_nobody():
    """Two equal configurations: stopped at 10 %, each is ahead half the time, and the interval covers 1 as promised."""
    rng = random.Random(1)
    ahead = covered = 0
    for _ in range(400):
        samples = {"a": [], "b": []}
        while True:
            for values in samples.values():
                values.append(math.exp(rng.gauss(0, 0.05)))
            widest = precision.widest_percent(samples)
            if (widest is not None and widest <= 10) or len(samples["a"]) == 30:
                break
        means = {name: sum(map(math.log, values)) / len(values) for name, values in samples.items()}
        ahead += means["a"] > means["b"]
        covered += abs(means["a"] - means["b"]) <= math.log1p(widest / 100)
    assert 0.42 < ahead / 400 < 0.58
    assert covered / 400 > 0.90


# Virtual disks


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({}, []),
        ({"cache_mode": "none", "io_mode": "native"}, []),
        ({"cache_mode": "directsync", "io_mode": "native"}, []),
        ({"cache_mode": "writeback", "io_mode": "native"}, ["io_mode"]),
        ({"cache_mode": "unsafe", "io_mode": "io_uring"}, []),
        ({"image_format": "qcow2", "allocation": "metadata"}, []),
        ({"allocation": "metadata"}, ["allocation"]),
        ({"allocation": "sparse", "discard": "unmap"}, []),
        ({"allocation": "full", "discard": "unmap"}, ["discard"]),
        ({"disk_bus": "scsi", "iothread": "yes"}, []),
        ({"disk_bus": "ide", "iothread": "yes"}, ["iothread"]),
    ],
)
def test_options_that_do_not_go_together_are_named(options, names):
    assert [name for name, _ in disks.problems(disks.Options(**options))] == names


def test_a_volume_is_raw_and_keeps_its_space():
    assert list(disks.problems_on_volumes(disks.Options(cache_mode="writeback", io_mode="io_uring"))) == []
    wanted = disks.Options(image_format="qcow2", allocation="sparse", discard="unmap")
    assert [name for name, _ in disks.problems_on_volumes(wanted)] == ["image_format", "allocation", "discard"]


def test_an_old_qemu_has_no_io_uring():
    uring = disks.Options(io_mode="io_uring")
    assert "needs QEMU 5.0, not 4.2.1" in disks.problem_with_qemu(uring, (4, 2, 1))
    assert disks.problem_with_qemu(uring, (5, 0)) == disks.problem_with_qemu(uring, ()) == ""
    assert disks.problem_with_qemu(disks.Options(), (4, 2, 1)) == ""


def test_no_two_virtual_processors_share_one_of_the_host():
    assert [disks.pinned((2, 3, 6, 7), number, 2) for number in (1, 2)] == [(2, 3), (6, 7)]
    assert disks.pinned((), 1, 2) == ()


# libvirt


def guest(**fields) -> Guest:
    defaults = {"name": "kdb-1-1", "number": 1, "image_folder": "/srv/image", "disk": "/srv/p/.kdb/fs/d.img"}
    return Guest(**defaults | {"console": "/srv/p/c1", "ram_mib": 512, "vcpus": 2, "accelerator": "qemu"} | fields)


def domain_of(**fields):
    return ElementTree.fromstring(libvirt.domain_xml(guest(**fields)))


def test_a_domain_has_its_disks_and_no_network_but_a_forwarded_port():
    domain = domain_of()
    assert domain.get("type") == "qemu"
    root, tested = domain.findall("devices/disk")
    assert root.find("readonly") is not None
    driver = {"type": "raw", "cache": "none", "io": "threads", "discard": "ignore", "error_policy": "stop"}
    assert tested.find("driver").attrib.items() >= driver.items()
    assert "iothread" not in tested.find("driver").attrib
    assert tested.findtext("serial") == hypervisors.SERIAL
    assert tested.find("target").attrib == {"dev": "vdb", "bus": "virtio"}
    assert domain.findtext("on_reboot") == "destroy"
    assert domain.find("devices/interface") is None
    assert domain.find("iothreads") is domain.find("cputune") is None
    words = [argument.get("value") for argument in domain.iter("{http://libvirt.org/schemas/domain/qemu/1.0}arg")]
    assert "restrict=on" in words[1]
    assert "127.0.0.1" in words[1]


def test_a_domain_has_the_disk_that_was_asked_for():
    options = disks.Options(
        **{"cache_mode": "writeback", "io_mode": "io_uring", "image_format": "qcow2", "allocation": "metadata"},
        **{"iothread": "yes", "discard": "unmap"},
    )
    domain = domain_of(options=options, pinned_cpus=(6, 7))
    driver = domain.findall("devices/disk")[1].find("driver").attrib
    wanted = {"type": "qcow2", "cache": "writeback", "io": "io_uring", "discard": "unmap", "iothread": "1"}
    assert driver.items() >= wanted.items()
    assert domain.findtext("iothreads") == "1"
    pins = [(pin.get("vcpu"), pin.get("cpuset")) for pin in domain.findall("cputune/vcpupin")]
    assert pins == [("0", "6"), ("1", "7")]


def test_a_thread_of_a_scsi_disk_is_that_of_its_controller():
    domain = domain_of(options=disks.Options(disk_bus="scsi", iothread="yes"))
    assert "iothread" not in domain.findall("devices/disk")[1].find("driver").attrib
    controller = domain.find("devices/controller")
    assert (controller.get("type"), controller.get("model")) == ("scsi", "virtio-scsi")
    assert controller.find("driver").get("iothread") == "1"


@pytest.mark.parametrize("bus", libvirt.TESTED)
def test_the_disk_under_test_is_never_the_root_disk(bus):
    root, tested = domain_of(options=disks.Options(disk_bus=bus)).findall("devices/disk")
    assert root.find("target").attrib == {"dev": "vda", "bus": "virtio"}
    assert tested.find("target").attrib == {"dev": libvirt.TESTED[bus], "bus": bus}


def test_a_volume_is_a_block_device():
    disk = domain_of(disk="/dev/loop7").findall("devices/disk")[1]
    assert (disk.get("type"), disk.find("source").attrib) == ("block", {"dev": "/dev/loop7"})


def test_names_never_become_markup():
    assert domain_of(image_folder='/srv/"><evil>').findtext("os/kernel") == '/srv/"><evil>/vmlinuz'


# ssh


def test_a_fingerprint_is_the_one_that_ssh_keygen_prints(tmp_path):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "key"], check=True)
    printed = subprocess.run(
        ["ssh-keygen", "-lf", tmp_path / "key.pub"], capture_output=True, text=True, check=True
    ).stdout.split()[1]
    assert ssh.fingerprint(" ".join((tmp_path / "key.pub").read_text().split()[:2])) == printed


@pytest.mark.parametrize(
    "text", ["", "ssh-ed25519", "ssh-ed25519 AAAA", "ssh-rsa !!!!", "ssh-dss AAAAB3NzaC1kc3MAAACB"]
)
def test_what_is_no_host_key_has_no_fingerprint(text):
    with pytest.raises(ValueError, match="not a host key"):
        ssh.fingerprint(text)


def test_the_host_key_is_always_checked_against_the_accepted_one(tmp_path):
    """The options that keep a changed or unknown key out, whatever the worker's own ssh_config says."""
    key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJrb2RSpmd8E5tMOPTxF1qbMd3eEhvg0Uih5N5VcxYWf"
    with ssh.Connection(ssh.Address("192.0.2.1", 22, "root", key, tmp_path / "key")) as connection:
        words = connection._command()
    assert {"StrictHostKeyChecking=yes", "GlobalKnownHostsFile=none", "BatchMode=yes", "ForwardAgent=no"} <= set(words)
    assert words[words.index("-F") + 1] == "none"


@pytest.mark.parametrize("hostile", ["; touch /owned", "$(touch /owned)", "`id`", "a b", "'", "\n", "--help", "*"])
def test_words_reach_the_other_side_as_they_are(hostile):
    """ssh hands the login shell on the other side one quoted word for each argument."""
    printed = subprocess.run(
        ["sh", "-c", shlex.join(["printf", "[%s]", "--", hostile])], capture_output=True, text=True, check=True
    ).stdout
    assert printed.endswith(f"[{hostile}]")


# The script


def call(verb, *arguments):
    words = ["sh", "-c", remote.SCRIPT, "kdb-remote", verb, *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True)


def test_the_script_runs_no_text_that_it_is_given():
    assert not re.search(r"\beval\b|\bsource\b", remote.SCRIPT)


@pytest.mark.parametrize(
    ("pool", "why"),
    [("/", "root folder"), ("relative", "absolute"), ("/nowhere/at/all", "not a folder"), ("", "absolute")],
)
def test_a_pool_that_is_none_is_refused(pool, why):
    done = call("begin", pool, 1)
    assert done.returncode == 90
    assert why in done.stderr


def test_a_pool_behind_a_link_is_refused(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    done = call("begin", tmp_path / "link", 1)
    assert (done.returncode, "symbolic link" in done.stderr) == (90, True)


def test_an_older_attempt_is_refused_and_a_newer_one_takes_over(tmp_path):
    assert call("begin", tmp_path, 200).returncode == 0
    for verb, arguments in (("begin", ()), ("clean", ()), ("put", ("name", "text")), ("go", ("name",))):
        done = call(verb, tmp_path, 100, *arguments)
        assert (done.returncode, done.stderr.strip()[:10]) == (90, "superseded"), verb
    assert call("begin", tmp_path, 300).returncode == 0
    assert call("put", tmp_path, 200, "name", "text").returncode == 90
    assert call("clean", tmp_path, 300).returncode == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["../up", ".hidden", "a/b", "", "a b", "a;b"])
def test_only_plain_names_are_written(tmp_path, name):
    call("begin", tmp_path, 1)
    done = call("put", tmp_path, 1, name, "text")
    assert (done.returncode, "not a plain name" in done.stderr) == (90, True)


@pytest.mark.slow
def test_only_the_disk_that_the_campaign_gave_is_formatted(tmp_path):
    call("begin", tmp_path, 1)
    done = call("format-disk", tmp_path, 1, "fs", "somebody-elses-disk", "ext4")
    assert (done.returncode, "no disk with the serial number" in done.stderr) == (90, True)
    done = call("format-disk", tmp_path, 1, "fs", "", "ext4")  # many disks have an empty one
    assert (done.returncode, "not a plain name" in done.stderr) == (90, True)
