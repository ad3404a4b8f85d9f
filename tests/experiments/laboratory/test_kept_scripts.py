"""A long script is put on a machine once; a call sends its digest, against which what is there is held each time."""

import os
from pathlib import Path

import pytest

from experiments.laboratory.transport import ssh

SCRIPT = f'# {"x" * ssh._LONG}\necho "$0 $1 $(cat)"\n'


class Shell(ssh.Connection):
    """A connection whose ssh is a shell of this machine. sent : bytes of each command"""

    def __init__(self, folder: Path) -> None:
        super().__init__(ssh.Address("lab-1", 22, "root", "ssh-ed25519 AAAA"))
        self.sent: list[int] = []
        self.program = folder / "ssh"
        warns = 'echo "sudo: unable to resolve host lab-1" >&2'  # as sudo does where nobody knows the host's name
        asks = f'for word; do :; done\nXDG_RUNTIME_DIR={folder} exec sh -c "$word"'
        self.program.write_text(f"#!/bin/sh\n{warns}\n{asks}\n")
        self.program.chmod(0o755)

    def _command(self) -> list[str]:
        return [str(self.program)]

    def _send(self, arguments, *rest):
        self.sent.append(sum(map(len, arguments)))
        return super()._send(arguments, *rest)


@pytest.fixture
def kept(tmp_path):
    place = Path("/run" if os.access("/run", os.W_OK) else tmp_path, "kdb-scripts", ssh.digest_of(SCRIPT))
    place.unlink(missing_ok=True)
    yield place
    place.unlink(missing_ok=True)


def test_a_script_is_sent_once_and_what_was_changed_is_not_run(tmp_path, kept):
    host = Shell(tmp_path)
    words = ["sh", "-c", SCRIPT, "kdb-remote", "poll"]
    for _ in range(3):
        assert host.run(words, given=b"given").text == "kdb-remote poll given\n"
    assert [sent > ssh._LONG for sent in host.sent] == [False, False, True, False, False]
    assert kept.parent.stat().st_mode & 0o077 == 0
    kept.write_text("echo evil\n")
    assert host.run(words, given=b"given").text == "kdb-remote poll given\n"
    assert kept.read_text() == SCRIPT


def test_where_nothing_can_be_kept_the_script_is_sent_each_time(tmp_path, kept, monkeypatch):
    monkeypatch.setattr(ssh, "_KEEP", "exit 1")
    host = Shell(tmp_path)
    for _ in range(2):
        assert host.run(["sh", "-c", SCRIPT, "kdb-remote", "poll"]).text == "kdb-remote poll \n"
    assert not kept.exists()
