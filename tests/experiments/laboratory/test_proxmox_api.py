"""Proxmox VE asked by HTTPS with a token: by the accepted certificate alone, and what may go wrong is told."""

import logging
import socket

import pytest

from experiments.laboratory.targets.proxmox import asked
from experiments.laboratory.transport import proxmox_api, remote, ssh
from experiments.laboratory.transport.proxmox_api import ApiConnection
from tests.experiments.fleet.driver.scripted import ScriptedApi

pytestmark = pytest.mark.server

SECRET = "5f0f2c5e-1111-4222-8333-444455556666"
TOKEN = f"kdb@pve!observe={SECRET}"


@pytest.fixture
def key_file(tmp_path):
    file = tmp_path / "pve-1.token"
    file.write_text(f"{TOKEN}\n")
    return file


@pytest.fixture
def api(tmp_path):
    with ScriptedApi(tmp_path, {"/version": {"release": "9.1"}, "/x%20y?full=1": []}) as api:
        yield api


@pytest.fixture
def host(api, key_file):
    return connection(api, key_file)


def connection(api: ScriptedApi, key_file, host: str = "127.0.0.1") -> ApiConnection:
    key = f"certificate {api.fingerprint}"
    connection = ApiConnection(ssh.Address(host, api.port, "root", key, key_file, label="pve-1"))
    return connection.__enter__()


def test_a_question_of_pvesh_is_one_request_with_the_token(api, host):
    assert asked(host, "get", "/version") == {"release": "9.1"}
    assert asked(host, "get", "/x y", "--full", "1") == []
    assert api.tokens == [f"PVEAPIToken={TOKEN}"] * 2
    for words in (["qm", "status", "100"], ["pvesh", "create", "/x", "--output-format", "json"]):
        with pytest.raises(ssh.NotAllowed, match="runs no command"):
            host.run(words)
    assert len(api.asked) == 2


def test_another_certificate_is_a_changed_key_and_sees_no_token(api, host):
    assert proxmox_api.scan("127.0.0.1", api.port) == f"certificate {api.fingerprint}"
    api.new_certificate()
    with pytest.raises(ssh.KeyChanged, match=f"another certificate, {api.fingerprint}, than"):
        asked(host, "get", "/version")
    assert (api.asked, api.tokens) == ([], [])


@pytest.mark.parametrize(
    ("status", "kind"),
    [(401, ssh.LoginRefused), (403, ssh.NotAllowed), (500, remote.Refused), (302, remote.Refused)],
)
def test_an_answer_that_is_none_is_told_with_its_reason_and_without_the_secret(api, host, status, kind, caplog):
    caplog.set_level(logging.DEBUG)
    api.status = status
    with pytest.raises(kind, match=f"GET /version: {status} its reason") as error:
        asked(host, "get", "/version")
    assert SECRET not in f"{error.value!r}{caplog.text}"


def test_an_answer_that_is_cut_off_or_too_long_is_not_used(api, host):
    api.is_cut = True
    with pytest.raises(remote.Refused, match="no whole answer"):
        asked(host, "get", "/version")
    with pytest.raises(ssh.TooMuch, match="more than 10 bytes"):
        asked(host, "get", "/version", most=10)


def test_a_node_that_is_away_and_a_cloud_s_metadata_are_told(api, key_file):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        with pytest.raises(ssh.Unreachable, match="is not reached by HTTPS"):
            proxmox_api.scan("127.0.0.1", closed.getsockname()[1])
    for name in ("169.254.169.254", "::ffff:169.254.169.254"):
        with pytest.raises(ssh.NotAllowed, match="metadata"):
            proxmox_api.scan(name, 443)
        with pytest.raises(ssh.NotAllowed, match="metadata"):
            connection(api, key_file, host=name)


@pytest.mark.parametrize("text", ["", SECRET, f"PVEAPIToken={TOKEN}", TOKEN.replace("!", " "), f"{TOKEN}\nX: y"])
def test_a_file_that_holds_no_token_is_refused_without_what_it_holds(api, key_file, text):
    key_file.write_text(text)
    with pytest.raises(ssh.LoginRefused, match=r"'pve-1.token' holds no token") as refusal:
        connection(api, key_file)
    assert SECRET not in str(refusal.value)
