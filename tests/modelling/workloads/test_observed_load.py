"""The load of an observed machine as a job for fio: its text by hand, and what fio then does to a disk."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

import pytest
from kdb_client.fio_job import fio_job

from experiments.laboratory.transport.counters import Counts
from modelling.workloads.observed_load import NotPlayedError, observed_numbers, observed_profile
from modelling.workloads.profiles import Profile, Requests

KIB = 1024


def counted(reads: int, read_kib: float, writes: int, write_kib: float, flushes: int = 0, under_way: int = 1):
    """The profile of one disk that a hypervisor counted this of."""
    seconds = 0.001 * (reads + writes)
    counts = Counts(reads, int(reads * read_kib * KIB), seconds, writes, int(writes * write_kib * KIB), 0.0, flushes)
    return observed_profile([(counts, seconds / under_way)])


def options(profile: Profile, version: str = "") -> dict[str, str]:
    """The options of the profile's job."""
    return dict(line.split("=", 1) for line in job_of(profile, version).splitlines()[1:])


def job_of(profile: Profile, version: str = "", folder: str = "/mnt", seconds: int = 30) -> str:
    """The job that kdb measure forms of the profile's numbers."""
    return fio_job({**observed_numbers(profile, version), "seconds": seconds, "warm_up_seconds": 1}, folder)


def test_the_whole_text_by_hand():
    """Three requests in ten are reads of 16 KiB; of the writes, 8 KiB each, every second is flushed."""
    assert job_of(counted(300, 16, 700, 8, 350, under_way=4)) == (
        "[kdb]\ndirectory=/mnt\nioengine=psync\nrw=randrw\nrwmixread=30\nbs=16384,8192\nnumjobs=4\nnrfiles=1\n"
        "filesize=268435456\nopenfiles=100\nfile_service_type=random\nnorandommap=1\nfallocate=none\noverwrite=1\n"
        "time_based=1\nruntime=30\ngroup_reporting=1\nfdatasync=2\n"
        "direct=1\nramp_time=1\n"
    )


@pytest.mark.parametrize("counts", [(300, 16, 700, 8, 350), (100, 5.6, 0, 0), (0, 0, 10, 23.7, 10)])
def test_loads_that_were_kept_as_text_are_kept_as_the_same_numbers(counts):
    numbers_of = import_module("modelling.migrations.0007_say_more_of_runs").numbers_of
    profile = counted(*counts)
    assert numbers_of(job_of(profile)) == observed_numbers(profile, "")


def test_counts_of_disks_together_by_hand():
    """2 s of reads in the 1 s of the first disk are two at once; 3 s of writes and flushes in 1 s three more."""
    first = Counts(reads=300, read_bytes=300 * 16 * KIB, read_seconds=2.0)
    second = Counts(writes=600, write_bytes=600 * 128 * KIB, write_seconds=2.5, flushes=100, flush_seconds=0.5)
    profile = observed_profile([(first, 1.0), (second, 1.0), (Counts(), 0.0)])
    assert (profile.concurrency, profile.files) == (5, None)
    assert profile.requests == Requests(0.3, 0.6, 0.1)
    assert profile.mean_io_bytes == (300 * 16 + 600 * 128) * KIB / 900
    assert profile.bytes.shares() == pytest.approx((16 / 272, 0, 128 / 272, 128 / 272))
    job = options(profile)
    assert (job["rw"], job["rwmixread"], job["bs"], job["fdatasync"]) == ("randrw", "33", "16384,131072", "6")


def test_flushes_without_reads_or_writes_are_refused_as_no_load():
    with pytest.raises(NotPlayedError, match="neither reads nor writes"):
        observed_profile([(Counts(flushes=5), 60.0)])


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
    ("shares", "version", "every"),
    [
        ((0, 10, 10), "", "1"),
        ((0, 10, 5), "", "2"),
        ((10, 10, 5), "", "2"),
        # An older fio, once a flush is due, also flushes after each read until the next write.
        ((10, 10, 5), "3.33", "4"),
        ((10, 10, 5), "fio-3.38", "2"),
        ((10, 10, 0), "", None),
    ],
)
def test_flushes_are_as_frequent_in_every_fio(shares, version, every):
    reads, writes, flushes = shares
    assert options(counted(reads, 8, writes, 8, flushes), version).get("fdatasync") == every


# On a disk

PLAYED = {
    "small writes, flushed": (300, 16, 700, 8, 300),
    "reads of 24 KiB": (900, 23.7, 100, 5.6),
}


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
    profile = counted(*PLAYED[name])
    version = subprocess.run(["fio", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    job = tmp_path / "job.fio"
    job.write_text(job_of(profile, version, str(folder), 3))
    subprocess.run(["fio", "--create_only=1", str(job)], check=True, capture_output=True)
    disk_counts = requests_of(lambda: subprocess.run(["fio", str(job)], check=True, capture_output=True))
    size = profile.mean_io_bytes * (profile.requests.reads + profile.requests.writes)
    assert_is_close(
        disk_counts,
        {
            **asdict(profile.requests),
            "read_bytes": size * profile.bytes.reads,
            "write_bytes": size * (1 - profile.bytes.reads),
        },
    )
