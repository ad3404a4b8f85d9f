"""A killed process leaves a folder for each connection; the process that takes its place removes them."""

import os
import subprocess
import tempfile
import time

from experiments.laboratory.transport import ssh


def test_only_folders_of_processes_that_are_gone_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    gone = subprocess.Popen(["true"])
    gone.wait()
    names = (f"kdb-ssh-{gone.pid}-a", f"kdb-ssh-{os.getpid()}-b", "kdb-ssh-other", "somebody")
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "known_hosts").write_text("machine ssh-ed25519 AAAA\n")
    (tmp_path / f"kdb-ssh-{gone.pid}-link").symlink_to(tmp_path / "somebody")
    ssh.remove_left_folders()
    left = [path.parent for path in tmp_path.glob("*/known_hosts")]
    assert sorted(folder.name for folder in left if not folder.is_symlink()) == sorted(names[1:])


def test_the_folder_of_persistent_connections_is_removed_a_day_after_its_last_use(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name, hours in (("kdb-ssh-persistent_a", 25), ("kdb-ssh-persistent_b", 23)):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, times=(time.time() - hours * 3600,) * 2)
    ssh.remove_left_folders()
    assert [folder.name for folder in tmp_path.iterdir()] == ["kdb-ssh-persistent_b"]
