"""A message about a host that cannot be used names the cause and the next step."""

import socket
import threading

import pytest
from django.utils.timezone import now

from experiments.campaigns import host_checks, hosts, troubleshooting
from experiments.laboratory.transport import ssh
from experiments.models import Host
from kdb.api.schema import EXAMPLES
from kdb.models import Job
from tests.factories import HOST_KEY, make_host, make_token, make_user

HOST = Host(slug="lab-1", name="lab-1", address="lab.example", port=2222, login="bench", key_name="lab")

# As OpenSSH 9.2, sudo 1.9.13, tcsh 6.24 and Debian's nologin print them, in our sentences around them.
SAID = [
    ("lab.example port 2222 cannot be reached.", "no connection"),
    ("lab-1 answers, but not as an SSH server that lets anybody log in.", "hangs up"),
    ("lab-1 shows another host key than SHA256:x, which was accepted.", "installed anew"),
    ("lab-1 does not let this login in with this key.", "accept this key"),
    ("The runner of lab-1 was not heard since 2026-11-27 03:12 UTC.", "does not ask this server"),
    ("The runner of lab-1 refuses: the verb left is not in the list", "did not allow it"),
    ("This worker has no key 'lab' in its folder of keys.", "not on the worker's machine"),
    ("lab-1: facts: sudo: a password is required", "without a password"),
    ("lab-1: facts: sudo: a terminal is required to read the password", "without a password"),
    ("lab-1: only root may change that: log in as root, or let the login sudo -n", "is not root"),
    ("lab-1: begin: mkdir: cannot create directory '/srv/kdb/.kdb': Permission denied", "is not root"),
    ("lab-1: facts: bash: line 1: sudo: command not found", "no sudo"),
    ("lab-1: facts: This account is currently not available.", "run no commands"),
    ("lab-1: facts: status 1", "run no commands"),
    ("lab-1: facts: Unmatched '''.", "takes our commands apart"),
    ("lab-1 did not answer within 60 s.", "took too long"),
    ("lab-1 sent more than 1,048,576 bytes in answer to one command.", "prints text of its own"),
    ("lab-1: /srv/kdb/.kdb is there and is not KDB's: move it away", "storage pool"),
    ("No virtual machine comes up on lab-1: libvirt offers neither kvm nor qemu", "starts no guest"),
    ("/srv/image/vmlinuz: not what was made. Copy the folder again, or make it anew.", "not wholly"),
    ("lab-1: virsh define: error: failed to connect to the hypervisor", "machines there does not answer"),
    ("lab-1: libvirt does not say which virtual machines are there", "machines there does not answer"),
    ("lab-1: left-overs of KDB in /srv/kdb: mount /srv/kdb/.kdb/fs, loop device /dev/loop0", "folder was removed"),
    ("pve-1: pvesh get: kdb-proxmox: 1: pvesh: not found", "no host of Proxmox VE"),
    ("pve-1 is not reached by HTTPS: No answer within 10 s.", "Nothing answers by HTTPS"),
    ("pve-1 shows another certificate, AB:CD, than AB:CE, which was accepted.", "was renewed"),
    ("pve-1 does not take the token: GET /version: 401 Authentication failed!", "does not know the token"),
    ("The worker's file 'x' holds no token of Proxmox VE: USER@REALM!NAME=SECRET.", "does not know the token"),
    ("pve-1 does not allow it to the token: GET /x: 403 Permission check failed (/, Sys.Audit)", "lacks a privilege"),
    ("pve-1: qm create: unable to create VM 900000101 - VM 900000101 already exists on node 'b'", "has the number"),
    ("pve-1: the number 900000101 is that of somebody's virtual machine", "has the number"),
    ("xen-1: xl list: cannot init xl context", "xl does not work"),
    ("xen-1: Xen does not say which virtual machines are there", "xl does not work"),
    ("xen-1: the virtual machine kdb-1-1 does not start: failed to free memory for the domain", "no memory left"),
    ("kdb-1-1 does not start: aio=native was specified, but is not supported in this build.", "without Linux AIO"),
    ("kdb-1-1 does not start: libxl: error: /srv/kdb/.kdb/vif online [7] exited with error status 1", "interface of a"),
    ("Given up after 5 attempts: the database could not be used: database is locked", "no run was lost"),
    ("Given up after 3 attempts: gone", "Workers died"),
]


@pytest.mark.parametrize(("message", "cause"), SAID)
def test_a_message_has_its_cause_and_a_next_step_about_this_host(message, cause):
    way = troubleshooting.diagnose(message, HOST)
    assert cause in way.cause
    assert way.next_step
    assert "{" not in way.cause + way.next_step
    assert troubleshooting.with_diagnosis(message, HOST) == f"{message}\n{way.cause}\n{way.next_step}"


def test_every_row_of_the_table_is_met_by_a_real_message():
    causes = {troubleshooting.diagnose(message, HOST).cause for message, _ in SAID}
    rows = {
        cause.format(address="lab.example", port=2222, login="bench", key="lab", queue=HOST.queue)
        for _, cause, _ in troubleshooting._TABLE
    }
    assert rows == causes


def test_what_no_row_knows_stands_alone():
    assert troubleshooting.with_diagnosis("a new trouble", HOST) == "a new trouble"


GREETINGS = [b"220 the words of a peer\r\n", b"", b"SSH-2.0-none the words of a peer\r\n", b"the words\0\x1b[2J" * 999]


@pytest.mark.parametrize("greeting", [*GREETINGS, None], ids=["mail", "nothing", "ssh", "noise", "closed"])
def test_why_there_is_no_connection_is_told_in_our_words_and_one_of_three_classes(greeting, caplog):
    caplog.set_level("INFO")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        if greeting is None:
            server.close()
        else:
            threading.Thread(target=_greet, args=(server, greeting), daemon=True).start()
        with pytest.raises(ssh.Unreachable) as scanned:
            ssh.scan("127.0.0.1", port)
        address = ssh.Address("127.0.0.1", port, "bench", HOST_KEY)
        with pytest.raises(ssh.Unreachable) as connected, ssh.Connection(address) as machine:
            machine.run(["true"])
    words = ssh.NOT_REACHED if greeting is None else ssh.UNEXPECTED
    assert str(scanned.value) == f"127.0.0.1 port {port} {words}"
    assert str(connected.value) in (f"{address} {words}", f"{address} {ssh.NOT_REACHED}")  # ssh may say nothing at all
    assert troubleshooting.diagnose(str(scanned.value), HOST)
    assert "\x1b" not in caplog.text


def test_a_login_that_is_refused_is_told_without_the_words_of_the_machine():
    address = ssh.Address("lab.example", 22, "bench", HOST_KEY)
    refused = ssh._failure(address, "words of a peer\nbench@lab: Permission denied (publickey,words-of-a-peer).")
    assert (type(refused), "peer" in str(refused)) == (ssh.LoginRefused, False)


FORBIDDEN = ["169.254.169.254", "2852039166", "0xa9fea9fe", "fe80::1", "FD00:EC2::254", "::ffff:169.254.0.1"]


@pytest.mark.django_db
@pytest.mark.sqlite
def test_no_host_is_registered_on_a_link_local_address_or_a_clouds_metadata(client, monkeypatch):
    user = make_user("operators")
    headers = {"authorization": f"Bearer {make_token(user, ('campaign',))}"}
    real = socket.getaddrinfo

    def looked_up(host, *args, **options):
        return real("169.254.169.254" if host == "metadata.example" else host, *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", looked_up)
    body = EXAMPLES["hosts_create"]["body"]
    for address in [*FORBIDDEN, "metadata.example"]:
        answer = client.post("/api/v1/hosts/", body | {"address": address}, "application/json", headers=headers)
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "address"), address
    host = make_host("lab-2", address="metadata.example", offered_key="", registered_by=user)
    with pytest.raises(hosts.HostError, match="metadata"):  # its name was another's when it was registered
        host_checks.contact(None, host.pk)
    with pytest.raises(hosts.HostError, match="metadata"):
        hosts.connect(host)
    assert (
        client.post(
            "/api/v1/hosts/", body | {"address": "192.168.1.9"}, "application/json", headers=headers
        ).status_code
        == 201
    )


def _greet(server: socket.socket, greeting: bytes) -> None:
    while True:
        try:
            asked, _ = server.accept()
        except OSError:
            return
        with asked:
            asked.sendall(greeting)


@pytest.mark.django_db
@pytest.mark.sqlite
def test_the_page_of_a_host_says_what_to_do(client):
    host = make_host("lab-1", registered_by=make_user("operators"))
    host.job = Job.objects.create(
        kind="check_host", state="failed", finished_at=now(), error="lab-1: facts: sudo: a password is required"
    )
    host.save()
    client.force_login(host.registered_by)
    page = client.get("/laboratory/hosts/lab-1/").content.decode()
    assert "visudo" in page
    assert "a password is required" in page
