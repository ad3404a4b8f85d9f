"""Scripts describe a hypervisor that KDB does not ask: run beside its programs, read strictly, kept in its record."""

import os
import subprocess

import pytest

from experiments.campaigns import statements
from experiments.campaigns.hosts import HostError
from experiments.models import Hypervisor
from tests.factories import entry, make_host, make_user

from .test_pages import client_of

pytestmark = pytest.mark.django_db

SAID = """kdb-facts: 1
hypervisor: esxi
hypervisor_release: VMware ESXi 8.0.3 build 24677879
virtualisation: full
virtual_devices: pvscsi
disk_bus: scsi
image_format: vmdk
allocation: sparse
vm_vcpus: 2
vm_ram_gib: 4
vm_disk: scsi0:1, web_1.vmdk
"""


@pytest.fixture
def host():
    entry(Hypervisor, "esxi")
    entry(Hypervisor, "kvm")
    owner = make_user("operators")
    return make_host("esx-1", drivers=["attached"], registered_by=owner, stated={"cache_mode": "none", "vm_vcpus": "1"})


# The script, with programs that answer as ESXi's do

# The commands: https://developer.broadcom.com/xapis/esxcli-command-reference/latest/. Their text is that of release 8.
ESXCLI = """#!/bin/sh
case "$*" in
"system version get") cat <<'END'
   Product: VMware ESXi
   Version: 8.0.3
   Build: Releasebuild-24677879
   Update: 3
   Patch: 70
END
;;
"vm process list") cat <<END
mail
   World ID: 123455
   Process ID: 0
   VMX Cartel ID: 123454
   UUID: 56 4d 00 00 00 00 00 00-00 00 00 00 00 00 00 00
   Display Name: mail
   Config File: FOLDER/mail.vmx

web: 1
   World ID: 123457
   Process ID: 0
   VMX Cartel ID: 123456
   UUID: 56 4d 00 00 00 00 00 00-00 00 00 00 00 00 00 01
   Display Name: web: 1
   Config File: FOLDER/web 1.vmx
END
;;
*) exit 1 ;;
esac
"""
VMX = """.encoding = "UTF-8"
scsi0.virtualDev = "pvscsi"
scsi0.present = "TRUE"
scsi0:0.fileName = "web.vmdk"
scsi0:1.fileName = "web_1.vmdk"
memSize = "4096"
numvcpus = "2"
displayName = "web: 1"
"""
# https://sanbarrow.com/vmdk/disktypes.html
VMDK = """# Disk DescriptorFile
version=1
createType="vmfs"
RW 4192256 VMFS "web_1-flat.vmdk"
ddb.adapterType = "lsilogic"
ddb.thinProvisioned = "1"
"""


@pytest.fixture
def esxi(tmp_path):
    """Run the script there; its status, what it printed, and its errors."""
    (tmp_path / "esxcli").write_text(ESXCLI.replace("FOLDER", str(tmp_path)))
    (tmp_path / "esxcli").chmod(0o755)
    (tmp_path / "web 1.vmx").write_text(VMX)
    (tmp_path / "web.vmdk").write_text(VMDK.replace('ddb.thinProvisioned = "1"\n', ""))
    (tmp_path / "web_1.vmdk").write_text(VMDK)

    def run(*words: str):
        environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
        script = str(statements.SCRIPTS["kdb-facts-esxi.sh"])
        return subprocess.run(["sh", script, *words], capture_output=True, text=True, env=environment)

    return run


def test_what_the_script_prints_is_what_is_read(esxi):
    done = esxi("web: 1", "scsi0:1")
    assert (done.stdout, done.stderr, done.returncode) == (SAID, "", 0)
    slug, fields = statements.parse(done.stdout)
    assert (slug, fields["vm_disk"]) == ("esxi", "scsi0:1, web_1.vmdk")


def test_a_disk_that_is_not_thin_says_nothing_of_its_space(esxi):
    assert "allocation" not in statements.parse(esxi("web: 1").stdout)[1]


@pytest.mark.parametrize(
    ("words", "why"),
    [(["elsewhere"], "no running machine is called elsewhere"), (["web: 1", "ide0:0"], "it has scsi0:0 scsi0:1")],
)
def test_the_script_tells_what_is_not_there(esxi, words, why):
    done = esxi(*words)
    assert (done.returncode, done.stdout) == (1, "")
    assert why in done.stderr


def test_the_script_for_hyper_v_prints_only_fields_that_are_read():
    """There is no PowerShell here: its lines are held against the reader's fields."""
    text = statements.SCRIPTS["kdb-facts-hyper-v.ps1"].read_text()
    named = [line.strip().lstrip('"').partition(":")[0] for line in text.splitlines() if line.strip().startswith('"')]
    assert named[0] == "kdb-facts"
    assert set(named[1:]) <= {"hypervisor", *statements.FIELDS}
    assert {"hypervisor_release", "image_format", "disk_bus"} <= set(named)


# Read strictly


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "It begins with"),
        ("[root@esx:~]\n" + SAID, "It begins with"),
        (SAID + "rm -rf /", "Line 12: 'rm -rf /' is not a field"),
        (SAID + "host_fs:", "Line 12: 'host_fs:' is not a field"),
        (SAID + "owner: me", "Line 12: 'owner: me' is not a field"),
        (SAID + "image_format: raw", "image_format is said twice"),
        (SAID.replace("sparse", "thin"), "allocation: Value 'thin' is not a valid choice"),
        (SAID.replace("vm_vcpus: 2", "vm_vcpus: two"), "vm_vcpus: “two” value must be an integer"),
        (SAID.replace("hypervisor: esxi\n", ""), "does not say whose host"),
        (SAID.replace(": vmdk", f": {'x' * 41}"), "at most 40 characters"),
        (SAID + "x" * statements.MOST_BYTES, "at most 65,536 bytes"),
    ],
)
def test_what_is_no_statement_is_refused_with_its_line(text, words):
    with pytest.raises(HostError, match=r"\w") as refused:
        statements.parse(text)
    assert words in str(refused.value)


def test_powershell_writes_utf_16_and_others_a_mark_in_front():
    assert statements.decode(SAID.encode("utf-16")) == statements.decode(SAID.encode("utf-8-sig")) == SAID
    with pytest.raises(HostError, match="no text"):
        statements.decode(b"kdb-facts\xff\xfe")


# Kept


def test_a_statement_takes_the_place_of_what_was_stated_of_the_same_fields(host):
    statements.keep_statement(host, SAID)
    host.refresh_from_db()
    assert host.hypervisor.slug == "esxi"
    assert (host.stated["cache_mode"], host.stated["vm_vcpus"], host.stated["allocation"]) == ("none", "2", "sparse")


def test_a_statement_of_another_hypervisor_changes_nothing(host):
    host.hypervisor = Hypervisor.objects.get(slug="kvm")
    host.save()
    with pytest.raises(HostError, match="Correct the record first"):
        statements.keep_statement(host, SAID)
    with pytest.raises(HostError, match="is no hypervisor of the catalogue"):
        statements.keep_statement(host, SAID.replace("hypervisor: esxi", "hypervisor: nova"))
    host.refresh_from_db()
    assert "allocation" not in host.stated


def test_both_doors_take_a_statement_from_who_may_change_the_host(host):
    owner, other = host.registered_by, make_user("operators")
    host.operators.add(other)
    page = client_of(owner, api=False)
    shown = page.get("/laboratory/hosts/esx-1/").content.decode()
    assert "kdb-facts-hyper-v.ps1" in shown
    script = page.get("/laboratory/hosts/scripts/kdb-facts-esxi.sh")
    assert script.content == statements.SCRIPTS["kdb-facts-esxi.sh"].read_bytes()
    assert page.get("/laboratory/hosts/scripts/views.py").status_code == 404
    refused = page.post("/laboratory/hosts/esx-1/", {"do": "statement", "text": "nonsense"})
    assert (refused.status_code, b"It begins with" in refused.content) == (409, True)
    assert client_of(other, api=False).post("/laboratory/hosts/esx-1/", {"do": "statement"}).status_code == 403
    posted = ("/api/v1/hosts/esx-1/statement/", {"text": SAID}, "application/json")
    assert client_of(other, api=True).post(*posted).status_code == 403
    answer = client_of(owner, api=True).post(*posted)
    assert (answer.status_code, answer.json()["stated"]["disk_bus"]) == (200, "scsi")
