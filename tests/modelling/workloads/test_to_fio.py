"""A profile as a job for fio: its text by hand, and what fio, and Filebench where it is, then does to a disk."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.laboratory.images import filebench_tree
from experiments.laboratory.reach.counters import Counts
from modelling.workloads import profiles, wml
from modelling.workloads.fio_job import fio_profile
from modelling.workloads.profiles import KNOWN, Accesses, Profile, Requests, known_profiles
from modelling.workloads.to_fio import FDATASYNC, FSYNC, NotPlayedError, observed_profile, profile_to_fio
from tests.experiments.laboratory.conftest import built_filebench
from tests.experiments.laboratory.lab import no_filebench

KIB, MIB = 1024, 2**20
READS = Accesses(random_read=1)


def options(profile: Profile, **more) -> dict[str, str]:
    """The options of the profile's job."""
    text = profile_to_fio(profile, **{"folder": "/mnt", "seconds": 9} | more).text
    return dict(line.split("=", 1) for line in text.splitlines()[1:])


def counted(reads: int, read_kib: float, writes: int, write_kib: float, flushes: int = 0, under_way: int = 1):
    """The profile of one disk that a hypervisor counted this of."""
    seconds = 0.001 * (reads + writes)
    counts = Counts(reads, int(reads * read_kib * KIB), seconds, writes, int(writes * write_kib * KIB), 0.0, flushes)
    return observed_profile([(counts, seconds / under_way)])


def test_the_whole_text_by_hand():
    """Three requests in ten are reads of 16 KiB; of the writes, 8 KiB each, every second is flushed."""
    job = profile_to_fio(
        Profile(
            operations=Accesses(random_read=0.1, random_write=0.25),
            bytes=Accesses(random_read=48 / 104, random_write=56 / 104),
            metadata_share=0.5,
            concurrency=4,
            files=100,
            mean_file_bytes=50 * KIB,
            mean_io_bytes=10.4 * KIB,
            requests=Requests(0.3 / 1.35, 0.7 / 1.35, 0.35 / 1.35),
            think_seconds=0.0025,
        ),
        folder="@FOLDER@",
        seconds=30,
        name="mail",
    )
    assert job.text == (
        "[mail]\ndirectory=@FOLDER@\nioengine=psync\nrw=randrw\nrwmixread=30\nbs=16384,8192\nnumjobs=4\nnrfiles=25\n"
        "filesize=49152\nopenfiles=100\nfile_service_type=random\nnorandommap=1\nfallocate=none\noverwrite=1\n"
        "time_based=1\nruntime=30\ngroup_reporting=1\nfsync=2\nthinktime=2500\n"
    )
    assert job.working_set_bytes == 100 * 49152
    assert job.left_open == ("Metadata operations, 50% of the load, are left out.",)


def test_what_a_profile_does_not_say_takes_a_stated_default():
    job = profile_to_fio(Profile(operations=READS, bytes=READS), folder="/mnt", seconds=9)
    assert {"rw=randread", "bs=4096,4096", "numjobs=1", "nrfiles=1", "filesize=1073741824"} <= {*job.text.split()}
    assert not {"sync", "fsync", "thinktime", "rwmixread"} & options(Profile(operations=READS, bytes=READS)).keys()
    assert job.left_open == (
        "One thread, as it is not known how many are at work.",
        "Requests of 4 KiB, as their size is not known.",
        "Files of 1,024 MiB in all, as the size of the set is not known.",
    )


@pytest.mark.parametrize(
    ("profile", "said"),
    [
        (Profile(Accesses(), Accesses(), metadata_share=0.8, flush_share=0.2), "neither reads nor writes"),
        (Profile(READS, READS, concurrency=1001), "1,001 threads; fio is given at most 1,000"),
    ],
)
def test_what_fio_cannot_play_is_said(profile, said):
    with pytest.raises(NotPlayedError, match=said):
        profile_to_fio(profile, folder="/mnt", seconds=9)


@pytest.mark.parametrize(
    ("bytes_", "request_kib", "file_kib", "expected"),
    [
        (Accesses(sequential_read=1), 128, 4096, {"rw": "read", "file_service_type": "random:32"}),
        (Accesses(random_read=1), 128, 4096, {"rw": "randread", "file_service_type": "random"}),
        # Half of the bytes of 16 KiB follow a jump: every second request jumps. Of 128 KiB each does, as after a jump
        # 64 KiB are random.
        (Accesses(0.5, 0.5), 16, 4096, {"percentage_random": "50,50", "file_service_type": "random:256"}),
        (Accesses(0.5, 0.5), 128, 4096, {"rw": "randread", "file_service_type": "random"}),
        (Accesses(0, 0.5, 0.5, 0), 16, 4096, {"rw": "randrw", "percentage_random": "0,100"}),
    ],
)
def test_what_is_sequential_goes_on_in_one_file(bytes_, request_kib, file_kib, expected):
    profile = Profile(bytes_, bytes_, files=1, mean_file_bytes=file_kib * KIB, mean_io_bytes=request_kib * KIB)
    assert expected.items() <= options(profile).items()


@pytest.mark.parametrize(
    ("kib", "said"),
    [
        (1.0, "bs=4096,4096"),  # not below what every disk takes
        (4.7, "bs=4096,4096"),
        (5.6, "bssplit=4096/60:8192/40,4096/60:8192/40"),  # either alone is off by more than 20 %
        (7.0, "bs=8192,8192"),
        (23.7, "bs=24576,24576"),
    ],
)
def test_sizes_are_what_every_disk_takes_and_right_within_a_fifth(kib, said):
    name, _, value = said.partition("=")
    assert options(counted(100, kib, 0, 0))[name] == value


@pytest.mark.parametrize(
    ("shares", "flush", "version", "said"),
    [
        ((0, 10, 10), FDATASYNC, "", {"fdatasync": "1"}),
        ((0, 10, 5), FDATASYNC, "", {"fdatasync": "2"}),
        ((10, 10, 5), FDATASYNC, "", {"fdatasync": "2"}),
        # An older fio, once a flush is due, also flushes after each read until the next write.
        ((10, 10, 5), FDATASYNC, "3.33", {"fdatasync": "4"}),
        ((10, 10, 5), FDATASYNC, "fio-3.38", {"fdatasync": "2"}),
        ((10, 10, 5), FSYNC, "", {"fsync": "2"}),
        ((10, 10, 10), FSYNC, "3.33", {"sync": "1"}),  # each write
        ((10, 10, 0), FSYNC, "", {}),
    ],
)
def test_flushes_are_as_frequent_in_every_fio(shares, flush, version, said):
    reads, writes, flushes = shares
    job_options = options(counted(reads, 8, writes, 8, flushes), flush=flush, version=version)
    assert {name: job_options[name] for name in ("sync", "fsync", "fdatasync") if name in job_options} == said


@pytest.mark.parametrize(("share", "said"), [(1.0, "1"), (0.6, "1"), (0.4, None)])
def test_files_opened_synchronously_are_so_where_most_writes_are(share, said):
    writes = Accesses(random_write=1)
    assert options(Profile(writes, writes, sync_share=share)).get("sync") == said


@pytest.mark.parametrize("name", KNOWN)
def test_the_job_of_each_known_workload_has_its_profile(name):
    asked = known_profiles()[name]
    job = profile_to_fio(asked, folder="/mnt", seconds=9, name=name)
    read_back = fio_profile(job.text)
    reads = asked.requests.reads / (asked.requests.reads + asked.requests.writes)
    assert read_back.requests.reads / (read_back.requests.reads + read_back.requests.writes) == pytest.approx(
        reads, abs=0.005
    )
    assert read_back.bytes.reads == pytest.approx(asked.bytes.reads, abs=0.01)
    assert read_back.mean_io_bytes == pytest.approx(asked.mean_io_bytes, rel=0.02)
    assert read_back.concurrency == asked.concurrency
    assert (read_back.sync_share, read_back.working_set_bytes) == (asked.sync_share, job.working_set_bytes)
    assert job.working_set_bytes == pytest.approx(asked.working_set_bytes, rel=0.1)


def test_pauses_and_sequences_come_back_when_the_job_is_read():
    moved = Accesses(0.15, 0.45, 0.3, 0.1)
    asked = Profile(moved, moved, files=2, mean_file_bytes=64 * MIB, mean_io_bytes=32 * KIB, think_seconds=0.004)
    read_back = fio_profile(profile_to_fio(asked, folder="/mnt", seconds=9).text)
    assert read_back.bytes.shares() == pytest.approx(moved.shares(), abs=0.005)
    assert read_back.think_seconds == pytest.approx(0.004)


# What was observed


def test_counts_of_disks_together_by_hand():
    """2 s of reads in the 1 s of the first disk are two at once; 3 s of writes and flushes in 1 s three more."""
    first = Counts(reads=300, read_bytes=300 * 16 * KIB, read_seconds=2.0)
    second = Counts(writes=600, write_bytes=600 * 128 * KIB, write_seconds=2.5, flushes=100, flush_seconds=0.5)
    profile = observed_profile([(first, 1.0), (second, 1.0), (Counts(), 0.0)])
    assert (profile.concurrency, profile.files) == (5, None)
    assert profile.requests == Requests(0.3, 0.6, 0.1)
    assert profile.mean_io_bytes == (300 * 16 + 600 * 128) * KIB / 900
    assert profile.bytes.shares() == pytest.approx((16 / 272, 0, 128 / 272, 128 / 272))
    job = options(profile, flush=FDATASYNC)
    assert (job["rw"], job["rwmixread"], job["bs"], job["fdatasync"]) == ("randrw", "33", "16384,131072", "6")
    with pytest.raises(NotPlayedError):
        observed_profile([(Counts(flushes=5), 60.0)])


# On a disk

SMALL = {"files": 2, "mean_file_bytes": 16 * MIB, "think_seconds": 0.0002}
PLAYED = {
    "small writes, flushed": (replace(counted(300, 16, 700, 8, 300), **SMALL), FDATASYNC),
    "reads of 24 KiB": (replace(counted(900, 23.7, 100, 5.6), **SMALL), FDATASYNC),
    "sequences": (Profile(*[Accesses(0.15, 0.45, 0.3, 0.1)] * 2, mean_io_bytes=32 * KIB, **SMALL), FSYNC),
    "a web server": (known_profiles()["webserver"], FSYNC),
}


def job_of(name: str, folder: Path, seconds: int) -> str:
    profile, flush = PLAYED[name]
    version = subprocess.run(["fio", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    return profile_to_fio(profile, folder=str(folder), seconds=seconds, flush=flush, version=version).text


def assert_is_close(measured: dict[str, float], asked: dict[str, float]) -> None:
    """Shares are within 5 points, sizes within 20 %. Of each: reads, writes, flushes, and bytes of reads and writes"""
    all_measured, all_asked = (
        sum(counts[kind] for kind in ("reads", "writes", "flushes")) for counts in (measured, asked)
    )
    for kind in ("reads", "writes", "flushes"):
        assert measured[kind] / all_measured == pytest.approx(asked[kind] / all_asked, abs=0.05), (
            kind,
            measured,
            asked,
        )
    for kind in ("read", "write"):
        if asked[f"{kind}s"] / all_asked > 0.01:
            measured_size, asked_size = (counts[f"{kind}_bytes"] / counts[f"{kind}s"] for counts in (measured, asked))
            assert measured_size == pytest.approx(asked_size, rel=0.2), (kind, measured, asked)


def asked_of(profile: Profile) -> dict[str, float]:
    """Return the shares and bytes of the profile's requests by kind, as a log or a disk counts them."""
    operations, moved = profile.operations, profile.bytes
    requests = profile.requests or Requests(operations.reads, 1 - operations.reads, 0.0)
    size = profile.mean_io_bytes * (requests.reads + requests.writes)
    bytes_ = {"read_bytes": size * moved.reads, "write_bytes": size * (1 - moved.reads)}
    return {"reads": requests.reads, "writes": requests.writes, "flushes": requests.flushes, **bytes_}


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("fio"), reason="needs fio")
@pytest.mark.parametrize("name", ["reads of 24 KiB", "sequences"])
def test_fio_asks_for_what_the_profile_says(name, tmp_path):
    """fio's own log of one thread's requests: shares, sizes, and how many go on where the last of their kind ended."""
    profile = PLAYED[name][0]
    log, job = tmp_path / "log", job_of(name, tmp_path, seconds=1)
    (tmp_path / "job.fio").write_text(f"{job}write_iolog={log}\nrandseed=1\n")
    subprocess.run(["fio", str(tmp_path / "job.fio")], check=True, capture_output=True)
    logged = dict.fromkeys(("reads", "writes", "flushes", "read_bytes", "write_bytes", "random"), 0.0)
    ends: dict[tuple[str, str], int] = {}
    for line in log.read_text().splitlines():
        file, kind, *place = line.split()[-4:]
        if kind in ("read", "write"):
            at, size = map(int, place)
            logged[f"{kind}s"] += 1
            logged[f"{kind}_bytes"] += size
            logged["random"] += size * (ends.get((file, kind), 0) != at)
            ends[file, kind] = at + size
    assert_is_close(logged, asked_of(profile))
    random = logged["random"] / (logged["read_bytes"] + logged["write_bytes"])
    assert random == pytest.approx(profile.bytes.random_read + profile.bytes.random_write, abs=0.05)


LOOPS = os.geteuid() == 0 and all(map(shutil.which, ("losetup", "mkfs.ext4", "fio")))
needs_disk = pytest.mark.skipif(not LOOPS, reason="needs root, fio and ext4 on loop devices")


@pytest.fixture
def disk(tmp_path) -> Iterator[tuple[Path, Callable[[Callable[[], object]], dict[str, float]]]]:
    """A folder on a disk of its own, and what tells the requests that something makes of it."""
    image, folder = tmp_path / "image", tmp_path / "mounted"
    with image.open("wb") as file:
        file.truncate(3 * 2**30)
    folder.mkdir()
    made = subprocess.run(["losetup", "--show", "--direct-io=on", "-f", image], capture_output=True, text=True)
    device = made.stdout.strip()
    at_once = "lazy_itable_init=0,lazy_journal_init=0"  # nothing is written later but what is played
    subprocess.run(["mkfs.ext4", "-q", "-E", at_once, device], check=True)
    subprocess.run(["mount", device, folder], check=True)

    def counts() -> list[int]:
        os.sync()
        return [int(word) for word in Path(f"/sys/block/{device[5:]}/stat").read_text().split()]

    def requests_of(act: Callable[[], object]) -> dict[str, float]:
        before = counts()
        act()
        did = [now - then for now, then in zip(counts(), before, strict=True)]
        # The kernel counts each flush as a write of nothing, too. Sectors have 512 bytes.
        names = {"reads": did[0], "writes": did[4] - did[15], "flushes": did[15]}
        return {**names, "read_bytes": 512 * did[2], "write_bytes": 512 * did[6]}

    yield folder, requests_of
    subprocess.run(["umount", folder], check=True)
    subprocess.run(["losetup", "-d", device], check=True)


# Nightly: what loop devices log to the kernel would disturb the runs of campaigns that are tested meanwhile.
@needs_disk
@pytest.mark.nightly
@pytest.mark.parametrize("name", PLAYED)
def test_a_disk_counts_what_the_profile_says(name, disk, tmp_path):
    folder, requests_of = disk
    job = tmp_path / "job.fio"
    job.write_text(job_of(name, folder, seconds=3) + "direct=1\n")
    subprocess.run(["fio", "--create_only=1", str(job)], check=True, capture_output=True)
    disk_counts = requests_of(lambda: subprocess.run(["fio", str(job)], check=True, capture_output=True))
    assert_is_close(disk_counts, asked_of(PLAYED[name][0]))


_PERSONALITY = """
define fileset name=data,path={folder},size=4m,entries=16,dirwidth=20,prealloc=100,reuse
define process name=server,instances=1
{{
  thread name=worker,memsize=10m,instances={threads}
  {{
    flowop openfile name=open,filesetname=data,fd=1,directio
    flowop read name=read,fd=1,iosize=16k,iters=3,random,directio
    flowop write name=write,fd=1,iosize=8k,random,directio
    {sync}
    flowop closefile name=close,fd=1
  }}
}}
run 5
"""


@needs_disk
@pytest.mark.nightly
@pytest.mark.skipif(bool(no_filebench()), reason=no_filebench() or "it is there")
@pytest.mark.parametrize(("sync", "threads"), [("", 3), ("flowop fsync name=sync,fd=1", 1)])
def test_a_disk_counts_the_same_of_filebench_and_of_its_profiles_job(sync, threads, disk, tmp_path, pytestconfig):
    folder, requests_of = disk
    tree = filebench_tree.read(built_filebench(pytestconfig.cache.mkdir("kdb")))
    for name, data in filebench_tree.moved(tree, str(tmp_path / "filebench")).items():
        (tmp_path / "filebench" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "filebench" / name).write_bytes(data)
    program = tmp_path / "filebench" / "bin" / "filebench"
    program.chmod(0o755)
    text = _PERSONALITY.format(folder=folder, sync=sync, threads=threads)
    (tmp_path / "load.f").write_text(text)
    # The first run makes the files, the second one finds them.
    command = ["setarch", "--addr-no-randomize", program, "-f", tmp_path / "load.f"]
    subprocess.run(command, check=True, capture_output=True)
    of_filebench = requests_of(lambda: subprocess.run(command, check=True, capture_output=True))
    job = tmp_path / "job.fio"
    profile = profiles.profile(wml.parse(text))
    job.write_text(profile_to_fio(profile, folder=str(folder), seconds=5).text + "direct=1\n")
    subprocess.run(["fio", "--create_only=1", str(job)], check=True, capture_output=True)
    of_fio = requests_of(lambda: subprocess.run(["fio", str(job)], check=True, capture_output=True))
    assert_is_close(of_fio, of_filebench)
