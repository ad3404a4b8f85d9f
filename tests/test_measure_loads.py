"""The programs that kdb measure runs, for real, and whether a disk answered them."""

import os
import shutil

import pytest
from kdb_client import measure, memory
from kdb_client.command import main
from kdb_client.curve import steady_rate
from kdb_client.guardian import Guardian
from kdb_client.loads import PROGRAMS, load_of
from kdb_client.memory import MEMORY, Counts, why_memory
from kdb_client.places import Place, file_system_of, set_mib
from kdb_client.programs import make_load

NEEDS = {"fio": "fio", "sqlite": "python3", "pgbench": "pgbench"}
MIB = 2**20


@pytest.mark.slow
@pytest.mark.parametrize("engine", NEEDS)
def test_each_program_makes_its_load_and_leaves_nothing(engine):
    if not shutil.which(NEEDS[engine]):
        pytest.skip(f"needs {engine}")
    load = load_of(engine if engine in PROGRAMS else "sync-write", 2) | {"file_bytes": 2**22}
    with Guardian() as guardian:
        folder = guardian.new_folder("/tmp")  # where another user may come, as PostgreSQL does
        rate, note, memory = make_load(engine, load, folder, guardian)
        assert bool(memory) == (file_system_of(folder) == "tmpfs")
        assert (rate > 1, note) == (True, "")
    assert not os.path.exists(folder)


@pytest.mark.slow
@pytest.mark.skipif(not (shutil.which("fio") and os.path.ismount("/dev/shm")), reason="needs fio and memory to fill")
@pytest.mark.parametrize("more", [[], ["--despite-load"]])
def test_where_memory_answers_it_ends_or_says_so(tmp_path, monkeypatch, capsys, more):
    monkeypatch.setattr(measure, "BUSY", 100.0)
    monkeypatch.setattr(measure, "STEAL", 1.0)
    folders = [f"--place={name}={path}" for name, path in (("disk", tmp_path), ("shm", "/dev/shm"))]
    file = tmp_path / "box.json"
    status = main(["measure", "sync", "--yes", "--seconds=2", "--most-runs=3", f"--offline={file}", *folders, *more])
    told = capsys.readouterr()
    if more:
        assert f"shm: {MEMORY}, which saw 0% of the bytes written." in told.out
    else:
        assert status == 2
        assert f"kdb: shm: {MEMORY}, which saw 0% of the bytes written. Name another place" in told.err


LOAD = load_of("database", 30)


@pytest.mark.parametrize(
    ("counts", "fs", "rate", "reads", "said"),
    [
        ((900 * MIB, 300 * MIB, 905 * MIB, 340 * MIB), "ext4", 4e3, True, ""),
        ((900 * MIB, 300 * MIB, 40 * MIB, 340 * MIB), "nfs", 4e3, True, "saw 4% of the bytes read"),
        ((900 * MIB, 300 * MIB, 900 * MIB, 300 * MIB, 7200, 300), "zfs", 4e3, True, "saw 4% of the bytes read"),
        ((900 * MIB, 300 * MIB, 900 * MIB, 300 * MIB, 7200, 0), "zfs", 4e3, True, "saw 0% of the bytes read"),
        ((900 * MIB, 300 * MIB, 900 * MIB, 300 * MIB, 7200, 7000), "zfs", 4e3, True, ""),
        ((900 * MIB, 300 * MIB, 900 * MIB, 300 * MIB, 9, 0), "zfs", 4e3, True, ""),  # past its cache
        ((900 * MIB, 300 * MIB, 900 * MIB, 300 * MIB), "zfs", 4e3, True, ""),  # nobody counts
        ((900 * MIB, 300 * MIB, 900 * MIB, 300 * MIB), "zfs", 2e6, True, "an operation took"),
        ((900 * MIB, 300 * MIB, 905 * MIB, 6 * MIB), "btrfs", 4e3, True, "saw 2% of the bytes written"),
        ((900 * MIB, 300 * MIB, 0, 340 * MIB), "ext4", 4e3, False, ""),  # a program's own cache is part of it
        ((900 * MIB, 3 * MIB, 905 * MIB, 0), "ext4", 4e3, True, ""),  # hardly any was written
        ((5 * MIB, 3 * MIB, 0, 0), "tmpfs", 4e3, True, ""),  # too little to tell
        ((900 * MIB, 300 * MIB, 0, 0), "tmpfs", 4e3, True, "saw 0% of the bytes read"),
        ((900 * MIB, 300 * MIB, 0, 0), "virtiofs", 4e3, True, ""),  # nobody counts
        ((900 * MIB, 300 * MIB, 0, 0), "virtiofs", 2e6, True, "an operation took"),
    ],
)
def test_memory_is_told_by_what_reached_the_disk(counts, fs, rate, reads, said):
    why = why_memory(Counts(0, 0, 0, 0), Counts(*counts), fs, LOAD, rate, reads=reads)
    assert why.startswith(MEMORY) == bool(said)
    assert said in why


def test_reads_that_the_zfs_cache_answered_count_as_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "_ARC", str(tmp_path / "arcstats"))
    assert memory.counts("/")[4:] == (0, 0)
    rows = ["9 1 0x01 147 39984 1 2", "name type data", "demand_data_hits 4 70", "demand_data_misses 4 20"]
    (tmp_path / "arcstats").write_text("\n".join([*rows, "prefetch_data_misses 4 50", "demand_metadata_hits 4 9"]))
    assert memory.counts("/")[4:] == (90, 70)


def test_what_a_cache_took_is_told_beside_the_files_that_were_written_before():
    rate, note = steady_rate(160.0, [300.0] * 6 + [100.0] * 14, 2.0**31, 0, 2.0**30)
    assert (rate, note) == (
        100.0,
        "the first 1.1 GiB went to a cache at 3.0 times the speed, after 1,024 MiB of files were made",
    )


def test_a_set_is_as_large_as_the_room_and_the_time_allow(tmp_path, monkeypatch):
    free = os.statvfs(tmp_path)
    room = os.statvfs_result((4096, 4096, 2**30, 2**22, 2**22, 2**20, 2**20, 2**20, 0, 255))  # 16 GiB free
    monkeypatch.setattr(os, "statvfs", lambda path: room if path == str(tmp_path) else free)
    places = [Place("a", str(tmp_path))]
    assert (
        set_mib(places, load_of("varmail", 30)) == 256
    )  # more files take longer to make and remove than half a run each
    assert set_mib(places, load_of("database", 30)) == 0
    assert set_mib(places, load_of("sync-write", 30)) == 1024
    assert set_mib(places, load_of("varmail", 2)) == 16
    assert set_mib(places, load_of("fileserver", 30)) == 0  # it has more by itself
    monkeypatch.setattr(os, "statvfs", lambda path: os.statvfs_result((*room[:7], 10_000, *room[8:])))
    assert set_mib(places, load_of("varmail", 30)) == 64  # few further files can be made
