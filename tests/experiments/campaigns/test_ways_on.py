"""What is said of a host that cannot be used names the cause and the next step."""

import socket
import threading

import pytest
from django.utils.timezone import now

from experiments.campaigns import ways_on
from experiments.campaigns.laboratory import ssh
from experiments.models import Host
from kdb.models import Job
from tests.factories import make_host, make_user

HOST = Host(slug="lab-1", name="lab-1", address="lab.example", port=2222, login="bench", key_name="lab")

# As OpenSSH 9.2, sudo 1.9.13, tcsh 6.24 and Debian's nologin print them, in our sentences around them.
SAID = [
    ("lab.example port 2222 shows no SSH host key: getaddrinfo lab.example: Name or service not known", "name server"),
    ("lab-1 cannot be reached. ssh: Could not resolve hostname x: Temporary failure in name resolution", "name server"),
    ("lab-1 cannot be reached. ssh: connect to host lab.example port 2222: Connection refused", "nothing listens"),
    ("lab-1 cannot be reached. ssh: connect to host lab.example port 2222: No route to host", "no way to"),
    ("lab-1 cannot be reached. ssh: connect to host lab.example port 2222: Connection timed out", "firewall"),
    ("lab-1 cannot be reached. kex_exchange_identification: read: Connection reset by peer", "hangs up"),
    ("lab-1 shows another host key than SHA256:x, which was accepted.", "installed anew"),
    ("lab-1 does not let this login in with this key. bench@lab: Permission denied (publickey).", "accept this key"),
    ("This worker has no key 'lab' in its folder of keys.", "not on the worker's machine"),
    ("The key 'lab' may be read by others than its owner: chmod 600.", "others may read"),
    ("lab-1: facts: sudo: a password is required", "without a password"),
    ("lab-1: facts: sudo: a terminal is required to read the password", "without a password"),
    ("lab-1: facts: bash: line 1: sudo: command not found", "no sudo"),
    ("lab-1: facts: This account is currently not available.", "run no commands"),
    ("lab-1: facts: status 1", "run no commands"),
    ("lab-1: facts: Unmatched '''.", "takes our commands apart"),
    ("lab-1 did not answer within 60 s.", "took too long"),
    ("lab-1 sent more than 1,048,576 bytes in answer to one command.", "prints text of its own"),
    ("The worker has no OpenSSH client (Debian package openssh-client).", "cannot speak SSH"),
    ("lab-1: /srv/kdb/.kdb is there and is not KDB's: move it away", "storage pool"),
    ("No virtual machine comes up on lab-1: libvirt offers neither kvm nor qemu", "starts no guest"),
    (
        "No virtual machine comes up on lab-1 from the image that was brought: the virtual machine kdb-probe-7 did not "
        "come up within 480 s. Console: Connection timed out",
        "did not start",
    ),
    (
        "The image that was brought starts on lab-1, and nobody can log in: kdb-probe-7 does not let this login in "
        "with this key. root@127.0.0.1: Permission denied (publickey).",
        "did not put KDB's keys",
    ),
    ("/srv/image/disk.qcow2: not what was made. Copy the folder again, or make it anew.", "not wholly"),
    ("lab-1: virsh define: error: failed to connect to the hypervisor", "libvirt does not run"),
    ("lab-1: make-image: no space: /srv/kdb/.kdb has 12 MiB free, 4096 MiB are needed", "is full"),
    ("pve-1: pvesh get: kdb-proxmox: 1: pvesh: not found", "no host of Proxmox VE"),
    ("pve-1: qm create: storage 'local-lvn' does not exist", "no storage of this name"),
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
    found = ways_on.way_on(message, HOST)
    assert cause in found.cause
    assert found.next_step
    assert "{" not in found.cause + found.next_step
    assert ways_on.told(message, HOST) == f"{message}\n{found.cause}\n{found.next_step}"


def test_every_row_of_the_table_is_met_by_a_real_message_or_a_port_below():
    found = {ways_on.way_on(message, HOST).cause for message, _ in SAID}
    rows = {
        cause.format(address="lab.example", port=2222, login="bench", key="lab", queue=HOST.queue)
        for _, cause, _ in ways_on._TABLE
    }
    rare = {row for row in rows if row.startswith(("Something else", "The worker's ssh agent"))}
    assert rows - rare == found


def test_what_no_row_knows_stands_alone():
    assert ways_on.told("a new trouble", HOST) == "a new trouble"


@pytest.mark.parametrize(
    ("greeting", "cause"),
    [(b"220 mail\r\n", "Something else"), (b"", "hangs up"), (b"SSH-2.0-none\r\n", None), (None, "nothing listens")],
)
def test_a_port_without_a_key_says_what_is_there(greeting, cause):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        if greeting is None:
            server.close()
        else:
            threading.Thread(target=_greet, args=(server, greeting), daemon=True).start()
        with pytest.raises(ssh.Unreachable, match="shows no SSH host key: ") as raised:
            ssh.scan("127.0.0.1", port)
    found = ways_on.way_on(str(raised.value), HOST)
    assert cause in found.cause if cause else "no key of a kind" in str(raised.value)


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
