"""The list of the host's owner: what it has is done, and nothing else."""

import hashlib

import pytest
from kdb_client.allowed import Allowed, listed
from kdb_client.errors import KdbError

from experiments.laboratory.measuring import engines
from experiments.laboratory.places.libvirt import URI
from experiments.laboratory.reach import remote, ssh
from experiments.runner.scripts import SCRIPTS

REMOTE = ssh.digest_of(remote.SCRIPT)
UUIDS = ["6a7b2a3c-0000-4000-8000-000000000001", "6a7b2a3c-0000-4000-8000-000000000002"]
VIRSH = ("virsh", "-c", URI, "--quiet")


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Allowed:
    """Return the list that `--print-allow` begins with."""
    path = tmp_path_factory.mktemp("list") / "allow.toml"
    path.write_text(listed([vars(script) for script in SCRIPTS.values()]))
    return Allowed.read(path)


def load_of(workload: str) -> engines.Load:
    return engines.load("fio", "fio-3.33", workload, "/srv/kdb/.kdb", "/srv/kdb/.kdb/fs", 30, 100)


def test_the_list_to_begin_with_lets_no_requests_be_sampled(whole):
    assert whole.against(REMOTE, ["requests", "5", "/dev/vg/mail"]) == "the verb requests is not in the list"
    more = Allowed((), (), (), {REMOTE: ["requests *"]})
    assert more.against(REMOTE, ["requests", "5", "/dev/vg/mail"]) == ""
    assert more.changes_something


@pytest.mark.parametrize("workload", engines.WORKLOADS)
def test_the_list_to_begin_with_lets_a_campaign_measure_by_fio(whole, workload):
    load = load_of(workload)
    texts = [text for pair in load.files.items() for text in pair]
    assert whole.against(REMOTE, ["put", "/srv/kdb", "5", *texts]) == ""
    start = ["start", "/srv/kdb", "5", "benchmark", "900", "5", "fs", *load.command]
    assert whole.against(REMOTE, start) == ""
    assert whole.against(REMOTE, ["arm", "/srv/kdb", "5", "benchmark", *load.warm]) == ""
    assert whole.against(REMOTE, ["make-fs", "/srv/kdb", "5", "fs", "320", "ext4"]) == ""


@pytest.mark.parametrize(
    "words",
    [
        [*VIRSH, "domstats", "--block", "--list-active", "--nowait"],
        ["env", "LC_ALL=C", *VIRSH, "list", "--all", "--uuid"],
        [*VIRSH, "; ".join(f"dumpxml {uuid}" for uuid in UUIDS)],
        ["findmnt", "--json", "--bytes", "--list", "--real", "--output", "TARGET,SOURCE,FSTYPE,SIZE,AVAIL"],
        ["realpath", "--zero", "--canonicalize-missing", "--", "/var/lib/libvirt/images/mail.raw"],
        ["cat", "/proc/uptime"],
        [*VIRSH, "qemu-agent-command", UUIDS[0], '{"execute": "guest-get-fsinfo"}', "--timeout", "5"],
        ["pvesh", "get", "/nodes/localhost/qemu", "--full", "1", "--output-format", "json"],
    ],
)
def test_the_list_to_begin_with_lets_machines_be_observed(whole, words):
    assert whole.against("", words) == ""


FIO = load_of("varmail").files["job.fio"]


@pytest.mark.parametrize(
    ("script", "words", "why"),
    [
        ("", ["rm", "-rf", "/srv/kdb"], "rm -rf /srv/kdb is not in the list"),
        ("", ["findmnt", "--json", "/root"], "/root is in no pool"),
        ("", [*VIRSH, f"dumpxml {UUIDS[0]}; destroy {UUIDS[0]}"], "destroy"),
        ("", [*VIRSH, f"dumpxml {UUIDS[0]}\ndestroy x"], "is not in the list"),
        ("", [*VIRSH, "dumpxml 'x;destroy y'"], "is not in the list"),
        ("", [*VIRSH, "undefine", UUIDS[0]], "is not in the list"),
        ("", [], "no command"),
        ("0" * 64, ["facts"], "is not in the list"),
        ("", [*VIRSH, "qemu-agent-command", UUIDS[0], '{"execute": "guest-exec"}'], "is not in the list"),
        ("", ["grep", "-rH", ".", "/etc/pve/qemu-server/", "/etc/shadow"], "/etc/shadow is in no pool"),
        (REMOTE, ["format-disk", "/srv/kdb", "5", "disk", "S3R14L", "ext4"], "the verb format-disk is not in the list"),
        (REMOTE, ["begin", "/etc", "5"], "/etc is in no pool"),
        (REMOTE, ["begin", "/srv/kdb/../../etc", "5"], "climbs"),
        (REMOTE, ["begin", "/srv/kdb2", "5"], "/srv/kdb2 is in no pool"),
        (REMOTE, ["erase", "/srv/kdb"], "the verb erase is not in the list"),
        (REMOTE, ["start", "/srv/kdb", "5", "b", "9", "5", "fs", "sh", "-c", "reboot"], "sh -c reboot is not in the"),
        (REMOTE, ["start", "/srv/kdb", "5", "b", "9", "5", "fs", "setarch", "-R", "reboot"], "is not in the list"),
        (REMOTE, ["arm", "/srv/kdb", "5", "b", "reboot"], "reboot is not in the list"),
        (REMOTE, ["put", "/srv/kdb", "5", "barrier", "reboot"], "the text of barrier is not"),
        (REMOTE, ["put", "/srv/kdb", "5", "job.f", 'system "reboot"'], "the text of job.f is not"),
        (REMOTE, ["put", "/srv/kdb", "5", "job.fio", f"{FIO}exec_prerun=reboot"], "has the line exec_prerun=reboot"),
        (REMOTE, ["put", "/srv/kdb", "5", "job.fio", f"{FIO}filename=/etc/passwd"], "has the line filename"),
        (REMOTE, ["put", "/srv/kdb", "5", "job.fio", f"{FIO}directory=/etc"], "/etc is in no pool"),
        (REMOTE, ["put", "/srv/kdb", "5", "job.fio", f"{FIO}directory=/srv/kdb/../etc"], "climbs"),
        (REMOTE, ["put", "/srv/kdb", "5", "job.fio", "ioengine=external:/srv/kdb/a.so"], "has the line ioengine"),
    ],
)
def test_what_is_not_in_the_list_is_refused_with_what_is_missing(whole, script, words, why):
    assert why in whole.against(script, words)


def test_a_star_lets_a_verb_take_anything():
    allowed = Allowed((), (), (), {REMOTE: ["put *"]})
    assert allowed.against(REMOTE, ["put", "/etc", "5", "job.f", 'system "reboot"']) == ""


@pytest.mark.parametrize(
    ("text", "why"),
    [("pool = []", "there is no pool"), ('pools = "/srv"', "a list of texts"), ("pools = [", "cannot be read")],
)
def test_a_list_that_is_none_is_refused(tmp_path, text, why):
    (tmp_path / "allow.toml").write_text(text)
    with pytest.raises(KdbError, match=why):
        Allowed.read(tmp_path / "allow.toml")


def test_scripts_go_by_their_digests():
    for digest, script in SCRIPTS.items():
        assert digest == hashlib.sha256(script.text.encode()).hexdigest()
