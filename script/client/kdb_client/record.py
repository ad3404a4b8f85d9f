"""kdb record: ask this host of Proxmox VE all that KDB's observation asks, and write the answers to one file.

Nothing is changed, and nothing is sent. A word stays in the file only where Proxmox VE itself uses it (`KEPT`), a
number only where KDB reads it. Any other is replaced, everywhere by the same word, so that the file can be replayed
against KDB's driver (tests/experiments/fleet/driver/test_proxmox_records.py, which also compares the commands).
"""

import argparse
import itertools
import json
import os
import re
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .client import Client
from .errors import KdbError
from .output import show

FORMAT = "kdb-proxmox-record/1"
SECONDS = 120  # that a command may take
QEMU, STORAGES = "/nodes/localhost/qemu", "/nodes/localhost/storage"
_OPTIONS = ("[[]", "agent", "ide", "meta", "sata", "scsi", "smbios1", "template", "virtio")
GREP = ("grep", "-rH", *(word for start in _OPTIONS for word in ("-e", f"^{start}")), "/etc/pve/qemu-server/")
FINDMNT = ("findmnt", "--json", "--bytes", "--list", "--real", "--output", "TARGET,SOURCE,FSTYPE,SIZE,AVAIL")
LSBLK = ("lsblk", "--json", "--output", "NAME,PATH,TYPE,ROTA,TRAN")
REALPATH = ("realpath", "--zero", "--canonicalize-missing", "--")

# Of Proxmox VE, of the programs asked, and of their errors; what an owner names is kept only where it is called so.
_WORDS = """
a active inactive additional agent aio allowed already an and are at Audit autofs avail AVAIL available backup boot
btrfs by by-id bytes cache can canonicalize-missing cdrom ceph cephfs check cifs cloudinit command config
configuration connection content creation-qemu crypt ctime current Datastore defined delete denied dev dir directory
directsync discard disk disks does e enabled error esxi etc exist ext2 ext3 ext4 failed false fc file findmnt for
format found freeze-fs-on-backup fstrim_cloned_disks FSTYPE full fuse fuseblk get GET get-fsinfo glusterfs got grep
guest GuestAgent ide ignore images import in io_uring iothread ipcc_send_rec is isa iscsi iscsidirect iso iso9660
json lib line list localhost lock loop lsblk lsi lvm lvmthin mapper media meta mnt Monitor NAME native nfs nfs4 no
node nodes none not ntfs nvme of off on open or order output output-format overlay parameter parent part PATH paused
pbs PENDING permission proc properties property pve pvesh qcow2 qed qemu qemu-server raid0 raid1 raid10 raid5 raid6
raw rbd read real realpath refused replicate required rH ro rom rootdir ROTA run running rw sas sata schema scsi
scsihw shared size SIZE smbios1 snapshot snippets SOURCE special squashfs srv ssd stopped storage subvol such swap
sys Sys t TARGET tcp template the thin threads timeout tmp tmpfs to total TRAN true type TYPE unable unknown unsafe
usb used user uuid value var verification vfat virtio virtio-scsi-pci virtio-scsi-single VM vmdk volid vz vztmpl was
were with writeback writethrough xfs zero zfs zfs_member zfspool
"""
KEPT = frozenset(_WORDS.split())
_SHAPES = re.compile(
    r"(?:scsi|virtio|sata|ide|efidisk|tpmstate|unused|net)\d{1,2}|\d{1,9}\.conf|\d{1,3}"
    r"|(?:vm|base|subvol)-\d{1,9}-(?:disk-\d{1,4}|cloudinit)(?:\.(?:raw|qcow2|vmdk))?"
    r"|kdb-(?:probe|\d{1,9})-\d{1,9}|\d{1,9}(?:\.\d{1,9})?[KMGT]"
    r"|(?:sd|vd|xvd)[a-z]{1,2}\d{0,3}|nvme\d{1,3}n\d{1,3}(?:p\d{1,3})?|(?:loop|dm-|md|zd|sr)\d{1,4}(?:p\d{1,3})?"
)
_NUMBERS = ("size", "avail", "used", "total", "vmid", "pid")  # keys whose digits are read where they stand as texts
_UUID = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_WORD = re.compile(
    r"(?:[0-9A-Fa-f]{2}:){5,31}[0-9A-Fa-f]{2}"  # of a network card, of a certificate
    r"|[0-9A-Fa-f]{1,4}(?:::?[0-9A-Fa-f]{1,4}){2,7}|[0-9A-Fa-f]{0,4}::[0-9A-Fa-f]{1,4}"  # IPv6
    r"|\w+(?:[.-]+\w+)*"
)

Answer = Mapping[str, Any]  # words of the command, status, output, errors
Ask = Callable[[Sequence[str]], Answer]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="a new one")


def run(_client: Client, options: argparse.Namespace) -> int:
    """Write the file. Raises KdbError where this is no host of Proxmox VE, and where the file is there."""
    answers = ask_all(_ask)
    release = re.search(r"pve-manager/([0-9.]{1,20})", _ask(["pveversion"])["output"])
    if not any(answer["status"] == 0 for answer in answers):
        raise KdbError(
            f"Nothing was answered: {answers[0]['errors'].strip() or 'no output'}. Run this as root on the host."
        )
    with options.file.open("x", encoding="utf-8") as file:
        file.write(written(answers, release[1] if release else ""))
    show(f"{len(answers)} answers are in {options.file}. Look it through before you send it.")
    return 0


def _ask(words: Sequence[str]) -> Answer:
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        done = subprocess.run(words, capture_output=True, timeout=SECONDS, env=environment, stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        return _answer(words, 127, b"", f"{words[0]}: command not found".encode())
    except subprocess.TimeoutExpired:
        return _answer(words, 124, b"", b"timeout")
    return _answer(words, done.returncode, done.stdout, done.stderr)


def _answer(words: Sequence[str], status: int, output: bytes, errors: bytes) -> Answer:
    texts = {"output": output.decode(errors="replace"), "errors": errors.decode(errors="replace")}
    return {"words": [*words], "status": status, **texts}


def ask_all(ask: Ask) -> list[Answer]:
    """Ask what ProxmoxListing of KDB's experiments/fleet/driver/proxmox/listing.py does, and return the answers."""
    answers: list[Answer] = []

    def text(*words: str) -> str:
        answers.append(ask(words))
        return str(answers[-1]["output"])

    def entries(*words: str) -> list[dict[str, Any]]:
        try:
            listed = json.loads(text("pvesh", "get", *words, "--output-format", "json"))
        except ValueError:
            return []
        return [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []

    entries(QEMU, "--full", "1")
    machines = entries(QEMU)
    files = text(*GREP) if machines else ""
    paths = {str(entry.get("storage")): str(entry.get("path") or "") for entry in entries("/storage")}
    states = [entry for entry in entries(STORAGES) if "images" in str(entry.get("content", "")).split(",")]
    names = sorted({str(entry.get("storage")) for entry in states if entry.get("active")})
    text(*FINDMNT)
    text(*LSBLK)
    if folders := sorted({path for name in names if (path := paths.get(name, "")).startswith("/")}):
        text(*REALPATH, *folders)
    for name in names:
        if f": {name}:" in files:
            entries(f"{STORAGES}/{name}/content", "--content", "images")
    for machine in machines:
        number = str(machine.get("vmid"))
        has_agent = re.search(rf"/{re.escape(number)}\.conf:agent: ?(?:enabled=)?1", files)
        if has_agent and machine.get("status") == "running":
            entries(f"{QEMU}/{number}/agent/get-fsinfo")
    return answers


def written(answers: Iterable[Answer], release: str = "") -> str:
    """Return commands and answers as the text of the file, with each word replaced that does not stay.

    release : of Proxmox VE; "": not known
    """
    kept = list(answers)
    replacement = Replacement(" ".join(text for a in kept for text in (*a["words"], a["output"], a["errors"])))
    commands = [
        {
            "words": [replacement.text(word) for word in answer["words"]],
            "status": answer["status"],
            "output": replacement.output(answer["output"]),
            "errors": replacement.text(answer["errors"]),
        }
        for answer in kept
    ]
    return json.dumps({"format": FORMAT, "release": release, "commands": commands}, indent=1) + "\n"


class Replacement:
    """What stands for each word that is replaced. all_text : in which none of those occurs"""

    def __init__(self, all_text: str) -> None:
        stems = itertools.chain(("word",), (f"word{number}x" for number in itertools.count()))
        self.stem = next(stem for stem in stems if stem not in all_text)
        self.others: dict[str, str] = {}
        # Volume groups begin the names of devices, where their own dashes are doubled; numbers name machines' volumes.
        self.groups = {name: name.replace("-", "--") for name in re.findall(r'"vgname" ?: ?"([^"]{1,200})"', all_text)}
        self.numbers = set(re.findall(r'"vmid" ?: ?"?(\d{1,9})', all_text))

    def output(self, text: str) -> str:
        """Return what a command printed, JSON or not."""
        try:
            return json.dumps(self._value(json.loads(text), ""))
        except ValueError:
            return self.text(text)

    def text(self, text: str) -> str:
        return _WORD.sub(lambda match: self._word(match[0]), text)

    def _value(self, value: Any, key: str) -> Any:
        match value:
            case dict():
                return {
                    name if re.fullmatch(r"[a-z][a-z_-]{0,40}\d{0,2}", name) else self.text(name): self._value(
                        inside, name
                    )
                    for name, inside in value.items()
                }
            case list():
                return [self._value(inside, key) for inside in value]
            case str() if not (key in _NUMBERS and value.isdecimal()):
                return self.text(value)
        return value

    def _word(self, word: str) -> str:
        if word in KEPT or word in self.numbers or _SHAPES.fullmatch(word):
            return word
        for group, beginning in self.groups.items():
            if word.startswith(f"{beginning}-"):
                volume = word[len(beginning) + 1 :].replace("--", "-")
                return f"{self._word(group)}-{self._word(volume).replace('-', '--')}"
        if word not in self.others:
            number = len(self.others) + 1
            is_uuid = _UUID.fullmatch(word)
            self.others[word] = f"00000000-0000-4000-8000-{number:012}" if is_uuid else f"{self.stem}{number}"
        return self.others[word]
