"""The list of the host's owner: what it has is done, in the very form that KDB asks for it, and nothing else."""

import base64
import re
import shlex
from itertools import pairwise
from xml.etree import ElementTree

import hypothesis
import pytest
from hypothesis import strategies as st
from kdb_client import allowed as grammar
from kdb_client.allowed import Allowed, Script, check_fio_job, listed
from kdb_client.errors import KdbError

from experiments.fleet.driver.libvirt.moving import LibvirtMoving
from experiments.fleet.driver.proxmox.listing import GREP
from experiments.fleet.driver.proxmox.moving import ProxmoxMoving
from experiments.laboratory.benchmarks import engines
from experiments.laboratory.targets.libvirt import URI
from experiments.laboratory.transport import remote, ssh
from experiments.runner.scripts import SCRIPTS

from .forms import DIGESTS, all_allowed, command

TEXTS = {script.name: script.text for script in SCRIPTS.values()}
REMOTE, OF_LIBVIRT, OF_PROXMOX = (
    ssh.digest_of(text) for text in (remote.SCRIPT, LibvirtMoving.script, ProxmoxMoving.script)
)
UUIDS = ["6a7b2a3c-0000-4000-8000-000000000001", "6a7b2a3c-0000-4000-8000-000000000002"]
VIRSH = ("virsh", "-c", URI, "--quiet")
MOVE = "k0123456789ab"
OLD, NEW = "/srv/kdb/mail.qcow2", f"/srv/kdb/mail.{MOVE}.qcow2"
DISK = "<disk type='file'><driver name='qemu' type='raw'/>{}<target dev='vda' bus='virtio'/></disk>"
XML, NEW_XML = (DISK.format(f"<source file='{path}'/>") for path in (OLD, NEW))
PVESH = ("--output-format", "json")


@pytest.fixture(autouse=True)
def _kept_by_libvirt(monkeypatch):
    """Have libvirt of the host keep this disk."""
    monkeypatch.setattr(grammar, "kept_disk", lambda *_: ElementTree.fromstring(DISK.format("<source/>")))


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Allowed:
    """Return the list that `--print-allow` begins with."""
    path = tmp_path_factory.mktemp("list") / "allow.toml"
    path.write_text(listed([vars(script) for script in SCRIPTS.values()]))
    return Allowed.read(path)


def load_of(workload: str, percent: int = 100, seconds: int = 30, **options: bool) -> engines.Load:
    return engines.load("fio", "fio-3.33", workload, "/srv/kdb/.kdb", "/srv/kdb/.kdb/fs", seconds, percent, **options)


FIO = load_of("varmail").files["job.fio"]
START = ["start", "/srv/kdb", "5", "benchmark", "900", "5", "fs", *load_of("varmail").command]
PUT = ["put", "/srv/kdb", "5", *(text for pair in load_of("varmail").files.items() for text in pair)]


# What KDB asks for


@pytest.mark.parametrize("workload", engines.WORKLOADS)
@pytest.mark.parametrize(("percent", "seconds"), [(1, 1), (100, 120), (1000, 86_400)])
def test_the_list_to_begin_with_lets_a_campaign_measure_by_fio(whole, workload, percent, seconds):
    load = load_of(workload, percent, seconds, is_compressible=True, is_direct=True)
    texts = [text for pair in load.files.items() for text in pair]
    for words in (
        ["put", "/srv/kdb", "5", *texts],
        ["start", "/srv/kdb", "5", "benchmark", "90000", "5", "fs", *load.command],
        ["arm", "/srv/kdb", "5", "benchmark", *load.warm],
        ["make-fs", "/srv/kdb", "5", "fs", "320", "ext4", "off"],
        ["make-fs", "/srv/kdb", "5", "fs", "320", "btrfs", "zstd"],
        ["limit-memory", "/srv/kdb", "5", "1536"],
        ["output", "/srv/kdb", "5", "benchmark.samples"],
        ["begin", "/srv/kdb", "5"],
        ["left", "/srv/kdb", "libvirt", "proxmox"],
    ):
        assert whole.against(command(REMOTE, words)) == ""


@pytest.mark.parametrize(
    "words",
    [
        [*VIRSH, "domstats", "--block", "--list-active", "--nowait"],
        [*VIRSH, "list --uuid --name; domstats --block --list-active --nowait"],
        ["env", "LC_ALL=C", *VIRSH, "list", "--all", "--uuid"],
        [*VIRSH, "; ".join(f"dumpxml {uuid}" for uuid in UUIDS)],
        [*VIRSH, "; ".join(f"pool-dumpxml {uuid}" for uuid in UUIDS)],
        ["findmnt", "--json", "--bytes", "--list", "--real", "--output", "TARGET,SOURCE,FSTYPE,SIZE,AVAIL"],
        ["realpath", "--zero", "--canonicalize-missing", "--", "/var/lib/libvirt/images/mail.raw", "/a b/ü"],
        ["cat", "/proc/uptime"],
        [
            "env",
            "LC_ALL=C",
            *VIRSH,
            "qemu-agent-command",
            UUIDS[0],
            '{"execute": "guest-get-fsinfo"}',
            "--timeout",
            "5",
        ],
        ["pvesh", "get", "/nodes/localhost/qemu", "--full", "1", *PVESH],
        ["pvesh", "get", "/nodes/localhost/qemu/104/agent/get-fsinfo", *PVESH],
        ["pvesh", "get", "/nodes/localhost/storage/local-zfs/content", "--content", "images", *PVESH],
        [*GREP],
    ],
)
def test_the_list_to_begin_with_lets_machines_be_observed(whole, words):
    assert whole.against(command("", words)) == ""


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (OF_LIBVIRT, ["look", UUIDS[0], "vda"]),
        (OF_LIBVIRT, ["make", MOVE, OLD, NEW, "1048576", "sparse"]),
        (OF_LIBVIRT, ["switch", MOVE, UUIDS[0], "vda", OLD, NEW, XML, NEW_XML]),
        (OF_LIBVIRT, ["undo", MOVE, UUIDS[0], "vda", OLD, NEW, XML]),
        (OF_LIBVIRT, ["keep", MOVE, OLD, f"{OLD}.kdb-kept-{MOVE}"]),
        (OF_LIBVIRT, ["remove", MOVE, f"{OLD}.kdb-kept-{MOVE}"]),
        ("", ["qemu-img", "info", "--force-share", OLD]),
        (
            "",
            [
                *("env", "LC_ALL=C", *VIRSH, "blockcopy", UUIDS[0], "vda", "--dest", NEW, "--format", "raw"),
                *("--reuse-external", "--transient-job", "--synchronous-writes", "--bytes", "--bandwidth", "1000"),
            ],
        ),
        (OF_PROXMOX, ["begin", MOVE, "104", "scsi0", "fast", "raw", "0", "a" * 40]),
        (OF_PROXMOX, ["unlink", "104", "slow:vm-104-disk-0", "unused0", "a" * 40]),
        ("", ["pvesh", "create", "/nodes/localhost/qemu/104/monitor", "--command", "info block-jobs", *PVESH]),
    ],
)
def test_moves_are_allowed_where_the_owner_takes_them_up_and_not_by_the_list_to_begin_with(whole, script, words):
    assert all_allowed().against(command(script, words)) == ""
    assert whole.against(command(script, words)) != ""


# What somebody who has the server asks for


@pytest.mark.parametrize(
    ("script", "words", "why"),
    [
        ("", ["rm", "-rf", "/srv/kdb"], "rm -rf /srv/kdb is not in the list"),
        ("", ["findmnt", "--json", "/root"], "'/root' is not --bytes"),
        ("", ["cat", "/etc/shadow"], "'/etc/shadow' is not /proc/uptime"),
        ("", ["env", "LC_ALL=C", "LD_PRELOAD=/srv/kdb/a.so", "uname", "-r"], "is not in the list"),
        ("", ["env", "PATH=/srv/kdb", "uname", "-r"], "is not in the list"),
        ("", ["uname", "-r", "--help"], "is a word too many"),
        ("", ["realpath", "--zero", "--canonicalize-missing", "--", "--help"], "is no PATH"),
        ("", ["realpath", "--zero", "--canonicalize-missing", "/etc"], "is not --"),
        ("", [*VIRSH, f"dumpxml {UUIDS[0]}; destroy {UUIDS[0]}"], "is not in the list"),
        ("", [*VIRSH, f"dumpxml {UUIDS[0]}\ndestroy x"], "is not in the list"),
        ("", [*VIRSH, f"dumpxml {UUIDS[0]} --security-info"], "is not in the list"),
        ("", [*VIRSH, "dumpxml", UUIDS[0], "--security-info"], "is not"),
        ("", [*VIRSH, "dumpxml 'x;destroy y'"], "is not in the list"),
        ("", [*VIRSH, "undefine", UUIDS[0]], "is not"),
        ("", [*VIRSH, "qemu-agent-command", UUIDS[0], '{"execute": "guest-exec"}', "--timeout", "5"], "is not"),
        ("", [*VIRSH, "qemu-agent-command", "--cmd", '{"execute": "guest-get-fsinfo"}', "--timeout", "5"], "no UUID"),
        ("", [*GREP, "/etc/shadow"], "is a word too many"),
        ("", ["grep", "-rH", ".", "/etc/pve/qemu-server/"], "'.' is not -e"),
        ("", ["grep", "-rH", "-e", ".", "/etc/pve/qemu-server/"], "'.' is not ^[[]"),
        ("", ["pvesh", "get", "/nodes/localhost/qemu/104/agent/file-read", "--file", "/etc/shadow", *PVESH], "is not"),
        ("", ["pvesh", "get", "/nodes/localhost/query-url-metadata", "--url", "http://10.0.0.1", *PVESH], "is not"),
        ("", ["pvesh", "get", "/nodes/localhost/qemu/104/agent/../config", *PVESH], "is not"),
        ("", ["pvesh", "get", "/access/users", *PVESH], "is not"),
        ("", ["pvesh", "create", "/nodes/localhost/execute", "--commands", "[]", *PVESH], "is no MONITOR"),
        (
            "",
            ["pvesh", "create", "/nodes/localhost/qemu/104/monitor", "--command", "migrate exec:id", *PVESH],
            "is no COMMAND",
        ),
        ("", ["qemu-img", "info", "--force-share", "json:{}"], "is no plain path"),
        ("", ["qemu-img", "info", "--force-share", "/srv/kdb/../../etc/shadow"], "is no plain path"),
        ("0" * 64, ["facts"], "is not in the list"),
        (REMOTE, ["format-disk", "/srv/kdb", "5", "disk", "S3R14L", "ext4"], "the verb format-disk is not in the list"),
        (REMOTE, ["start-xen", "/srv/kdb", "5", "a", UUIDS[0], "c"], "the verb start-xen is not in the list"),
        (REMOTE, ["begin", "/etc", "5"], "'/etc' is in no pool of the list"),
        (REMOTE, ["begin", "/srv/kdb/../../etc", "5"], "is in no pool"),
        (REMOTE, ["begin", "/srv/kdb/sub", "5"], "is in no pool"),
        (REMOTE, ["begin", "/srv/kdb", "x[$(reboot)]"], "is no TOKEN"),
        (REMOTE, ["begin", "/srv/kdb", "5\n"], "is no TOKEN"),
        (REMOTE, ["begin", "/srv/kdb", "٥"], "is no TOKEN"),
        (REMOTE, ["begin"], "lacks POOL TOKEN"),
        (REMOTE, ["raw-speed", "/srv/kdb", "5", "a[$(id)]"], "is no number from 1 to 4096"),
        (REMOTE, ["make-fs", "/srv/kdb", "5", "fs", "99999999999", "ext4", "off"], "is no number from 1 to"),
        (REMOTE, ["make-fs", "/srv/kdb", "5", "../../../etc", "64", "ext4", "off"], "is not fs"),
        (REMOTE, ["output", "/srv/kdb", "5", "../../../etc/shadow"], "is not benchmark.out"),
        (REMOTE, ["output", "/srv/kdb", "5", "token"], "is not benchmark.out"),
        (REMOTE, ["erase", "/srv/kdb"], "the verb erase is not in the list"),
        (REMOTE, ["start", "/srv/kdb", "5", "b", "9", "5", "fs", "sh", "-c", "reboot"], "'b' is not benchmark"),
        (REMOTE, [*START[:7], "sh", "-c", "reboot", "kdb-fio", "/srv/kdb/.kdb"], "is not fio.sh of the list"),
        (REMOTE, [*START[:9], engines.BARRIER, *START[10:]], "is not fio.sh of the list"),
        (REMOTE, [*START[:-1], "/tmp"], "is not the area of the pool"),
        (REMOTE, [*START, "more"], "is a word too many"),
        (REMOTE, [*START[:6], "../..", *START[7:]], "is not fs"),
        (REMOTE, [*START[:7], "setarch", "-R", "reboot"], "is not sh"),
        (REMOTE, ["arm", "/srv/kdb", "5", "benchmark", "reboot"], "is not fio"),
        (REMOTE, ["put", "/srv/kdb", "5", "barrier", "reboot"], "is not barrier.sh of the list"),
        (REMOTE, ["put", "/srv/kdb", "5", "domains", "mail"], "is not barrier"),
        (REMOTE, ["put", "/srv/kdb", "5", "job.f", 'system "reboot"'], "is not barrier"),
        (REMOTE, [*PUT[:6], f"{FIO}exec_prerun=reboot", *PUT[7:]], "has the line 'exec_prerun=reboot'"),
        (REMOTE, ["superblocks", "/dev/watchdog"], "is"),
        (REMOTE, ["superblocks", "/dev/null"], "is no image and no disk"),
        (REMOTE, ["superblocks", "/proc/self/environ"], "is no image and no disk"),
        (OF_LIBVIRT, ["remove", "a", "/srv/kdb/mail.raw"], "is no MOVE"),
        (OF_LIBVIRT, ["remove", MOVE, "/srv/kdb/mail.raw"], "is not what the move keeps"),
        (OF_LIBVIRT, ["keep", MOVE, OLD, f"/srv/kdb/other.kdb-kept-{MOVE}"], "is not what the move keeps"),
        (OF_LIBVIRT, ["make", MOVE, OLD, "/srv/kdb/mail.k0000000000ff.raw", "1", "full"], "bear the move's token"),
        (OF_LIBVIRT, ["make", MOVE, OLD, f"/etc/cron.d/mail.{MOVE}", "1", "full"], "is in no pool"),
        (OF_PROXMOX, ["unlink", "104", "slow:a", "unused0//;1e reboot;#", "a" * 40], "is no UNUSED"),
        (OF_PROXMOX, ["path", "-f:x"], "is no VOLUME"),
        (
            OF_PROXMOX,
            ["begin", MOVE, "104", "scsi0", "theirs", "raw", "0", "a" * 40],
            "'theirs' is no pool of the list",
        ),
    ],
)
def test_what_is_not_in_the_list_is_refused_with_what_is_wrong(script, words, why):
    assert why in all_allowed().against(command(script, words))


@pytest.mark.parametrize(
    "source",
    [
        "<source file='/etc/shadow'/>",
        f"<source file='{OLD}'/><source file='/etc/shadow'/>",
        f"<source file='{OLD}' dev='/dev/sda'/>",
        f"<source file='{OLD}'/><backingStore type='file'><source file='/etc/shadow'/></backingStore>",
        f"<source file='{OLD}'/><backingStore type='network'><source protocol='rbd' name='x'/></backingStore>",
        f"<source file='{OLD}'/><mirror type='file' file='x'/>",
        f"<source file='{OLD}'/><encryption format='luks'><secret type='passphrase' uuid='x'/></encryption>",
        "<!DOCTYPE disk [<!ENTITY a SYSTEM '/etc/shadow'>]>",
        "\ud800",
    ],
)
def test_a_definition_that_names_more_than_the_image_is_refused(source):
    words = ["undo", MOVE, UUIDS[0], "vda", OLD, NEW, DISK.format(source)]
    assert re.search("is no|does not lie at|has more than", all_allowed().against(command(OF_LIBVIRT, words)))


@pytest.mark.parametrize(
    "other", [("'raw'", "'qcow2'"), ("virtio", "sata"), ("<driver name", "<driver cache='unsafe' name")]
)
def test_a_definition_that_is_not_the_one_libvirt_keeps_is_refused(other):
    words = ["switch", MOVE, UUIDS[0], "vda", OLD, NEW, XML, NEW_XML.replace(*other)]
    assert "differs from what libvirt keeps" in all_allowed().against(command(OF_LIBVIRT, words))


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"given": base64.b64encode(b"x").decode()}, "standard input"),
        ({"seconds": 10**9}, "seconds is no number"),
        ({"seconds": True}, "seconds is no number"),
        ({"most_bytes": 2**40}, "most_bytes is no number"),
        ({"most_bytes": "1"}, "most_bytes is no number"),
        ({"name": "sh\nx"}, "no name that KDB"),
        ({"name": "kdb-remote:$(id)"}, "no name that KDB"),
        ({"words": "facts"}, "no command"),
        ({"words": []}, "no command"),
        ({"words": ["facts", 5]}, "words"),
        ({"words": ["facts", *["/srv/kdb"] * 1000]}, "words"),
        ({"words": ["facts", "x" * 2**20]}, "characters"),
        ({"script": None}, "no command"),
    ],
)
def test_what_stands_beside_the_words_is_judged_too(fields, why):
    assert why in all_allowed().against(command(REMOTE, ["facts", "/srv/kdb"]) | fields)


def test_a_link_on_the_way_to_an_image_is_refused(tmp_path):
    (tmp_path / "pool").mkdir()
    (tmp_path / "pool" / "elsewhere").symlink_to("/etc")
    allowed = all_allowed(pools=[str(tmp_path / "pool")])
    words = ["qemu-img", "info", "--force-share", f"{tmp_path}/pool/elsewhere/shadow"]
    assert "symbolic link" in allowed.against(command("", words))


# Every verb, at every depth

_EXAMPLES = {
    "TOKEN": "5",
    "FS": "ext4",
    "UUID": UUIDS[0],
    "DEFINITIONS": f"dumpxml {UUIDS[0]}",
    "PATH": "/var/lib/libvirt/images",
    "DEVICE": "/dev/vg/mail",
    "NAME": "fast",
    "PLACE": "/storage/fast",
    "CONTENT": "/nodes/localhost/storage/fast/content",
    "MONITOR": "/nodes/localhost/qemu/104/monitor",
    "COMMAND": "info block",
    "DISK": "vda",
    "DRIVE": "scsi0",
    "MOVE": MOVE,
    "VOLUME": "fast:vm-104-disk-0",
    "UNUSED": "unused0",
    "SHA-1": "a" * 40,
    "POOL": "/srv/kdb",
    "STORAGE": "fast",
    "AREA": "/srv/kdb/.kdb",
    "FIO": engines.FIO_COMMANDS,
    "BARRIER": engines.BARRIER,
    "JOB": FIO,
    "OLD": OLD,
    "NEW": NEW,
    "KEPT": f"{OLD}.kdb-kept-{MOVE}",
    "OLD-XML": XML,
    "NEW-XML": NEW_XML,
    "IMAGE": __file__,
}
LINES = [("", line) for lines in grammar.PROGRAMS.values() for line in lines]
LINES += [(DIGESTS[name], line) for name, lines in grammar.SCRIPTS.items() for line in lines]


def example_of(line: str) -> list[str]:
    """Return a command of this form."""
    words = []
    for kind in shlex.split(line):
        kind = kind.removesuffix("...")
        kind = _EXAMPLES.get(kind, kind.partition("|")[0].partition("..")[0] if "{" not in kind else kind)
        words.append(kind)
    return words


@pytest.mark.parametrize(("script", "line"), LINES)
def test_each_form_allows_its_own_words_and_not_one_less_or_more(script, line):
    words = example_of(line)
    assert all_allowed().against(command(script, words)) == ""
    if not line.endswith("..."):
        assert all_allowed().against(command(script, [*words, "x"])) != ""
    assert Allowed().against(command(script, words)) != ""


_WRAPPERS = [
    lambda script, words: [*START[:7], *inner(script, words)],
    lambda script, words: [*START[:10], *inner(script, words)],
    lambda script, words: ["arm", "/srv/kdb", "5", "benchmark", *inner(script, words)],
    lambda script, words: ["put", "/srv/kdb", "5", *inner(script, words)],
    lambda script, words: ["facts", *inner(script, words)],
    lambda script, words: ["env", "LC_ALL=C", *inner(script, words)],
    lambda script, words: ["sh", "-c", TEXTS["remote.sh"], "kdb-remote", *words],
    lambda script, words: [*VIRSH, shlex.join(words)],
    lambda script, words: ["realpath", "--zero", "--canonicalize-missing", "--", *inner(script, words)],
]


def inner(script: str, words: list[str]) -> list[str]:
    return ["sh", "-c", SCRIPTS[script].text, "kdb-remote", *words] if script else words


@hypothesis.given(st.sampled_from(LINES), st.lists(st.sampled_from(_WRAPPERS), min_size=1, max_size=4))
def test_no_command_is_taken_inside_another_whatever_the_depth(line, wrappers):
    allowed, (script, form) = all_allowed(), line
    words = example_of(form)
    for depth, wrapper in enumerate(wrappers):
        words, script = wrapper(script, words), REMOTE
        for outer in ("", REMOTE, OF_LIBVIRT, OF_PROXMOX):
            is_prefixed = not outer and words[:2] == ["env", "LC_ALL=C"] and depth == 0 and form.startswith("virsh")
            assert is_prefixed or allowed.against(command(outer, words)) != ""


_ATTACKS = st.sampled_from(
    [
        *(
            "--help",
            "-e",
            "../../etc",
            "/etc/shadow",
            "$(reboot)",
            "`reboot`",
            "a;reboot",
            "a\nreboot",
            "*",
            "",
            "x" * 5000,
        ),
        *(
            "LD_PRELOAD=/srv/a.so",
            "--",
            "5\x00",
            "a[$(reboot)]",
            "-1",
            "1e9",
            "0x10",
            "99999999999999999999",
            "/srv/kdb/..",
        ),
        *("--output=/etc/passwd", "json:{}", "unused0/;1e id", "\ud800", "/srv/kdb/../../etc"),
    ]
)


@hypothesis.given(st.sampled_from(LINES), st.data())
def test_no_word_of_a_command_may_be_an_attack(line, data):
    script, form = line
    kinds = [kind.removesuffix("...") for kind in shlex.split(form)]
    words = example_of(form)
    place = data.draw(st.integers(0, len(words) - 1))
    attack = data.draw(_ATTACKS)
    harmless = {"PATH": attack.startswith("/") and "\n" not in attack and "\0" not in attack}
    hypothesis.assume(not harmless.get(kinds[place]) and attack != words[place])
    words[place] = attack
    assert all_allowed().against(command(script, words)) != ""


# Jobs of fio


def test_a_job_of_several_loads_in_one_folder_is_taken():
    job = "[global]\ndirectory=/srv/kdb/a\nioengine=libaio\ndirect=1\n[read]\nrw=randread\nbs=4k\n[log]\nrw=write\n"
    assert check_fio_job(job, ["/srv/kdb"]) == ""


@pytest.mark.parametrize(
    "line",
    [
        *(
            "exec_prerun=reboot",
            "exec_postrun=reboot",
            "filename=/etc/passwd",
            "directory=/etc",
            "directory=/srv/kdb/../etc",
        ),
        *(
            "directory=/srv/kdb:/etc",
            "ioengine=external:/srv/kdb/a.so",
            "ioengine=exec",
            "include /etc/passwd",
            "bs=`id`",
        ),
        *(
            "runtime=${HOME}",
            "write_bw_log=/etc/x",
            "read_iolog=/etc/x",
            "verify_state_load=1",
            "rw=randrw:5",
            "opendir=/",
        ),
        *("; comment", " exec_prerun=id", "exec_prerun =id", "numjobs=99999999999", "[a]", "runtime=1\rexec_prerun=id"),
        *("filesize=0x10", "unlink=1", "bs=4k\u2028exec_prerun=id", "bs=٤", "group_reporting"),
    ],
)
def test_a_job_that_could_do_more_than_load_its_folder_is_refused(line):
    assert check_fio_job(FIO, ["/srv/kdb/.kdb/fs"]) == ""
    assert check_fio_job(f"{FIO}{line}\n", ["/srv/kdb/.kdb/fs"]) != ""
    assert check_fio_job("[a]\nrw=read\n", ["/srv/kdb"]) != ""  # its files would lie wherever fio is started


@pytest.mark.parametrize(
    ("name", "most", "more"),
    [
        ("bs", "9999999", "10000000"),
        ("bs", "9999k", "10000k"),
        ("bs", "4k,9999k,4k", "4k,4k,10000k"),
        ("bs", "1k", "1m"),
        *((name, "9999", "10000") for name in ("numjobs", "openfiles", "iodepth")),
        ("nrfiles", "999999", "1000000"),
    ],
)
def test_what_a_job_takes_of_memory_and_files_has_bounds(name, most, more):
    job = f"[a]\ndirectory=/srv/kdb\n{name}="
    assert check_fio_job(f"{job}{most}\n", ["/srv/kdb"]) == ""
    assert check_fio_job(f"{job}{more}\n", ["/srv/kdb"]) == f"has the line '{name}={more}'"


# The list itself


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("pool = []", "allowed are pools, programs"),
        ('pools = "/srv"', "a list of texts"),
        ("pools = [", "cannot be read"),
        ('programs = ["uname *"]', "there is no uname"),
        ('trusts_server = "false"', "true or false"),
        ('[scripts]\n"SHA" = ["facts"]', "print the list anew"),
        ('[scripts."remote.sh"]\ndigest = "a"\nverbs = ["give"]', "there is no give"),
        ('[scripts."other.sh"]\ndigest = "a"', "there is no other.sh"),
    ],
)
def test_a_list_that_is_none_is_refused(tmp_path, text, why):
    (tmp_path / "allow.toml").write_text(text)
    with pytest.raises(KdbError, match=why):
        Allowed.read(tmp_path / "allow.toml")


def test_what_a_server_says_of_its_scripts_writes_nothing_else_into_the_list(tmp_path):
    evil = [
        {"name": 'remote.sh"]\n[x', "about": "a\ntrusts_server = true", "digest": "0", "text": "facts)\n"},
        {
            "name": "remote.sh",
            "about": "a\ntrusts_server = true",
            "digest": '"\ntrusts_server = true',
            "text": "facts)\ngive)\n",
        },
    ]
    path = tmp_path / "allow.toml"
    path.write_text(listed(evil))
    allowed = Allowed.read(path)
    assert not allowed.trusts_server
    assert allowed.scripts == {"remote.sh": Script(ssh.digest_of("facts)\ngive)\n"), ["facts"])}


def test_no_other_bytes_have_the_digest_of_a_text_that_was_read():
    assert len({grammar.digest_of(text) for text in ("a?", "a\udcff", "a\ud800", "a\ufffd")}) == 4


def test_each_verb_of_the_forms_is_one_of_the_scripts():
    for name, lines in grammar.SCRIPTS.items():
        there = {verb for verbs in grammar._VERBS.findall(TEXTS[name]) for verb in verbs.split(" | ")}
        assert {line.split()[0] for line in lines} <= there
    assert [*grammar.SCRIPTS] == [script.name for script in SCRIPTS.values()]
    assert all(first != second for first, second in pairwise(LINES))
