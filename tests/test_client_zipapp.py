"""The client and the runner as a file for a machine that has only Python."""

import subprocess
import sys
from pathlib import Path

from script.client_zipapp import PACKAGE, zipapp

ROOT = Path(__file__).resolve().parents[1]


def test_it_runs_alone_and_is_the_same_from_every_copy_of_its_sources(tmp_path, monkeypatch):
    program = tmp_path / "kdb.pyz"
    subprocess.run([ROOT / "script/client-zipapp", program], env={"PATH": "", "PYTHON": sys.executable}, check=True)

    def run(*arguments: str) -> str:
        command = [sys.executable, "-I", str(program), "runner", *arguments]
        return subprocess.run(command, cwd=tmp_path, env={}, check=True, capture_output=True, text=True).stdout

    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts/remote.sh").write_text("#!/bin/sh\n")
    (tmp_path / "allow.toml").write_text(run("--scripts", "scripts", "--print-allow"))
    unit = run("--server", "https://kdb.example.org", "--allow", "allow.toml", "--install")
    assert f"{program} runner --server https://kdb.example.org" in unit

    (tmp_path / "copy").mkdir()
    for path in sorted(PACKAGE.glob("*.py"), reverse=True):
        (tmp_path / "copy" / path.name).write_text(path.read_text())
    monkeypatch.setattr("script.client_zipapp.PACKAGE", tmp_path / "copy")
    assert zipapp() == program.read_bytes()
