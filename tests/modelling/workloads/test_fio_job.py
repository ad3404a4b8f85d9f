"""The profile of a fio job file, worked by hand."""

import pytest

from modelling.workloads.fio_job import fio_profile, is_fio_job
from modelling.workloads.profiles import Accesses
from modelling.workloads.wml import WmlError

MAIL = """
; a mail server, more or less
[global]
ioengine=libaio
bs=16k
size=1g
nrfiles=1000

[deliver]
rw=write
fsync=1
numjobs=3

[read]
readwrite=randread
bs=128k
"""


def test_a_job_file_is_told_by_its_first_line_that_says_something():
    assert is_fio_job(MAIL)
    assert not is_fio_job("# a personality\ndefine fileset name=a,path=/tmp,entries=1\n")


def test_each_job_counts_as_often_as_it_runs():
    """Three writers with a flush after each write and one random reader: 3 + 3 + 1 operations, 3 x 16 + 128 KiB."""
    profile = fio_profile(MAIL)
    assert profile.operations == Accesses(random_read=1 / 7, sequential_write=3 / 7)
    assert profile.flush_share == pytest.approx(3 / 7)
    assert profile.bytes.shares() == pytest.approx((64 / 176, 64 / 176, 0, 48 / 176))
    assert (profile.sync_share, profile.concurrency, profile.files) == (1.0, 4, 4000)
    assert profile.working_set_bytes == 4 * 2**30
    assert profile.mean_io_bytes == 176 * 1024 / 4
    assert profile.notes[-1] == "Not read: ioengine."


def test_comments_behind_a_value_are_cut_off_as_fio_does():
    assert fio_profile("[a]\nrw=write # all of it\nnumjobs=2 ; two at once\n").concurrency == 2


@pytest.mark.parametrize(
    ("options", "reads", "writes"),
    [("rw=randrw", 0.5, 0.5), ("rw=randrw\nrwmixread=80", 0.8, 0.2), ("rw=randrw\nrwmixwrite=70", 0.3, 0.7)],
)
def test_a_mixed_job_reads_its_share(options, reads, writes):
    operations = fio_profile(f"[a]\n{options}\n").operations
    assert (operations.random_read, operations.random_write) == pytest.approx((reads, writes))


def test_what_is_not_said_is_as_fio_has_it_or_not_known():
    profile = fio_profile("[a]\n")
    assert profile.operations == Accesses(sequential_read=1.0)
    assert (profile.mean_io_bytes, profile.working_set_bytes) == (4096, None)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("[a]\nrw=trim\n", 2, "rw=trim: allowed are read"),
        ("[a]\nbs=4x\n", 2, "bs=4x: give bytes"),
        ("[a]\n\nnumjobs=0\n", 3, "numjobs=0: give a whole number from 1"),
        ("[a]\nbs=0\n", 2, "at least one byte"),
        ("[a]\nthinktime=1h\n", 2, "thinktime=1h: give microseconds"),
        ("[a]\nrw=randread\npercentage_random=50,200\n", 3, "percentage_random=200: give a whole number from 0 to 100"),
        ("[a]\nbssplit=4k/50:8k/50\n", 2, "several shares"),
        ("[global]\nbs=4k\n", 1, "at least one job"),
        ("[a\n", 1, "name in brackets"),
        ("[a]\n" * 1001, 1001, "more than 1000 jobs"),
    ],
)
def test_what_is_not_understood_is_refused_with_its_line(text, line, words):
    with pytest.raises(WmlError, match=words) as refused:
        fio_profile(text)
    assert refused.value.line == line
