"""The control group of a benchmark on the kernel's own control groups, of version 1 or of version 2.

Version 2 is that of this machine's kernel, mounted where a Debian has it, in a mount namespace. Where memory belongs to
version 1, huge pages stand in for it, whose limit has the same form. The last test needs no stand-in: it boots Debian's
own kernel.
"""

import os
import shlex
import subprocess

import pytest

from experiments.laboratory.transport.remote import SCRIPT
from tests.experiments.laboratory import conftest as laboratories
from tests.experiments.laboratory.lab import free_port

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(os.geteuid() != 0, reason="control groups need root"),
]

LIMITS = {"memory": "memory.max", "hugetlb": "hugetlb.2MB.max"}  # of each controller that may be the one
APART = ("unshare", "--mount", "--propagation", "private", "sh", "-eu")
SECOND = "mount -t cgroup2 none /sys/fs/cgroup\n"
CONTROL = "/sys/fs/cgroup/cgroup.subtree_control"


def shell(lines, *apart):
    return subprocess.run([*APART, *apart], input=lines, capture_output=True, text=True, timeout=60)


def call(script, *words):
    return shlex.join(["sh", "-c", script, "kdb-remote", *map(str, words)])


@pytest.fixture
def second():
    """Yield a controller of version 2 and the script that limits by it; the controller is afterwards as it was."""
    before = shell(f"{SECOND} cat /sys/fs/cgroup/cgroup.controllers {CONTROL}")
    controllers, _, enabled = before.stdout.partition("\n")
    name = next((name for name in LIMITS if name in controllers.split()), None)
    if before.returncode or name is None:
        pytest.skip("version 2 of control groups has neither memory nor huge pages here")
    yield name, SCRIPT.replace("+memory", f"+{name}").replace("memory.max", LIMITS[name])
    if name not in enabled.split():
        shell(f"{SECOND} echo -{name} >{CONTROL}")


def test_a_benchmark_runs_in_a_limited_group_of_version_2_that_is_gone_afterwards(tmp_path, second):
    (name, script), area = second, tmp_path / ".kdb"
    (tmp_path / "job").write_text(f'cat /proc/self/cgroup "$(cat ../group)/{LIMITS[name]}"')
    done = shell(
        SECOND
        + "\n".join(
            [
                call(script, "facts"),
                call(script, "begin", tmp_path, 1),
                f"mkdir {area}/fs",
                call(script, "limit-memory", tmp_path, 1, 32),
                call(script, "start", tmp_path, 1, "t", 20, 1, "fs", "sh", tmp_path / "job"),
                f"until [ -e {area}/t.status ]; do sleep 0.1; done",
                f'cat {area}/t.out; echo "group $(cat {area}/group)"',
                call(script, "clean", tmp_path, 1),
                "find /sys/fs/cgroup -maxdepth 1 -name 'kdb-*' -printf 'left %p\n'",
            ]
        )
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "limits_memory\tyes" in lines
    (group,) = (line.removeprefix("group /sys/fs/cgroup") for line in lines if line.startswith("group"))
    assert f"0::{group}" in lines  # it was moved there
    assert str(32 * 2**20) in lines
    assert not [line for line in lines if line.startswith("left")]


def test_where_the_root_has_processes_of_its_own_as_in_a_container_nothing_is_limited(second):
    """The kernel lets no group but the topmost have both processes and controllers for groups below."""
    name, script = second
    inside = f"umount /sys/fs/cgroup; {SECOND} {call(script, 'facts')}; find /sys/fs/cgroup -name 'kdb-*'"
    done = shell(
        f"{SECOND} echo +{name} >{CONTROL}; mkdir /sys/fs/cgroup/test-container\n"
        "trap 'echo $$ >/sys/fs/cgroup/cgroup.procs; rmdir /sys/fs/cgroup/test-container' EXIT\n"
        "echo $$ >/sys/fs/cgroup/test-container/cgroup.procs\n"
        f"unshare --cgroup --mount --propagation private sh -eu -c {shlex.quote(inside)}\n"
    )
    assert done.returncode == 0, done.stderr
    assert "kernel\t" in done.stdout
    assert ("limits_memory" in done.stdout, "kdb-" in done.stdout) == (False, False)


@pytest.mark.parametrize("broken", ["as soon as it is made", "before it is made"])
def test_a_group_whose_making_was_cut_off_is_gone_after_the_run(tmp_path, second, broken):
    line = {"as soon as it is made": 'echo "$1M" >"$GROUP/$limit"', "before it is made": 'mkdir "$GROUP"'}[broken]
    _, script = second
    assert line in script
    done = shell(
        SECOND
        + "\n".join(
            [
                call(script, "begin", tmp_path, 1),
                f"{call(script.replace(line, 'kill -KILL $$'), 'limit-memory', tmp_path, 1, 32)} || echo cut off",
                call(script, "clean", tmp_path, 1),
                "find /sys/fs/cgroup -maxdepth 1 -name 'kdb-*'",
            ]
        )
    )
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "cut off"), done.stderr


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.skipif(bool(laboratories.NO_QEMU), reason=f"no virtual machines: {laboratories.NO_QEMU}")
def test_under_debians_kernel_a_benchmark_caches_no_more_of_its_files_than_its_group_may(tmp_path, pytestconfig):
    image = laboratories.guest_image(pytestconfig.cache.mkdir("kdb"))
    port, console = str(free_port()), tmp_path / "console"
    (disk := tmp_path / "disk").touch()
    os.truncate(disk, 400 * 2**20)
    words = ["-nodefaults", "-display", "none", "-accel", "tcg", "-m", "1024", "-no-reboot"]
    words += ["-kernel", image / "vmlinuz", "-initrd", image / "initrd", "-append", "console=ttyS0 panic=-1"]
    words += ["-drive", f"file={image}/root.squashfs,if=virtio,format=raw,readonly=on"]
    words += ["-drive", f"file={disk},if=virtio,format=raw,cache=unsafe"]
    words += ["-netdev", f"user,id=n,restrict=on,hostfwd=tcp:127.0.0.1:{port}-:22", "-device", "virtio-net,netdev=n"]
    words += ["-device", "virtio-rng-pci", "-serial", f"file:{console}"]
    guest = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "qemu-system-x86_64", *map(str, words)])
    login = ["ssh", "-F", "none", "-i", str(image / "login_key"), "-p", port, "-l", "root", "-o", "BatchMode=yes"]
    login += ["-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "127.0.0.1", "sh -eu"]
    pool = "/srv/pool"
    lines = [
        "mount -t cgroup2 none /sys/fs/cgroup",
        f"mkfs.ext4 -q /dev/vdb; mkdir {pool}; mount /dev/vdb {pool}",
        call(SCRIPT, "facts"),
        call(SCRIPT, "begin", pool, 1),
        f"mkdir {pool}/.kdb/fs",
        call(SCRIPT, "limit-memory", pool, 1, 32),
        call(SCRIPT, "start", pool, 1, "t", 100, 1, "fs", "dd", "if=/dev/zero", "of=set", "bs=1M", "count=128"),
        f"until [ -e {pool}/.kdb/t.status ]; do sleep 0.5; done",
        f'group=$(cat {pool}/.kdb/group); echo "peak $(cat "$group/memory.peak") status $(cat {pool}/.kdb/t.status)"',
    ]
    try:
        laboratories.wait_until(
            lambda: console.exists() and "KDB-GUEST-READY" in console.read_text(errors="replace"), 120
        )
        done = subprocess.run(login, input="\n".join(lines), capture_output=True, text=True, timeout=300)
    finally:
        guest.kill()
        guest.wait()
    assert done.returncode == 0, done.stderr
    assert "limits_memory\tyes" in done.stdout.splitlines()
    peak, _, status = done.stdout.splitlines()[-1].removeprefix("peak ").partition(" status ")
    assert (status, int(peak) <= 32 * 2**20) == ("0", True)
    assert int(peak) > 30 * 2**20  # four times as much was written
