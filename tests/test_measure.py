"""kdb measure on a machine as a user has it, against a running server; killed, it leaves nothing behind."""

import argparse
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from kdb_client import measure
from kdb_client.command import main
from kdb_client.errors import KdbError
from kdb_client.guardian import FOLDER, PROCESS, Guardian
from kdb_client.measure import chart
from kdb_client.places import Place, check_disk, facts_of
from kdb_client.schedule import Budget

from modelling.here import laboratories
from modelling.models import Sitting
from tests.factories import make_token, make_user

CLIENT = Path(__file__).parents[1] / "script" / "client"
LOOPS = os.geteuid() == 0 and shutil.which("losetup") and shutil.which("mkfs.xfs") and shutil.which("fio")
needs_disks = pytest.mark.skipif(not LOOPS, reason="needs root, fio and file systems on loop devices")


def until(is_so: Callable[[], bool]) -> None:
    """Wait for it; a hang ends after minutes."""
    end = time.monotonic() + 240
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.1)


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
    monkeypatch.setenv("KDB_TOKEN", make_token(ada))
    return laboratories.found(ada, "ours", "Our laboratory")


def asked(disks: list[str], **options: str) -> list[str]:
    told = {"--laboratory": "ours", "--fs": "ext4,xfs", "--seconds": "2", "--most-runs": "6", **options}
    return [
        *("measure", "varmail", "--despite-load", "--yes", f"--disk={disks[0]}=one", f"--disk={disks[1]}=two"),
        *(f"{name}={value}" for name, value in told.items()),
    ]


def is_left(disks: list[str]) -> bool:
    """Tell whether anything of a measurement is on the machine."""
    mounted = Path("/proc/mounts").read_text()
    return any(disk in mounted for disk in disks) or any(Path("/tmp").glob("kdb-measure-*"))


# Nightly: what loop devices log to the kernel would disturb the runs of campaigns that are tested meanwhile.
@needs_disks
@pytest.mark.sqlite
@pytest.mark.nightly
def test_two_disks_and_two_file_systems_end_with_a_sentence_and_empty_disks(disks, laboratory, capsys):
    status = main(asked(disks))
    told = capsys.readouterr().out
    assert len(re.findall(r"^run +\d+ .* operations a second$", told, re.MULTILINE)) >= 2
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
def test_killed_at_any_step_it_leaves_nothing(disks, laboratory, after, tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(CLIENT)}
    made = tmp_path / "made"
    if after == "mkfs":  # which takes so long that it is met
        for name in ("mkfs.ext4", "mkfs.xfs"):
            stand_in = tmp_path / name
            stand_in.write_text(f'#!/bin/sh\n{shutil.which(name)} "$@"; touch {made}; sleep 600\n')
            stand_in.chmod(0o755)
        environment["PATH"] = f"{tmp_path}:{os.environ['PATH']}"
    command = [sys.executable, "-m", "kdb_client", *asked(disks, **{"--seconds": "60"})]
    program = subprocess.Popen(command, env=environment, start_new_session=True)
    signs = {"mkfs": made.exists, "mount": lambda: is_left(disks), "fio": lambda: _runs("fio --output")}
    until(signs[after])
    program.send_signal(signal.SIGKILL)
    program.wait()
    until(lambda: not is_left(disks) and not _runs("fio --output"))
    for disk in disks:
        until(lambda disk=disk: _is_empty(disk))


def _runs(words: str) -> bool:
    return any(
        words in path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if path.exists()
    )


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


def test_a_killed_owner_leaves_neither_its_folder_nor_its_process(tmp_path):
    owner = (
        "import os, signal, subprocess, sys\n"
        "from kdb_client.guardian import FOLDER, PROCESS, Guardian\n"
        "with Guardian() as guardian:\n"
        "    guardian.watch(FOLDER, sys.argv[1])\n"
        "    os.mkdir(sys.argv[1])\n"
        "    child = subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
        "    guardian.watch(PROCESS, str(child.pid))\n"
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
            guardian.watch(PROCESS, str(somebody.pid))
            guardian.forget(PROCESS, str(somebody.pid))
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
    for name, output in (("systemd-detect-virt", kind or "none"), ("fio", "fio-3.33")):
        (tmp_path / name).write_text(f"#!/bin/sh\necho {output}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    facts = facts_of([Place("a", str(tmp_path))], "", in_guest=bool(kind), waits=True)
    assert (facts["virtual"], facts["fio"]) == ("yes" if kind else "no", "3.33")
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
    places = measure._places(parser.parse_args(["varmail", "--laboratory=ours", "--fs=xfs", *disks, folder]))
    assert [place.choice for place in places] == ["a", "zvol none native xfs", "zvol writeback xfs"]
    assert places[0].path == "/mnt/a,b"
    assert places[1].settings(in_guest=True) == {
        **{"guest_fs": "xfs", "backend": "zvol", "cache_mode": "none", "io_mode": "native"}
    }


@pytest.mark.parametrize(
    ("place", "told"),
    [
        (Place("a", "/dev/vdb", "xfs"), ["mkfs.xfs /dev/vdb", 'pvesm add dir "$STORAGE" --path "$HOST_FOLDER"']),
        (Place("a", "/mnt/my disk"), ["pvesm add dir \"$STORAGE\" --path '/mnt/my disk'"]),
    ],
)
def test_it_ends_with_what_sets_up_the_place_and_makes_no_file_system_on_a_folder(place, told, capsys):
    row = {"name": place.choice, "ratio": 1.0, "low": 1.0, "high": 1.0}
    lines = ['mkfs.xfs "$HOST_DEVICE"', 'pvesm add dir "$STORAGE" --path "$HOST_FOLDER"']
    decision = {"sentence": "Use it.", "choices": [row], "changes": [], "set_up": lines, "runs": 4}
    client = SimpleNamespace(configuration=SimpleNamespace(url="https://kdb.example.org"))
    measure._tell(client, {"id": 7, "state": "decided", "decision": decision}, {place.choice: place})
    assert capsys.readouterr().out.split("Set it up:\n")[1].split("\n\n")[0].splitlines() == [
        f"  {line}" for line in told
    ]


def test_a_timer_is_printed_with_what_was_asked(monkeypatch, tmp_path, capsys):
    (tmp_path / "kdb").write_text("")
    (tmp_path / "kdb").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    places = ["--place=a=/mnt/my disk", "--place", "b=/mnt/100%", "--most-minutes", "20"]
    arguments = ["measure", "varmail", "--laboratory", "ours", "--every", "night", *places]
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

    def __init__(self, unchanged=False):
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
        run = {"number": number, "choice": "ab"[number % 2]}
        return {
            **{"id": 7, "state": "open", "load": {"seconds": 2, "working_set_bytes": 1, "job": ""}},
            **{"decision": decision, "next": [] if number > 4 or self.unchanged else [run]},
        }


def scheduled(tmp_path, server, *further):
    parser = argparse.ArgumentParser()
    measure.add_arguments(parser)
    places = [f"--place={name}={tmp_path}" for name in "ab"]
    return measure.measure(
        server, parser.parse_args(["varmail", "--laboratory=ours", "--again", "--yes", *places, *further])
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
