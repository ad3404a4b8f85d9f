"""Persistent ssh connections: commands share one login for an hour, in a folder that the worker alone may use."""

import tempfile
import time
from pathlib import Path

import pytest

from experiments.laboratory.transport import ssh

pytestmark = [pytest.mark.server, pytest.mark.slow]


@pytest.fixture
def address(plain_lab, monkeypatch):
    with tempfile.TemporaryDirectory(prefix="kdb-t-") as folder:  # short, as the path of a socket must be
        monkeypatch.setattr(tempfile, "tempdir", folder)
        key_file = plain_lab.folder / "keys/lab"
        yield ssh.Address("127.0.0.1", plain_lab.port, "root", plain_lab.host_key, key_file)


def login_of(address: ssh.Address, **options) -> str:
    """Return the two ends of the TCP connection that a command comes by."""
    with ssh.Connection(address, **options) as machine:
        answer = machine.run(["sh", "-c", "echo $SSH_CONNECTION"])
        assert answer.status == 0, answer.errors
        return answer.text


def test_they_share_one_login_for_an_hour(address, monkeypatch):
    first = login_of(address, persistent=True)
    assert login_of(address, persistent=True) == first
    assert login_of(address) != first
    assert login_of(address, persistent=True) == first
    later = time.time() + ssh._PERSISTENT_SECONDS
    monkeypatch.setattr(ssh.time, "time", lambda: later)
    assert login_of(address, persistent=True) != first


def test_another_key_is_another_connection(address):
    login_of(address, persistent=True)
    kind, data = address.host_key.split()
    other = ssh.Address("127.0.0.1", address.port, "root", f"{kind} {data[:-4]}AAAA", address.key_file)
    with pytest.raises(ssh.KeyChanged):
        login_of(other, persistent=True)


@pytest.mark.parametrize("prepare", [lambda folder: folder.chmod(0o755), lambda folder: replace_by_link(folder)])
def test_a_folder_that_others_could_have_made_is_not_used(address, prepare):
    login_of(address, persistent=True)
    (folder,) = Path(tempfile.gettempdir()).glob("kdb-ssh-persistent_*")
    prepare(folder)
    with pytest.raises(ssh.SshError, match="is not a folder that the worker alone may use"):
        login_of(address, persistent=True)


def replace_by_link(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))
    folder.symlink_to("elsewhere")
