"""What comes from outside is read by a process that may do nothing else, and what that one says is not believed."""

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from experiments.imports.tables.parsing import Refused, read_tables
from experiments.readers import reading_process
from experiments.readers.base import Reading
from experiments.readers.reading_process import NotRead, ProcessEndedError, ReadingProcess, read_isolated

COMPROMISED = "tests.experiments.readers.compromised"
HEADER = b"hypervisor,host_fs,guest_fs,workload,benchmark,vm_count,value,unit\n"
ROW = b"kvm,ext4,ext4,varmail,filebench,1,1,MiB/s\n"
ABOUT = {"format": "csv", "fields": ["value"], "faults": [], "unknown": []}


class NotWantedError(Exception):
    pass


def readers() -> list[Path]:
    """Return the folder in /proc of each reader at work for this process."""
    server, _ = reading_process._servers[os.getpid()]
    found = [server.pid]
    for _ in ("guards", "readers"):
        found = [int(child) for pid in found for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return [Path(f"/proc/{pid}") for pid in found]


def test_a_compromised_reader_can_do_nothing_but_read(tmp_path):
    target = tmp_path / "target"
    Path(f"{target}.kept").touch()
    tmp_path.chmod(0o777)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert read_isolated(b"", f"{COMPROMISED}:escapes", list[str], target=str(target), port=port) == [[]]
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()
    assert [path.name for path in tmp_path.iterdir()] == ["target.kept"]


def test_the_limits_hold_where_system_calls_cannot_be_filtered(tmp_path):
    code = (
        "import os\n"
        "from experiments.readers import lockdown\n"
        f"from {COMPROMISED} import escapes\n"
        "lockdown._CALLS.clear()\n"
        "lockdown.lock_down(5, 2**32, 2**20)\n"
        "os.execv = os.close\n"  # of which nothing would be left to tell
        f"print(next(escapes(b'', {str(tmp_path / 'target')!r}, 1)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr == ""
    forbidden = ("connected", "opened a socket", "wrote a file", "read a file", "listed a folder", "forked")
    assert not any(f"'{what}'" in done.stdout for what in forbidden)


def test_a_reader_has_no_user_no_new_rights_and_a_filter():
    seen = {}

    def look() -> None:
        for reader in readers():
            lines = (reader / "status").read_text().splitlines()
            seen.update(line.split(":", 1) for line in lines if line.startswith(("Uid", "Groups", "NoNewPrivs", "Sec")))
            raise NotWantedError

    with pytest.raises(NotWantedError):
        read_isolated(b"", f"{COMPROMISED}:works", str, look)
    assert (seen["NoNewPrivs"].strip(), seen["Seccomp"].strip()) == ("1", "2")
    if os.geteuid() == 0:
        assert set(seen["Uid"].split()) == {"65534"}
        assert seen["Groups"].strip() == ""


@pytest.mark.parametrize("reader", ["works", "waits"])
def test_nobody_waits_for_what_is_not_wanted_any_more_and_it_ends(reader):
    at_work = []

    def gone() -> None:
        at_work.extend(readers())
        raise NotWantedError

    with pytest.raises(NotWantedError):
        read_isolated(b"", f"{COMPROMISED}:{reader}", str, gone)
    assert at_work
    assert not any(process.exists() for process in at_work)


def test_what_works_or_waits_for_too_long_ends(monkeypatch):
    monkeypatch.setattr(reading_process, "SECONDS_OF_A_PAGE", 1)
    monkeypatch.setattr(reading_process, "CLOCK_FACTOR", 2)
    with pytest.raises(NotRead, match=r"more than [12] s"):
        read_isolated(b"", f"{COMPROMISED}:works", str)
    with pytest.raises(NotRead, match="more than 2 s"):
        read_isolated(b"", f"{COMPROMISED}:waits", str)
    assert read_tables(b"a,b\n1,2\n")[0].rows == [["1", "2"]]


def test_what_a_reader_leaves_is_never_run(tmp_path):
    target = tmp_path / "target"
    with pytest.raises(NotRead):
        read_isolated(b"", f"{COMPROMISED}:pickles", Reading, target=str(target))
    assert not target.exists()


@pytest.mark.parametrize("left", ["", "00" * 40, "4a" + "ff" * 8, "4a" + "00" * 7 + "0241", "4a" + "00" * 7 + "027b7d"])
def test_a_file_that_is_no_parts_is_an_error(left):
    with ReadingProcess() as process, pytest.raises(ProcessEndedError):
        process.content(process.read([b""], lambda: None, f"{COMPROMISED}:garbage", left=left))


@pytest.mark.parametrize(
    "parts",
    [
        [],
        [None],
        [[]],
        [{"format": "fio", "runs": "many"}],
        [{"format": "fio", "runs": [{"workload": "a", "line": "1"}]}],
        [{"format": "fio", "runs": [{"workload": "a", "line": 1, "throughput_mib_s": True}]}],
        [{"format": "fio", "runs": [], "facts": [{"about": "sda", "name": "size", "value": []}]}],
        [{"format": "fio", "runs": [], "is_admin": True}],
        [{**ABOUT, "fields": 1}],
        [{**ABOUT, "_rows": "os.abort"}],
        [ABOUT, [[1, ["2", "3"]]]],
        [ABOUT, [[1, [{}]]]],
        [ABOUT, [["1", ["2"]]]],
        [ABOUT, [{"line": 1, "field": "value"}]],
        [ABOUT, "rows"],
    ],
)
def test_json_that_is_not_what_it_has_to_be_is_an_error(parts):
    with ReadingProcess() as process:
        place = process.read([b""], lambda: None, f"{COMPROMISED}:other_things", parts=parts)
        with pytest.raises(ProcessEndedError):
            list(process.content(place).rows())


@pytest.mark.parametrize("parts", [[{"table": {"header": ["a"], "rows": [["1", "2"]], "lines": [1]}}], [{"table": 5}]])
def test_a_table_that_is_none_is_refused(parts, monkeypatch):
    monkeypatch.setattr("experiments.imports.tables.parsing.__name__", COMPROMISED)
    real = reading_process.ReadingProcess.read

    def read(self, chunks, wait, reader, **arguments):
        return real(self, chunks, wait, f"{COMPROMISED}:other_things", parts=parts)

    monkeypatch.setattr(reading_process.ReadingProcess, "read", read)
    with pytest.raises(Refused, match="something at which the reader failed"):
        read_tables(b"a,b\n1,2\n")


def test_a_reader_that_crashes_is_told_with_its_status_and_harms_no_other():
    with ReadingProcess() as process:
        place = process.read([HEADER, ROW], lambda: None)
        with pytest.raises(ProcessEndedError, match="status -11"):
            process.read([b""], lambda: None, f"{COMPROMISED}:crashes")
        assert len([*process.content(place).rows()]) == 1


def test_no_more_read_at_once_than_may(monkeypatch):
    monkeypatch.setattr(reading_process, "_reader_slots", threading.BoundedSemaphore(1))
    asked = []

    def gone() -> None:
        asked.append(len(readers()))
        raise NotWantedError

    def read_another() -> None:
        with pytest.raises(NotWantedError):
            read_isolated(b"", f"{COMPROMISED}:works", str, gone)
        raise NotWantedError

    with pytest.raises(NotWantedError):
        read_isolated(b"", f"{COMPROMISED}:works", str, read_another)
    assert asked == [1]


def test_a_server_that_somebody_ended_is_started_again():
    read_tables(b"a,b\n1,2\n")
    server, _ = reading_process._servers[os.getpid()]
    server.kill()
    server.wait()
    assert read_tables(b"a,b\n1,2\n")[0].header == ["a", "b"]
