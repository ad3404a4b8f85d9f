"""kdb measure on a machine as a user has it, against a running server; killed, it leaves nothing behind."""

import argparse
import fcntl
import os
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from kdb_client import measure, places
from kdb_client.command import main
from kdb_client.disks import Disk, blank
from kdb_client.errors import KdbError
from kdb_client.guardian import FOLDER, PROCESS, Guardian, clean, end_process, process_identity
from kdb_client.loads import load_of
from kdb_client.measure import chart
from kdb_client.places import Place, facts_of
from kdb_client.schedule import Budget

from modelling.models import Sitting
from modelling.own_lab import laboratories
from tests.factories import make_token, make_user
from tests.test_one_file import FIO

CLIENT = Path(__file__).parents[1] / "script" / "client"
LOOPS = os.geteuid() == 0 and shutil.which("losetup") and shutil.which("mkfs.xfs") and shutil.which("fio")
needs_disks = pytest.mark.skipif(not LOOPS, reason="needs root, fio and file systems on loop devices")


def until(is_so: Callable[[], bool]) -> None:
    """Wait for it; a hang ends after minutes."""
    end = time.monotonic() + 240
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch) -> Path:
    """Return where this test's measurements make their folders; others measure on this machine meanwhile."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


@pytest.fixture
def disks(tmp_path) -> Iterator[list[str]]:
    """Two empty scratch disks."""
    names = []
    for number in range(2):
        file = tmp_path / f"disk{number}"
        with file.open("wb") as image:
            image.truncate(400 * 2**20)
        made = subprocess.run(["losetup", "--show", "-f", file], capture_output=True, text=True, check=True)
        names.append(made.stdout.strip())
    yield names
    for name in names:
        subprocess.run(["losetup", "-d", name], check=True)


@pytest.fixture
def laboratory(transactional_db, live_server, monkeypatch):
    ada = make_user(username="ada")
    monkeypatch.setenv("KDB_URL", live_server.url)
    monkeypatch.setenv("KDB_TOKEN", make_token(ada, ("measure",), laboratory="ours"))
    return laboratories.create_laboratory(ada, "ours", "Our laboratory")


def check_disk(path: str) -> None:
    with closing(Disk(path)) as disk:
        disk.check()


def asked(disks: list[str], **options: str) -> list[str]:
    told = {"--laboratory": "ours", "--fs": "ext4,xfs", "--seconds": "2", "--most-runs": "6", **options}
    return [
        *("measure", "varmail", "--despite-load", "--yes", f"--disk={disks[0]}=one", f"--disk={disks[1]}=two"),
        *(f"{name}={value}" for name, value in told.items()),
    ]


def is_left(disks: list[str]) -> bool:
    """Tell whether anything of a measurement is on the machine."""
    mounted = {line.split()[0] for line in Path("/proc/mounts").read_text().splitlines()}
    return not mounted.isdisjoint(disks) or any(Path(tempfile.gettempdir()).glob("kdb-measure-*"))


# Nightly: what loop devices log to the kernel would disturb the runs of campaigns that are tested meanwhile.
@needs_disks
@pytest.mark.sqlite
@pytest.mark.nightly
def test_two_disks_and_two_file_systems_end_with_a_sentence_and_empty_disks(disks, laboratory, capsys):
    status = main(asked(disks))
    told = capsys.readouterr().out
    # These disks are files in memory's reach: where their reads stayed in it, the line goes on to say so.
    assert len(re.findall(r"^run +\d+ .* operations a second(?:$|; memory answered)", told, re.MULTILINE)) >= 2
    assert f"/laboratories/sittings/{Sitting.objects.get().pk}/" in told
    sitting = Sitting.objects.get()
    assert status == (0 if sitting.state == "decided" else 1)
    assert sitting.state in ("decided", "spent")
    assert not is_left(disks)
    for disk in disks:
        check_disk(disk)  # as empty as before


@needs_disks
@pytest.mark.sqlite
@pytest.mark.nightly
@pytest.mark.parametrize("after", ["mkfs", "mount", "fio"])
def test_killed_at_any_step_it_leaves_nothing(disks, laboratory, after, tmp_path, temporary):
    environment = {**os.environ, "PYTHONPATH": str(CLIENT)}
    made = tmp_path / "made"
    if after == "mkfs":  # which takes so long that it is met
        for name in ("mkfs.ext4", "mkfs.xfs"):
            stand_in = tmp_path / name
            real = shutil.which(name)
            stand_in.write_text(f'#!/bin/sh\n[ "$1" != -V ] || exec {real} -V\n{real} "$@"; touch {made}; sleep 600\n')
            stand_in.chmod(0o755)
        environment["PATH"] = f"{tmp_path}:{os.environ['PATH']}"
    command = [sys.executable, "-m", "kdb_client", *asked(disks, **{"--seconds": "60"})]
    program = subprocess.Popen(command, env=environment, start_new_session=True)
    fio = f"--output={temporary}"
    signs = {"mkfs": made.exists, "mount": lambda: is_left(disks), "fio": lambda: _runs(fio)}
    until(signs[after])
    program.send_signal(signal.SIGKILL)
    program.wait()
    until(lambda: not is_left(disks) and not _runs(fio))
    for disk in disks:
        until(lambda disk=disk: _is_empty(disk))


def _runs(words: str) -> bool:
    return any(words in " ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"]))


def _is_empty(disk: str) -> bool:
    try:
        check_disk(disk)
    except KdbError:
        return False
    return True


@needs_disks
def test_a_disk_that_holds_anything_is_refused(disks, tmp_path):
    first, second = disks
    check_disk(first)
    subprocess.run(["mkfs.ext4", "-q", first], check=True)
    with pytest.raises(KdbError, match="carries ext4"):
        check_disk(first)
    place = tmp_path / "mounted"
    place.mkdir()
    subprocess.run(["mount", first, place], check=True)
    try:
        with pytest.raises(KdbError, match=f"is mounted at {place}"):
            check_disk(first)
    finally:
        subprocess.run(["umount", place], check=True)
    with open(second, "r+b") as disk:
        disk.write(b"\0" * 4096 + b"somebody's")
    with pytest.raises(KdbError, match="holds data without a signature"):
        check_disk(second)
    with pytest.raises(KdbError, match="is no disk"):
        check_disk(str(tmp_path))


@needs_disks
@pytest.mark.parametrize("at", [0.13, 0.5, 0.871])
def test_data_anywhere_between_the_ends_is_seen(disks, at):
    with open(disks[0], "r+b") as disk:
        disk.seek(int(at * 400) * 2**20)
        disk.write(b"somebody's" * 2**19)  # 5 MiB
    with pytest.raises(KdbError, match=r"holds data without a signature.*blkdiscard -z"):
        check_disk(disks[0])


@needs_disks
def test_a_read_only_disk_is_refused_before_the_first_run(tmp_path, disks, capsys):
    made = ["losetup", "--show", "--read-only", "-f", tmp_path / "disk0"]
    name = subprocess.run(made, capture_output=True, text=True, check=True).stdout.strip()
    try:
        assert main(asked([disks[1], name])) == 2
    finally:
        subprocess.run(["losetup", "-d", name], check=True)
    assert f"{name} is read-only" in capsys.readouterr().err


@needs_disks
@pytest.mark.parametrize("second", ["a link", "its number", "the same again"])
def test_one_disk_under_two_names_is_one_choice(disks, tmp_path, second, capsys):
    name = disks[0]
    if second == "a link":
        (tmp_path / "by-id").symlink_to(disks[0])
        name = str(tmp_path / "by-id")
    elif second == "its number":
        name = str(tmp_path / "7:0")
        os.mknod(name, 0o600 | stat.S_IFBLK, os.stat(disks[0]).st_rdev)
    assert main(asked([disks[0], name])) == 2
    assert f"{disks[0]} and {name} are one disk, {disks[0]}, and so one choice" in capsys.readouterr().err


@pytest.fixture
def mounted(disks, tmp_path) -> Iterator[Path]:
    """Somebody's file system on the second disk, with a file on it."""
    folder = tmp_path / "somebody"
    folder.mkdir()
    subprocess.run(["mkfs.ext4", "-q", disks[1]], check=True)
    subprocess.run(["mount", disks[1], folder], check=True)
    (folder / "file").write_text("somebody's")
    yield folder
    subprocess.run(["umount", folder], check=True)


@needs_disks
def test_a_name_that_turns_to_another_disk_during_a_run_harms_nobody(disks, mounted, tmp_path, monkeypatch):
    link, folder = tmp_path / "scratch", tmp_path / "folder"
    folder.mkdir()
    link.symlink_to(disks[0])
    (tmp_path / "fio").write_text(FIO.replace("#!/bin/sh\n", f"#!/bin/sh\nln -sfn {disks[1]} {link}\n"))
    (tmp_path / "fio").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    server = OfServer(choices=("a", "b ext4"))
    scheduled(tmp_path, server, "--despite-load", f"--disk={link}=b", "--fs=ext4", names="a")
    assert [report["value"] for report in server.reports] == [1000.0] * 4
    assert os.readlink(link) == disks[1]
    assert subprocess.run(["e2fsck", "-fn", disks[1]], capture_output=True, check=False).returncode in (0, 4)
    subprocess.run(["mount", "-o", "remount", mounted], check=True)
    assert (mounted / "file").read_text() == "somebody's"
    with open(disks[1], "rb") as disk:
        assert any(disk.read(4096))  # its super block
    check_disk(disks[0])


@needs_disks
def test_a_disk_that_is_another_one_now_is_left_as_it_is(disks, tmp_path):
    with closing(Disk(disks[0])) as disk:
        record = disk.record
    subprocess.run(["losetup", "-d", disks[0]], check=True)
    (tmp_path / "another").write_bytes(b"somebody's" * 4 * 2**20)
    subprocess.run(["losetup", disks[0], tmp_path / "another"], check=True)
    assert "is another disk than it was" in blank(record)
    assert (tmp_path / "another").read_bytes() == b"somebody's" * 4 * 2**20


KILLED = """
import json, os, signal, sys, threading
from contextlib import ExitStack
from pathlib import Path
from kdb_client.guardian import Guardian
from kdb_client.places import Place, Prepared, hold

def kill():
    while '"process"' not in (last := guardian._journal.read_text().splitlines()[-1]):
        pass
    while b"sleep" not in Path(f"/proc/{json.loads(last)[2].split()[0]}/cmdline").read_bytes()[:5]:
        pass
    os.kill(guardian._pid, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)

with ExitStack() as held, Guardian() as guardian:
    (place,) = hold([Place("a", sys.argv[1], "ext4")], held)
    with Prepared(place, guardian) as folder:
        Path(guardian.new_folder(sys.argv[2]), "file").write_text("")
        if sys.argv[3] == "guardian":
            os.kill(guardian._pid, signal.SIGKILL)
            os.waitid(os.P_PID, guardian._pid, os.WEXITED | os.WNOWAIT)  # it may live on a moment
        else:
            threading.Thread(target=kill).start()
        guardian.run(["sleep", sys.argv[4]], "sleep")
"""


SLEEP = str(60_000 + os.getpid())  # seconds, which no other process of these tests has


def killed(disk: str, folder: Path, who: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", KILLED, disk, str(folder), who, SLEEP]
    with (folder / "said").open("w+") as said:
        ran = subprocess.run(command, stderr=said, env={**os.environ, "PYTHONPATH": str(CLIENT)})
        said.seek(0)
        return subprocess.CompletedProcess(command, ran.returncode, "", said.read())


@needs_disks
def test_a_guardian_that_was_killed_is_said_and_its_owner_takes_everything_away(disks, tmp_path):
    ran = killed(disks[0], tmp_path, "guardian")
    assert "The guardian, a process that takes away" in ran.stderr.splitlines()[-1]
    assert not is_left(disks)
    assert not list(tmp_path.glob("kdb-measure-*"))
    assert not _runs(f"sleep {SLEEP}")
    check_disk(disks[0])


@needs_disks
@pytest.mark.parametrize("next_start", ["--clean", "a measurement"])
def test_what_is_left_when_both_were_killed_is_found_and_taken_away(disks, tmp_path, next_start, capsys):
    assert killed(disks[0], tmp_path, "both").returncode == -signal.SIGKILL
    assert is_left(disks)
    assert list(tmp_path.glob("kdb-measure-*"))
    assert _runs(f"sleep {SLEEP}")
    if next_start == "--clean":
        assert main(["measure", "--clean"]) == 0
    else:
        assert main(["measure", "varmail", "--laboratory=ours", "--place=a=/nowhere", "--place=b=/nowhere"]) == 2
    printed = capsys.readouterr().out
    assert len(re.findall("^Left by a measurement that was killed: .* was taken away.$", printed, re.MULTILINE)) == 4
    assert not is_left(disks)
    assert not list(tmp_path.glob("kdb-measure-*"))
    assert not _runs(f"sleep {SLEEP}")
    check_disk(disks[0])
    assert main(["measure", "--clean"]) == 0
    assert capsys.readouterr().out == ""


@needs_disks
def test_what_is_in_use_is_not_taken_away_and_found_again(disks, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("kdb_client.disks._TRIES", 2)
    killed(disks[0], tmp_path, "both")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    subprocess.run(["mount", disks[0], elsewhere], check=True)
    assert main(["measure", "--clean"]) == 2
    assert f"{disks[0]} is in use" in capsys.readouterr().err
    subprocess.run(["umount", elsewhere], check=True)
    assert main(["measure", "--clean"]) == 0
    check_disk(disks[0])


@needs_disks
@pytest.mark.parametrize("is_mounted", [True, False])
def test_what_somebody_made_on_the_disk_since_is_left_as_it_is(disks, tmp_path, is_mounted, capsys):
    killed(disks[0], tmp_path, "both")
    subprocess.run(["umount", disks[0]], check=True)
    subprocess.run(["mkfs.xfs", "-q", "-f", "-L", "mine", disks[0]], check=True)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    subprocess.run(["mount", disks[0], elsewhere], check=True)
    (elsewhere / "file").write_text("somebody's")
    if not is_mounted:
        subprocess.run(["umount", elsewhere], check=True)
    assert main(["measure", "--clean"]) == 0
    assert f"{disks[0]} carries xfs that this did not make" in capsys.readouterr().out
    if not is_mounted:
        subprocess.run(["mount", disks[0], elsewhere], check=True)
    assert (elsewhere / "file").read_text() == "somebody's"
    subprocess.run(["umount", elsewhere], check=True)


def test_a_measurement_that_is_at_work_is_left_alone_by_another(tmp_path):
    with Guardian() as guardian:
        folder = Path(guardian.new_folder(str(tmp_path)))
        assert clean() == ([], [])
        assert folder.exists()
    assert not folder.exists()


def test_a_journal_of_somebody_else_says_nothing(tmp_path, monkeypatch):
    """A program of root must not remove what a user writes into a folder of his."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "kdb-measure").mkdir()
    (tmp_path / "precious").mkdir()
    journal = tmp_path / "kdb-measure" / "1-a.journal"
    journal.write_text(f'["+", "folder", "{tmp_path}/precious"]\n')
    monkeypatch.setattr(os, "geteuid", lambda: os.stat(journal).st_uid + 1)
    assert clean() == ([], [])
    assert (tmp_path / "precious").exists()


@pytest.fixture
def journal(tmp_path, monkeypatch) -> Path:
    """Return the path of a journal that is not written yet, in a folder that others can write."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    folder = tmp_path / "kdb-measure"
    folder.mkdir()
    folder.chmod(0o777)
    (tmp_path / "precious").mkdir()
    return folder / "1-a.journal"


def line_of(folder: Path) -> str:
    return f'["+", "folder", "{folder}"]\n'


@pytest.mark.parametrize("kind", ["link", "hard link", "others write it", "pipe", "folder"])
def test_what_is_no_file_of_ours_alone_says_nothing(journal, tmp_path, kind):
    elsewhere, precious = tmp_path / "elsewhere", tmp_path / "precious"
    elsewhere.write_text(line_of(precious))
    if kind == "link":
        journal.symlink_to(elsewhere)
    elif kind == "hard link":
        journal.hardlink_to(elsewhere)
    elif kind == "others write it":
        journal.write_text(line_of(precious))
        journal.chmod(0o662)
    elif kind == "pipe":
        os.mkfifo(journal)
    else:
        journal.mkdir()
    assert clean() == ([], [])
    assert precious.exists()
    assert os.path.lexists(journal)


@pytest.mark.parametrize("becomes", ["another", "nothing"])
def test_the_journal_that_was_looked_at_is_the_one_that_counts(journal, tmp_path, monkeypatch, becomes):
    (tmp_path / "ours").mkdir()
    journal.touch(0o600)
    journal.write_text(line_of(tmp_path / "ours"))
    flock = fcntl.flock

    def turn(file, how):
        journal.rename(tmp_path / "kept")
        journal.write_text(line_of(tmp_path / "precious"))
        if becomes == "nothing":  # whoever was at work has ended
            (tmp_path / "kept").unlink()
        flock(file, how)

    monkeypatch.setattr(fcntl, "flock", turn)
    assert len(clean()[0]) == (becomes == "another")
    assert (tmp_path / "precious").exists()
    assert (tmp_path / "ours").exists() == (becomes == "nothing")


def test_a_guardian_reads_its_own_journal_whatever_stands_in_its_place(journal, tmp_path):
    with Guardian() as guardian:
        ours = Path(guardian.new_folder(str(tmp_path)))
        guardian._journal.unlink()
        guardian._journal.write_text(line_of(tmp_path / "precious"))
    assert (tmp_path / "precious").exists()
    assert not ours.exists()


def test_a_process_that_has_the_number_of_ours_is_left_alone():
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as somebody:
        number, boot, began = process_identity(somebody.pid).split()
        end_process(f"{number} {boot} {int(began) - 1}")
        end_process(f"{number} {boot[::-1]} {began}")
        left = somebody.poll()
        end_process(f"{number} {boot} {began}")
        assert (left, somebody.wait()) == (None, -signal.SIGKILL)


def test_a_killed_owner_leaves_neither_its_folder_nor_its_process(tmp_path):
    owner = (
        "import os, signal, subprocess, sys\n"
        "from kdb_client.guardian import FOLDER, PROCESS, Guardian, clean, end_process, process_identity\n"
        "with Guardian() as guardian:\n"
        "    guardian.watch(FOLDER, sys.argv[1])\n"
        "    os.mkdir(sys.argv[1])\n"
        "    child = subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
        "    guardian.watch(PROCESS, process_identity(child.pid))\n"
        "    print(child.pid, flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    folder = tmp_path / "made"
    command = [sys.executable, "-c", owner, str(folder)]
    ran = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(CLIENT)})
    assert ran.returncode == -signal.SIGKILL
    until(lambda: not folder.exists())
    stat = Path(f"/proc/{ran.stdout.strip()}/stat")
    until(lambda: not stat.exists() or stat.read_text().split()[2] == "Z")


def test_what_is_forgotten_is_left_alone(tmp_path):
    """By the end of a long sitting the number of a process that ended may be somebody else's."""
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as somebody:
        with Guardian() as guardian:
            kept, gone = guardian.new_folder(str(tmp_path)), guardian.new_folder(str(tmp_path))
            guardian.watch(PROCESS, process_identity(somebody.pid))
            guardian.forget(PROCESS, process_identity(somebody.pid))
            guardian.forget(FOLDER, kept)
        left = (Path(kept).exists(), Path(gone).exists(), somebody.poll())
        somebody.kill()
    assert left == (True, False, None)


def test_the_chart_has_a_dot_in_an_interval_for_each_choice():
    rows = [
        {"name": "xfs", "ratio": 1.0, "low": 1.0, "high": 1.0},
        {"name": "ext4", "ratio": 0.5, "low": 0.25, "high": 1.0},
    ]
    first, second = (line[27:67] for line in chart(rows).splitlines())
    assert first == " " * 39 + "o"
    assert (second[20], second.replace("o", "-")) == ("o", "-" * 40)


@pytest.mark.parametrize("kind", ["", "kvm", "oracle"])
def test_a_machine_says_what_it_knows_of_itself(kind, tmp_path, monkeypatch):
    (tmp_path / "systemd-detect-virt").write_text(f"#!/bin/sh\necho {kind or 'none'}\n")
    (tmp_path / "systemd-detect-virt").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    facts = facts_of([Place("a", str(tmp_path))], "", in_guest=bool(kind), waits=True)
    assert facts["virtual"] == ("yes" if kind else "no")
    assert facts.get("hypervisor") == (kind if kind == "kvm" else None)
    assert facts.get("quiet_host") == (None if kind else "yes")  # what a guest sees is not the host
    assert facts_of([], "esxi", in_guest=True, waits=True)["hypervisor"] == "esxi"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--place", "ssd"], "found no NAME=FOLDER"),
        (["--place", "ssd=/tmp"], "Name two or more"),
        (["--disk", "/dev/vdb=zvol", "--fs", "reiser4"], "allowed are ext4"),
        (["--place", "a=/nowhere/a", "--place", "b=/nowhere/b"], "is no folder that you may write to"),
    ],
)
def test_what_cannot_be_measured_is_said_before_anything_is_done(arguments, said, capsys):
    assert main(["measure", "varmail", "--laboratory", "ours", "--yes", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_what_is_stated_of_a_place_goes_along_and_names_it():
    parser = argparse.ArgumentParser()
    measure.add_arguments(parser)
    disks = ["--disk=/dev/vdb=zvol,cache_mode=none,io_mode=native", "--disk=/dev/vdc=zvol,cache_mode=writeback"]
    folder = "--place=a=/mnt/a,b,iothread=yes"
    named = measure._places(parser.parse_args(["varmail", "--laboratory=ours", "--fs=xfs", *disks, folder]))
    assert [place.choice for place in named] == ["a", "zvol none native xfs", "zvol writeback xfs"]
    assert named[0].path == "/mnt/a,b"
    assert named[1].settings(in_guest=True) == {
        **{"guest_fs": "xfs", "backend": "zvol", "cache_mode": "none", "io_mode": "native"}
    }


@pytest.mark.parametrize(
    ("place", "told"),
    [
        (
            Place("a", "/dev/vdb", "xfs"),
            ["mkfs.xfs /dev/vdb", 'pvesm add dir "$STORAGE" --path "$HOST_FOLDER" --content images'],
        ),
        (Place("a", "/mnt/my disk"), ["pvesm add dir \"$STORAGE\" --path '/mnt/my disk' --content images"]),
    ],
)
def test_it_ends_with_what_sets_up_the_place_and_makes_no_file_system_on_a_folder(place, told, monkeypatch, capsys):
    row = {"name": place.choice, "ratio": 1.0, "low": 1.0, "high": 1.0}
    monkeypatch.setattr(measure, "is_guest", lambda: False)
    monkeypatch.setattr(places, "file_system_of", lambda path: "xfs")
    lines = ['mkfs.xfs "$HOST_DEVICE"', 'pvesm add dir "$STORAGE" --path "$HOST_FOLDER" --content images']
    decision = {"sentence": "Use it.", "choices": [row], "changes": [], "set_up": lines, "runs": 4}
    measure._tell({"id": 7, "state": "decided", "decision": decision}, {place.choice: place}, "https://kdb/7/")
    assert capsys.readouterr().out.split("Set it up:\n")[1].split("\n\n")[0].splitlines() == [
        f"  {line}" for line in told
    ]


def test_a_timer_is_printed_with_what_was_asked(monkeypatch, tmp_path, capsys):
    (tmp_path / "kdb").write_text("")
    (tmp_path / "kdb").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    named = ["--place=a=/mnt/my disk", "--place", "b=/mnt/100%", "--most-minutes", "20"]
    arguments = ["measure", "varmail", "--laboratory", "ours", "--every", "night", *named]
    monkeypatch.setattr(sys, "argv", ["kdb", *arguments])
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert (
        f"ExecStart={tmp_path}/kdb measure varmail --laboratory ours '--place=a=/mnt/my disk' --place b=/mnt/100%% "
        "--most-minutes 20 --again --yes --scheduled night\n" in printed
    )
    assert "OnCalendar=*-*-* 02:00:00" in printed
    if shutil.which("systemd-analyze"):
        service, timer = printed.split("# /etc/systemd/system/kdb-measure.timer")
        for name, text in (("kdb-measure.service", service), ("kdb-measure.timer", timer)):
            (tmp_path / name).write_text(text)
        checked = subprocess.run(
            ["systemd-analyze", "verify", tmp_path / "kdb-measure.timer"], capture_output=True, text=True, check=False
        )
        assert not [line for line in checked.stderr.splitlines() if "kdb-measure" in line], checked.stderr


def test_a_budget_of_time_and_of_written_bytes_ends_runs():
    assert Budget(None, None).why_not(3600, 2**40) == ""
    assert Budget(1, None).why_not(59, 0) == ""
    assert Budget(1, None).why_not(61, 0) == "skipped: the budget of 1 minutes is used up"
    assert Budget(None, 1).why_not(30, 2**29) == ""
    assert Budget(None, 1).why_not(30, 2**31) == "skipped: the budget of 1 GiB written is used up"


def test_a_run_that_would_end_later_is_told_by_how_long_the_last_ones_took_with_their_files(monkeypatch):
    at = iter([0.0, 0.0, 100.0, 200.0])
    monkeypatch.setattr("time.monotonic", lambda: next(at))
    budget = Budget(4, None)
    assert [bool(budget.why_not(30, 0)) for _ in range(3)] == [False, False, True]


def test_what_programs_wrote_counts_towards_the_budget(tmp_path):
    budget = Budget(None, 0.03)  # 31 MiB
    assert budget.why_not(2, 2**20) == ""
    command = ["dd", "if=/dev/zero", f"of={tmp_path}/file", "bs=1M", "count=20", "conv=fsync"]
    subprocess.run(command, check=True, capture_output=True)
    if not resource.getrusage(resource.RUSAGE_CHILDREN).ru_oublock:
        pytest.skip("this file system does not count what is written")
    assert budget.why_not(2, 2**20) == "skipped: the budget of 0.03 GiB written is used up"


class OfServer:
    """Answers as a server does: two runs of each choice, until each is reported."""

    def __init__(self, unchanged=False, choices=("a", "b")):
        self.choices = choices
        self.begun, self.reports, self.unchanged = {}, [], unchanged
        self.configuration = SimpleNamespace(url="https://kdb.example.org")

    def post(self, path, body):
        if path == "sittings/":
            self.begun = body
        else:
            self.reports.append(body)
        number = len(self.reports) + 1
        row = {"name": "a", "ratio": 1.0, "low": 1.0, "high": 1.0}
        decision = {"sentence": "Nothing.", "choices": [row], "changes": [], "set_up": [], "runs": 0}
        run = {"number": number, "choice": self.choices[number % 2]}
        return {
            **{"id": 7, "state": "open", "load": {"engine": "fio", **load_of("varmail", 30)}},
            **{"decision": decision, "next": [] if number > 4 or self.unchanged else [run]},
        }


def scheduled(tmp_path, server, *further, names="ab"):
    parser = argparse.ArgumentParser()
    measure.add_arguments(parser)
    named = [f"--place={name}={tmp_path}" for name in names]
    return measure.measure(
        server, parser.parse_args(["varmail", "--laboratory=ours", "--again", "--yes", *named, *further])
    )


@pytest.mark.skipif(not shutil.which("fio"), reason="needs fio")
def test_a_timer_skips_the_night_while_the_machine_is_busy_and_reports_why(tmp_path, monkeypatch):
    monkeypatch.setattr(measure, "_busy", lambda seconds: 3.0)
    server = OfServer()
    scheduled(tmp_path, server, "--scheduled=night")
    assert server.reports == [{"disturbed": "skipped: other programs kept 3.0 processors busy"}] * 4
    assert (server.begun["again"], server.begun["if_changed"]) == (True, False)


@pytest.mark.skipif(not shutil.which("fio"), reason="needs fio")
def test_a_timer_measures_nothing_where_no_release_changed(tmp_path, capsys):
    server = OfServer(unchanged=True)
    assert scheduled(tmp_path, server, "--scheduled=change") == 0
    assert (server.begun["if_changed"], server.reports) == (True, [])
    assert "No release changed since sitting 7" in capsys.readouterr().out
