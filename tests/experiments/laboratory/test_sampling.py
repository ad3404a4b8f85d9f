"""Samples of the kernel's own trace, of a loop device with a load that is known."""

import os
import shutil
import subprocess
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from experiments.campaigns.runs import signatures as recording
from experiments.laboratory.transport import offsets, remote
from experiments.laboratory.transport.offsets import Offsets
from experiments.published_evidence import signatures

INSTANCES = Path("/sys/kernel/tracing/instances")
pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(os.geteuid() != 0 or not INSTANCES.is_dir(), reason="needs root and tracefs"),
    pytest.mark.skipif(not shutil.which("fio"), reason="needs fio"),
]


@contextmanager
def loop_device(folder: Path):
    image = folder / "disk.img"
    image.write_bytes(b"")
    os.truncate(image, 2**28)
    device = subprocess.check_output(["losetup", "--find", "--show", "--direct-io=on", image], text=True).strip()
    try:
        yield device
    finally:
        subprocess.run(["losetup", "--detach", device], check=True)


def recorded(device: str, monkeypatch, tmp_path, *words: str) -> Offsets:
    """Return what `record_signature` sampled of a disk that fio works on."""
    monkeypatch.setattr(recording, "STRETCH_SECONDS", 3)
    monkeypatch.setattr(offsets, "SECONDS", 2)
    rows = StringIO()
    fio = ("fio", "--name=load", f"--filename={device}", "--direct=1", "--bs=16k", "--time_based", "--runtime=12")
    call_command("record_signature", Path(device).name, "backup", "a run", "--", *fio, *words, stdout=rows)
    path = tmp_path / "signatures.csv"
    path.write_text("\n".join([",".join(signatures.COLUMNS), *rows.getvalue().splitlines()]) + "\n")
    return Offsets(**signatures.read(path)[1]["offsets"])  # in the first fio may still begin


def test_reads_in_a_row_and_at_random_are_told_apart(tmp_path, monkeypatch):
    with loop_device(tmp_path) as device:
        in_a_row = recorded(device, monkeypatch, tmp_path, "--rw=read", "--rate_iops=200")
        at_random = recorded(device, monkeypatch, tmp_path, "--rw=randread", "--rate_iops=200")
    assert min(in_a_row.sampled_reads, at_random.sampled_reads) > 50
    assert in_a_row.following_reads > 0.95 * in_a_row.sampled_reads
    assert at_random.following_reads < 0.05 * at_random.sampled_reads
    assert not [*INSTANCES.glob("kdb-*")]


def test_of_a_file_nothing_is_sampled(tmp_path):
    file = tmp_path / "image.raw"
    file.touch()
    script = ["sh", "-c", remote.SCRIPT, "kdb-remote", "requests", "1", str(file), "local-lvm:vm-100-disk-0"]
    assert subprocess.check_output(script) == b""
