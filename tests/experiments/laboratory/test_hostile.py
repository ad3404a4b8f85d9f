"""Hosts that mean harm, and operators who would use what is another's."""

import os
import subprocess
import sys

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from experiments.campaigns import host_checks, hosts
from experiments.campaigns.hosts import HostError
from experiments.laboratory.transport import pools, remote, ssh
from experiments.models import Host, PrivateKey
from tests.experiments.case_studies.test_races import just_before
from tests.experiments.laboratory.conftest import registered
from tests.factories import HOST_KEY, make_host, make_token, make_user

# What a host sends


def printed(script: str, *, most: int = 1000, timeout: float = 30) -> ssh.Answer:
    """Return what a program of this machine prints, as it is read from a host."""
    return ssh._done([sys.executable, "-c", script], b"given", timeout, most, "lab-1")


def test_what_is_within_the_limits_is_read_whole():
    answer = printed("import sys; print(sys.stdin.read() * 100); sys.stderr.write('e' * 65_536); sys.exit(3)")
    assert (answer.status, answer.text, len(answer.errors)) == (3, "given" * 100 + "\n", 65_536)


@pytest.mark.parametrize(
    ("script", "limit"),
    [
        ("import sys\nwhile True: sys.stdout.write('x' * 100_000)", "1,000"),
        ("import sys\nwhile True: sys.stderr.write('x' * 100_000)", "65,536"),
        ("import time\nprint('x' * 1001, flush=True)\ntime.sleep(600)", "1,000"),
    ],
)
def test_what_never_ends_is_cut_off_while_it_is_read(script, limit):
    with pytest.raises(ssh.TooMuch, match=f"lab-1 sent more than {limit} bytes in answer to one command"):
        printed(script)


@pytest.mark.slow
@pytest.mark.parametrize(
    "script", ["import time; time.sleep(600)", "import time\nwhile True: print(end='.', flush=True)"]
)
def test_what_takes_too_long_is_stopped(script):
    with pytest.raises(subprocess.TimeoutExpired):
        printed(script, most=2**40, timeout=1)


class Sends:
    """A connection to a host that answers every command alike."""

    address = "lab-1"
    via = None
    owner = ""

    def __init__(self, text: str, status: int = 0, errors: str = "") -> None:
        self.answer = ssh.Answer(status, text.encode(), errors)

    def run(self, *arguments, **options) -> ssh.Answer:
        return self.answer


def test_a_line_without_an_end_is_refused():
    long = "kernel\t" + "6" * 20_000
    with pytest.raises(remote.Refused, match="lab-1: facts: a line of the answer has 20,007 characters; 20,000 are"):
        remote.call(Sends(long), "facts")
    with pytest.raises(remote.Refused) as refused:
        remote.call(Sends("", 90, "x" * 50_000), "facts")
    assert len(str(refused.value)) < 600


@pytest.mark.server
@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_host_that_floods_costs_one_refusal_and_no_memory(plain_lab, keys):
    keys(plain_lab)
    with hosts.connect(registered(plain_lab)) as machine:
        with pytest.raises(ssh.TooMuch, match="more than 1,048,576 bytes"):
            machine.run(["cat", "/dev/zero"])
        area = remote.Area(machine, str(plain_lab.pool), 1)
        area.call("begin")
        with pytest.raises(ssh.TooMuch, match="more than 16,777,216 bytes"):
            machine.run(["cat", "/dev/zero"], most=remote.OUTPUT_BYTES)
        assert machine.run(["echo", "still here"]).text == "still here\n"
        area.call("clean")


@pytest.mark.server
@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_file_system_that_is_mounted_is_not_made_again_below_its_mount(plain_lab, keys):
    keys(plain_lab)
    with hosts.connect(registered(plain_lab)) as machine:
        area = remote.Area(machine, str(plain_lab.pool), 1)
        area.call("begin")
        area.call("make-fs", "fs", 64, "ext4")
        image = f"{plain_lab.pool}/.kdb/fs.img"
        for size in (64, 96):
            with pytest.raises(remote.Refused, match=r"fs.img is there already"):
                area.call("make-fs", "fs", size, "ext4")
        assert machine.run(["losetup", "--noheadings", "--output", "NAME", "--associated", image]).text.count("\n") == 1
        assert machine.run(["stat", "--format", "%s", image]).text == f"{64 * 2**20}\n"
        area.call("clean")


# Pools


HOME = "/home/" + "ann"
REFUSED = ["/", "/tmp", "/etc", "/root", "/proc/1", "/sys/fs", "/dev/shm", "/usr/local", "/bin", "/sbin"]
REFUSED += ["/lib", "/lib64/x", "/run/kdb", "/var", "/var/lib/postgresql", "/var/lib/kdb2", "/boot"]
REFUSED += [f"{folder}/kdb" for folder in ("/root", "/home", HOME, "/home/" + "kdb-demo")]
ALLOWED = [
    "/srv",
    "/srv/kdb",
    "/mnt/disk1",
    "/data",
    "/var/lib/kdb",
    "/var/lib/kdb/pool",
    f"{HOME}/kdb-demo",
    "/library/x",
    "/etcetera",
]


def refusal(pool: str) -> str:
    done = subprocess.run(["sh", "-c", remote.SCRIPT, "kdb-remote", "begin", pool, "1"], capture_output=True, text=True)
    assert done.returncode == 90, done
    return done.stderr


@pytest.mark.parametrize("pool", REFUSED)
def test_a_folder_of_the_system_is_no_pool_here_or_there(pool):
    assert pools.is_of_the_system(pool)
    assert "cannot be a storage pool" in refusal(pool)


@pytest.mark.parametrize("pool", ALLOWED)
def test_other_folders_may_be_pools(pool):
    assert not pools.is_of_the_system(pool)


@pytest.mark.parametrize("pool", [path for path in ALLOWED if not os.path.isdir(path)])
def test_the_host_refuses_no_other_name(pool):
    assert "is not a folder of this machine" in refusal(pool)


def test_facts_are_told_of_pools_only(tmp_path):
    (tmp_path / "link").symlink_to("/etc")
    words = ["sh", "-c", remote.SCRIPT, "kdb-remote", "facts", "/etc", "/root", f"{tmp_path}/link", str(tmp_path)]
    by_path = host_checks.facts_of(subprocess.run(words, capture_output=True, text=True).stdout)["pools"]
    assert {path: about.get("why") for path, about in by_path.items()} == {
        "/etc": "/etc belongs to the system and cannot be a storage pool",
        "/root": "/root belongs to the system and cannot be a storage pool",
        f"{tmp_path}/link": f"{tmp_path}/link is reached through a symbolic link",
        str(tmp_path): None,
    }


def test_an_area_of_somebody_else_is_refused(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    (tmp_path / ".kdb").mkdir()
    (tmp_path / ".kdb/token").write_text("1\n")
    os.chown(tmp_path / ".kdb", 65534, 65534)
    assert "is not KDB's" in refusal(str(tmp_path))


def test_only_who_works_in_the_area_is_ended(tmp_path):
    """A folder may be named like a link of another process: in the text of `ls -l`, that one works in the area."""
    area = tmp_path / ".kdb"
    (area / "fs").mkdir(parents=True)
    (area / "token").write_text("1\n")
    bystander = subprocess.Popen(["sleep", "600"], cwd=tmp_path)
    trap = tmp_path / f"x /proc/{bystander.pid}/cwd -> {area}" / "fs"
    trap.mkdir(parents=True)
    others = [subprocess.Popen(["sleep", "600"], cwd=folder) for folder in (trap, area / "fs")]
    try:
        words = ["sh", "-c", remote.SCRIPT, "kdb-remote", "begin", str(tmp_path), "2"]
        done = subprocess.run(words, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert others[1].wait(10) == -9
        assert (bystander.poll(), others[0].poll()) == (None, None)
    finally:
        for process in (bystander, *others):
            process.kill()
            process.wait()


# Keys and machines belong to somebody


FORM = {"port": 22, "login": "root", "laboratory": "local", "drivers": ["native"], "pools": "/srv/kdb"}


def door(user, name: str, fields: dict) -> tuple[int, str]:
    """Register a host as this user, on the page or by the API; what was said."""
    fields = FORM | {"name": fields["slug"]} | fields
    client = Client()
    if name == "page":
        client.force_login(user)
        answer = client.post("/laboratory/hosts/new/", fields)
    else:
        headers = {"authorization": f"Bearer {make_token(user, ('read', 'campaign'))}"}
        body = fields | {"pools": [fields["pools"]]}
        answer = client.post("/api/v1/hosts/", body, "application/json", headers=headers)
    return answer.status_code, answer.content.decode().replace("&#x27;", "'")


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["page", "api"])
def test_a_key_is_used_for_one_operators_hosts(name):
    ada, eve, admin = make_user("operators"), make_user("operators"), make_user("administrators")
    made = 302 if name == "page" else 201
    assert door(ada, name, {"slug": "a", "address": "a.example", "key_name": "lab"})[0] == made
    assert door(ada, name, {"slug": "b", "address": "b.example", "key_name": "lab"})[0] == made
    status, text = door(eve, name, {"slug": "c", "address": "c.example", "key_name": "lab"})
    assert (status, "The key lab is for another operator's hosts" in text) == (422 if name == "page" else 409, True)
    assert door(ada, name, {"slug": "d", "address": "d.example"})[0] == made
    status, text = door(eve, name, {"slug": "e", "address": "e.example"})
    assert (status < 400, "The worker's ssh agent is for another operator's hosts" in text) == (False, True)
    assert door(admin, name, {"slug": "f", "address": "f.example", "key_name": "lab"})[0] == made
    assert dict(PrivateKey.objects.values_list("name", "owner")) == {"lab": ada.pk, "": ada.pk}
    assert set(Host.objects.values_list("slug", flat=True)) == {"a", "b", "d", "f"}


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["page", "api"])
@pytest.mark.parametrize("address", ["lab.example", "LAB.example"])
def test_an_address_is_registered_once(name, address):
    make_host("lab", name="Lab", address="lab.example")
    status, text = door(make_user("operators"), name, {"slug": "mine", "address": address, "key_name": "mine"})
    told = "Another operator's host is registered with this address and port already"
    assert (status >= 400, told in text, "Lab is" in text) == (True, True, False), text
    assert status < 500


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["page", "api"])
@pytest.mark.parametrize("pool", ["/root", "/etc", "/"])
def test_no_door_takes_a_folder_of_the_system(name, pool):
    fields = {"slug": "mine", "address": "my.example", "pools": pool}
    status, text = door(make_user("operators"), name, fields)
    assert (status in (400, 422), "Line 1: " in text, Host.objects.count()) == (True, True, 0), text


@pytest.mark.django_db
def test_an_edit_takes_no_key_and_no_address_of_another(client):
    ada, eve = make_user("operators"), make_user("operators")
    door(ada, "page", {"slug": "a", "address": "a.example", "key_name": "lab"})
    door(eve, "page", {"slug": "e", "address": "e.example", "key_name": "eve"})
    client.force_login(eve)
    asked = FORM | {"name": "e", "address": "e.example", "key_name": "lab"}
    answer = client.post("/laboratory/hosts/e/edit/", asked)
    assert (answer.status_code, b"for another operator" in answer.content) == (422, True)
    answer = client.post("/laboratory/hosts/e/edit/", asked | {"address": "A.example", "key_name": "eve"})
    assert (answer.status_code, b"with this address and port" in answer.content) == (422, True)
    host = Host.objects.get(slug="e")
    assert (host.address, host.key_name) == ("e.example", "eve")


@pytest.mark.django_db
def test_a_machine_of_another_operator_is_known_by_its_key_under_any_address(client):
    ada, eve = make_user("operators"), make_user("operators")
    make_host("a", registered_by=ada, host_key=HOST_KEY)
    mine = make_host("e", registered_by=eve, host_key="", offered_key=HOST_KEY)
    client.force_login(eve)
    wanted = {"do": "accept-key", "fingerprint": ssh.fingerprint(HOST_KEY)}
    answer = client.post("/laboratory/hosts/e/", wanted)
    assert (answer.status_code, b"This machine is another operator&#x27;s" in answer.content) == (409, True)
    headers = {"authorization": f"Bearer {make_token(eve, ('read', 'campaign'))}"}
    answer = client.post(
        "/api/v1/hosts/e/accept-key/", {"fingerprint": wanted["fingerprint"]}, "application/json", headers=headers
    )
    assert (answer.status_code, "is another operator's" in answer.json()["detail"]) == (409, True)
    mine.refresh_from_db()
    assert mine.host_key == ""


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_of_two_registrations_at_once_one_gets_the_key_and_the_address():
    ada, eve = make_user("operators"), make_user("operators")

    def register(slug: str, address: str, key_name: str, user) -> Host:
        return hosts.register(Host(slug=slug, name=slug, address=address, key_name=key_name), [], user=user)

    with just_before(lambda: register("e", "e.example", "lab", eve)) as came:
        register("a", "a.example", "lab", ada)
    assert (type(came[0]), "another operator" in str(came[0])) == (HostError, True), came
    with just_before(lambda: register("f", "b.example", "eve", eve)) as came:
        register("b", "B.example", "ada", ada)
    assert (type(came[0]), "this address and port" in str(came[0])) == (HostError, True), came


@pytest.mark.django_db(transaction=True)
def test_a_registration_that_comes_to_nothing_leaves_the_key_free(settings, tmp_path):
    settings.KDB_KEYS_DIR = tmp_path
    with pytest.raises(CommandError, match="cannot be reached"):
        call_command("register_host", "lab", "127.0.0.1", port=1, key="lab", pool=["/srv/kdb"], accept="SHA256:x")
    assert (Host.objects.count(), PrivateKey.objects.count()) == (0, 0)
    with pytest.raises(CommandError, match="Line 1: /etc belongs to the system"):
        call_command("register_host", "lab", "127.0.0.1", port=1, key="lab", pool=["/etc"], accept="SHA256:x")
