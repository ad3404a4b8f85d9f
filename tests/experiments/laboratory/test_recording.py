"""A recording has every command and answer, and neither secrets nor addresses."""

import json

import pytest

from experiments.laboratory.transport import recording, remote, ssh

KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1r\nAAAA\n-----END OPENSSH PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (f"before\n{KEY}\nafter", "before\n(hidden)\nafter"),
        (KEY.partition("-----END")[0], "(hidden)"),
        ("cipassword: hunter2\nname: a", "cipassword: (hidden)\nname: a"),
        ('{"password": "hun ter2", "name": "a"}', '{"password": (hidden), "name": "a"}'),
        ("qm set 1 --cipassword hunter2 --name a", "qm set 1 --cipassword (hidden) --name a"),
        ("sshkeys=ssh-ed25519%20AAAA,b=1", "sshkeys=(hidden),b=1"),
        ("token\t100\nmount_options\trw,relatime", "token\t100\nmount_options\trw,relatime"),
    ],
)
def test_secrets_are_hidden_and_nothing_else(said, kept):
    assert recording.without_secrets(said) == kept


def test_a_long_text_is_cut_and_says_so():
    assert recording.without_secrets("x" * 50_000).endswith("x ... (50000 characters)")


def test_every_command_of_the_block_is_written_and_none_after_it(tmp_path, monkeypatch):
    answer = ssh.Answer(0, b"kernel\t6.1\npassword: hunter2\n", "")
    monkeypatch.setattr(ssh, "_done", lambda *_: answer)
    address = ssh.Address("192.0.2.10", 22, "root", "ssh-ed25519 AAAA", None, label="prod")
    host = ssh.Connection(address)
    host._options = []
    guest = ssh.Connection(address, via=host)
    guest._options = []
    place = tmp_path / "said.jsonl"
    with recording.recorded(place):
        remote.call(host, "facts", "/srv/kdb", given=b"text")
        guest.run(["uname", "-r"])
    host.run(["true"])
    first, second = map(json.loads, place.read_text().splitlines())
    assert (first["machine"], second["machine"]) == ("host", "guest")
    assert first["command"][3:] == ["kdb-remote", "facts", "/srv/kdb"]
    assert first["command"][2].startswith("(a script of ")
    assert (first["given"], first["status"]) == ("text", 0)
    assert first["output"] == "kernel\t6.1\npassword: (hidden)\n"
    assert second["command"] == ["uname", "-r"]
    assert "192.0.2.10" not in place.read_text()
    assert place.stat().st_mode & 0o077 == 0
    with pytest.raises(FileExistsError), recording.recorded(place):
        pass
