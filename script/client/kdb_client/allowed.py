"""The list of what a host does for KDB, written by the host's owner as TOML. What it does not have is refused.

    pools = ["/srv/kdb"]               # the folders, and the storages of Proxmox VE, that KDB works in
    programs = ["host", "libvirt"]     # groups of commands, below
    [scripts."remote.sh"]
    digest = "SHA-256"                 # of the text that was read
    verbs = ["facts", "health"]

The server names commands; their form is fixed here, word by word. A word in small letters stands for itself, `1..9` for
a whole number from 1 to 9, `raw|qcow2` for either; one in capitals is of a kind (_PATTERNS, _CHECKS), with `...` any
number of them. No command takes standard input, or another command: what `start` starts is written here, too.
"""

import hashlib
import os
import re
import shlex
import stat
import subprocess
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from .errors import KdbError

MOST_SECONDS, MOST_BYTES = 3600, 16 * 2**20
_MOST_CHARACTERS = 2**17  # of a word; Linux takes no longer one
_MOST_WORDS = 500

_VIRSH = "virsh -c qemu:///system --quiet"
PROGRAMS: Mapping[str, Sequence[str]] = {
    "host": (
        "uname -r",
        "cat /proc/uptime",
        "findmnt --json --bytes --list --real --output TARGET,SOURCE,FSTYPE,SIZE,AVAIL",
        "findmnt --noheadings --output FSTYPE,OPTIONS --target PATH",
        "lsblk --json --output NAME,PATH,TYPE,ROTA,TRAN",
        "realpath --zero --canonicalize-missing -- PATH...",
    ),
    "libvirt": (
        f"{_VIRSH} list --all --uuid",
        f"{_VIRSH} list --all --with-snapshot --uuid",
        f"{_VIRSH} domstats --block --list-active --nowait",
        f"{_VIRSH} 'list --uuid --name; domstats --block --list-active --nowait'",
        f"{_VIRSH} pool-list --all --uuid",
        f"{_VIRSH} DEFINITIONS",
        f"""{_VIRSH} qemu-agent-command UUID '{{"execute": "guest-get-fsinfo"}}' --timeout 5""",
    ),
    "proxmox": (
        "uname -n",
        "grep -rH -e '^[[]' -e ^agent -e ^ide -e ^meta -e ^sata -e ^scsi -e ^smbios1 -e ^template -e ^virtio "
        "/etc/pve/qemu-server/",
        "pvesh get PLACE --output-format json",
        "pvesh get /nodes/localhost/qemu --full 1 --output-format json",
        "pvesh get CONTENT --content images --output-format json",
    ),
    "libvirt-moves": (
        "qemu-img info --force-share OLD",
        *(
            f"{_VIRSH} blockcopy UUID DISK --dest NEW --format raw|qcow2 --reuse-external --transient-job "
            f"--synchronous-writes{limit}"
            for limit in ("", " --bytes --bandwidth 1..1000000000000")
        ),
    ),
    "proxmox-moves": ("pvesh create MONITOR --command COMMAND --output-format json",),
}
SCRIPTS: Mapping[str, Sequence[str]] = {
    "remote.sh": (
        "begin POOL TOKEN libvirt|proxmox|xen...",
        "clean POOL TOKEN",
        "ready POOL 0..33554432 libvirt|proxmox|xen...",
        "room POOL 0..33554432",
        "left POOL libvirt|proxmox|xen...",
        "clear POOL libvirt|proxmox|xen...",
        "make-fs POOL TOKEN fs 1..33554432 ext4|xfs|btrfs off|zstd|lzo|zlib",
        "make-folder POOL TOKEN fs FS",
        "make-folder POOL TOKEN fs FS 0..33554432",
        "put POOL TOKEN barrier BARRIER job.fio JOB create.fio JOB",
        "limit-memory POOL TOKEN 1..33554432",
        "start POOL TOKEN benchmark 1..200000 1..3600 fs sh -c FIO kdb-fio AREA",
        "arm POOL TOKEN benchmark fio --version",
        "usage POOL TOKEN",
        "go POOL TOKEN benchmark 0..1000000000000",
        "poll POOL TOKEN benchmark",
        "output POOL TOKEN benchmark.out|benchmark.err|benchmark.samples",
        "drop-caches",
        "facts POOL...",
        "health POOL...",
        "raw-speed POOL TOKEN 1..4096",
        "calibrate POOL TOKEN 1..4096 1..10",
        "superblocks IMAGE",
    ),
    "fio.sh": (),
    "barrier.sh": (),
    "moving-libvirt.sh": (
        "look UUID DISK",
        "about OLD NEW",
        "make MOVE OLD NEW 1..1000000000000000 sparse|full",
        "make-qcow2 MOVE OLD NEW 1..1000000000000000 512..2097152",
        "switch MOVE UUID DISK OLD NEW OLD-XML NEW-XML",
        "undo MOVE UUID DISK OLD NEW OLD-XML",
        "keep MOVE OLD KEPT",
        "remove MOVE KEPT",
    ),
    "moving-proxmox.sh": (
        "look MOVE 100..999999999",
        "begin MOVE 100..999999999 DRIVE STORAGE raw|qcow2 0..1000000000 SHA-1",
        "stop MOVE",
        "volumes NAME 100..999999999",
        "path VOLUME",
        "free MOVE 100..999999999 VOLUME",
        "unlink 100..999999999 VOLUME UNUSED SHA-1",
        "forget MOVE",
    ),
}
_LOOKS = {"facts", "health", "left", "ready", "room", "superblocks", "usage"}  # change nothing

_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_NAME = r"[A-Za-z][A-Za-z0-9_.-]{0,99}"
_DRIVE = r"(?:scsi|virtio|sata|ide|efidisk|tpmstate)[0-9]{1,2}"
_NUMBER = r"/[1-9][0-9]{2,8}"
_MOVE = r"k[0-9a-f]{12}"
_PATTERNS = {
    "TOKEN": r"[1-9][0-9]{0,14}",
    "FS": r"[a-z][a-z0-9_]{0,19}",
    "UUID": _UUID,
    "DEFINITIONS": rf"(?:dumpxml {_UUID}(?:; dumpxml {_UUID})*|pool-dumpxml {_UUID}(?:; pool-dumpxml {_UUID})*)",
    "PATH": r"/(?!.*[\x00-\x1f\x7f]).{0,4094}",
    "NAME": _NAME,
    "PLACE": rf"/storage(/{_NAME})?|/nodes/{_NAME}/storage|/cluster/(status|replication)|"
    rf"/nodes/localhost/qemu({_NUMBER}/(agent/get-fsinfo|status/current))?",
    "CONTENT": rf"/nodes/localhost/storage/{_NAME}/content",
    "MONITOR": rf"/nodes/localhost/qemu{_NUMBER}/monitor",
    "COMMAND": rf"info block|info block-jobs|block_job_cancel -f (drive|mirror)-{_DRIVE}",
    "DISK": r"[a-z]{2,8}[0-9]{0,3}",
    "DRIVE": _DRIVE,
    "MOVE": _MOVE,
    "VOLUME": rf"{_NAME}:(?!.*\.\.)[A-Za-z0-9_][A-Za-z0-9_.+/-]{{0,200}}",
    "UNUSED": r"unused[0-9]{1,3}",
    "SHA-1": r"[0-9a-f]{40}",
}
_RANGE = re.compile(r"([0-9]+)\.\.([0-9]+)", re.ASCII)
_SIGNS = re.compile(r"/[A-Za-z0-9_.+/-]{1,4000}", re.ASCII)  # of a path that shells and fio take as it is
_SCRIPT_NAME = re.compile(rf"kdb-remote(?::{_UUID})?")
_VERBS = re.compile(r"^([a-z][a-z0-9-]*(?: \| [a-z][a-z0-9-]*)*)\)(?: #|$)", re.MULTILINE)
_DISK_TAGS = {
    *("disk", "driver", "source", "target", "alias", "address", "boot", "serial", "wwn", "vendor", "product", "iotune"),
    *("blockio", "geometry", "backingStore", "seclabel", "label", "iothreads", "iothread", "queue", "metadata_cache"),
}

# What a job of fio may say: no option that runs a program or names a file, and each with its values.
_HEAD_OF_JOB = re.compile(r"\[[A-Za-z0-9_-]{1,80}\]")
_SIZE = r"[1-9][0-9]{0,15}[kKmMgGtT]?"
_FIO: Mapping[str, str] = {
    "ioengine": "psync|sync|libaio|io_uring",
    "rw": "read|write|rw|readwrite|randread|randwrite|randrw",
    "bs": "(?:[1-9][0-9]{0,6}|[1-9][0-9]{0,3}k)(?:,(?:[1-9][0-9]{0,6}|[1-9][0-9]{0,3}k)){0,2}",
    **dict.fromkeys(("size", "filesize", "fsync", "fdatasync"), rf"0|{_SIZE}"),
    **dict.fromkeys(("numjobs", "openfiles", "iodepth"), "[1-9][0-9]{0,3}"),
    "nrfiles": "[1-9][0-9]{0,5}",
    **dict.fromkeys(("runtime", "ramp_time"), "[0-9]{1,6}"),
    **dict.fromkeys(
        ("rwmixread", "rwmixwrite", "percentage_random", "buffer_compress_percentage"), "[0-9]|[1-9][0-9]|100"
    ),
    **dict.fromkeys(("time_based", "group_reporting", "create_only", "create_fsync", "direct", "randrepeat"), "0|1"),
    "file_service_type": "random|roundrobin|sequential",
    "fallocate": "none|posix|keep|truncate",
}


@dataclass(frozen=True)
class Script:
    """A script that was read. verbs : those that may be asked for"""

    digest: str
    verbs: Sequence[str] = ()


@dataclass(frozen=True)
class Allowed:
    """The list, checked. programs : names of groups; scripts : by name; trusts_server : nothing is refused"""

    pools: Sequence[str] = ()
    programs: Sequence[str] = ()
    scripts: Mapping[str, Script] = field(default_factory=dict)
    trusts_server: bool = False

    @classmethod
    def read(cls, path: Path) -> "Allowed":
        """Return the list of a file. Raises KdbError where it is not one."""
        try:
            sections = tomllib.loads(path.read_text(encoding="utf-8"))
            scripts = {name: Script(**about) for name, about in sections.pop("scripts", {}).items()}
            allowed = cls(**sections, scripts=scripts)
            lists = [("pools", allowed.pools, allowed.pools), ("programs", allowed.programs, PROGRAMS)]
            lists += [("scripts", [*scripts], SCRIPTS)]
            lists += [(f"verbs of {name}", script.verbs, verbs_of(name)) for name, script in scripts.items()]
            for place, names, known in lists:
                if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
                    raise KdbError(f"{path}: {place} is a list of texts.")
                if unknown := [name for name in names if name not in known]:
                    raise KdbError(f"{path}: {place}: there is no {unknown[0]}; there are {', '.join(known)}.")
            if type(allowed.trusts_server) is not bool:
                raise KdbError(f"{path}: trusts_server is true or false.")
        except TypeError:
            known = "pools, programs, trusts_server and scripts with digest and verbs"
            raise KdbError(f"{path}: allowed are {known}; print the list anew with --print-allow.") from None
        except (OSError, ValueError, AttributeError) as error:
            raise KdbError(f"{path} cannot be read: {error}") from None
        return allowed

    @property
    def changes_something(self) -> bool:
        """Tell whether KDB may do more than look."""
        verbs = {verb for script in self.scripts.values() for verb in script.verbs}
        moves = any(group.endswith("-moves") for group in self.programs)
        return self.trusts_server or moves or not verbs <= _LOOKS

    def name_of(self, digest: str) -> str:
        """Return the name of a script by its digest; "" where the list does not have it."""
        return next((name for name, script in self.scripts.items() if script.digest == digest), "")

    def against(self, command: Mapping[str, Any]) -> str:
        """Return what keeps a command of the server's from being done here; "" where it may be done."""
        if why := malformed(command):
            return why
        digest, words = command["script"], command["words"]
        if self.trusts_server:
            return ""
        if command["given"]:
            return "no command takes standard input here"
        if not digest:
            words = words[2:] if words[:3] == ["env", "LC_ALL=C", "virsh"] else words
            return self._against_lines([line for group in self.programs for line in PROGRAMS[group]], words)
        if not (name := self.name_of(digest)):
            return f"the script {digest} is not in the list"
        if not _SCRIPT_NAME.fullmatch(command["name"]):
            return f"{command['name'][:100]!r} is no name that KDB calls a script by"
        if words[0] not in self.scripts[name].verbs:
            return f"the verb {words[0][:100]} is not in the list"
        return self._against_lines([line for line in SCRIPTS[name] if line.split()[0] == words[0]], words)

    def _against_lines(self, lines: Sequence[str], words: Sequence[str]) -> str:
        """Return what is against a command by the one line that it is most like; "" where a line allows it."""
        reasons: dict[int, list[str]] = {}  # by how many words are right
        for line in lines:
            place, against = self._against_line(shlex.split(line), words)
            if not against:
                return ""
            reasons.setdefault(place, []).append(against)
        most = max(reasons, default=0)
        return reasons[most][0] if most and len(reasons[most]) == 1 else f"{' '.join(words)[:200]} is not in the list"

    def _against_line(self, kinds: Sequence[str], words: Sequence[str]) -> tuple[int, str]:
        """Return how many words are as the line has them, and what is against the next."""
        seen: dict[str, str] = {}
        repeated = kinds[-1].removesuffix("...") if kinds[-1].endswith("...") else ""
        kinds = kinds[:-1] if repeated else kinds
        for place, word in enumerate(words):
            kind = kinds[place] if place < len(kinds) else repeated
            if why := self._against_word(kind, word, seen):
                return place, f"{' '.join(words[:place])[-100:]}: {word[:200]!r} {why}"
            seen[kind] = word
        lacking = kinds[len(words) :]
        return len(words), f"{' '.join(words)[:200]} lacks {' '.join(lacking)}" if lacking else ""

    def _against_word(self, kind: str, word: str, seen: Mapping[str, str]) -> str:
        if not kind:
            return "is a word too many"
        if bounds := _RANGE.fullmatch(kind):
            least, most = map(int, bounds.groups())
            is_number = re.fullmatch("0|[1-9][0-9]{0,15}", word, re.ASCII) and least <= int(word) <= most
            return "" if is_number else f"is no number from {least} to {most}"
        if pattern := _PATTERNS.get(kind):
            return "" if re.fullmatch(pattern, word, re.ASCII) else f"is no {kind}"
        if check := _CHECKS.get(kind):
            return check(self, word, seen)
        return "" if word in kind.split("|") else f"is not {kind}"


def malformed(command: Mapping[str, Any]) -> str:
    """Return what keeps this from being a command at all."""
    texts, words = [command.get(key) for key in ("script", "name", "given")], command.get("words")
    if not all(isinstance(text, str) for text in texts) or not isinstance(words, list) or not words:
        return "there is no command"
    if not re.fullmatch("(?:[0-9a-f]{64})?", command["script"]):
        return "its script is no SHA-256"
    if len(words) > _MOST_WORDS or not all(isinstance(word, str) and len(word) <= _MOST_CHARACTERS for word in words):
        return f"more than {_MOST_WORDS} words, or one of more than {_MOST_CHARACTERS} characters"
    for key, most in (("seconds", MOST_SECONDS), ("most_bytes", MOST_BYTES)):
        if type(command.get(key)) is not int or not 0 < command[key] <= most:
            return f"{key} is no number from 1 to {most}"
    return ""


def verbs_of(script: str) -> list[str]:
    """Return the verbs of a script that have a form here."""
    return list(dict.fromkeys(line.split()[0] for line in SCRIPTS.get(script, ())))


# Kinds of words that need the list, or the words before them


def _text(script: str, allowed: Allowed, word: str) -> str:
    return "" if allowed.name_of(digest_of(word)) == script else f"is not {script} of the list"


def check_fio_job(text: str, pools: Sequence[str]) -> str:
    """Return what is against a job of fio; "" where it runs no program and has its files below one of the folders."""
    head, *lines = text.removesuffix("\n").split("\n")
    if not _HEAD_OF_JOB.fullmatch(head) or not lines or not lines[0].startswith("directory="):
        return "is no job of fio that begins with its name and its directory"
    for line in lines:
        name, sign, value = line.partition("=")
        if name == "directory" and (why := _below(value, pools)):
            return f"has files at {value[:200]!r}, which {why}"
        is_head = head == "[global]" and _HEAD_OF_JOB.fullmatch(line)  # whose directory is that of all
        is_option = name in _FIO and sign and re.fullmatch(_FIO[name], value, re.ASCII)
        if not (name == "directory" or is_head or is_option):
            return f"has the line {line[:80]!r}"
    return ""


def _below(path: str, pools: Sequence[str]) -> str:
    """Return what keeps a path from being one of these folders, or below one, without a link on its way."""
    if not _SIGNS.fullmatch(path) or os.path.normpath(path) != path:
        return "is no plain path"
    if not any(path == pool or path.startswith(f"{pool}/") for pool in pools):
        return "is in no pool of the list"
    return "" if os.path.realpath(path) == path else "is reached through a symbolic link"


def _new(allowed: Allowed, word: str, seen: Mapping[str, str]) -> str:
    """Judge an image that a move makes, or takes away again: the move's token stands in its name."""
    if not re.search(rf"\.{seen.get('MOVE', _MOVE)}(?:\.|$)", os.path.basename(word)):
        return "does not bear the move's token"
    return _below(word, allowed.pools)


def _kept(allowed: Allowed, word: str, seen: Mapping[str, str]) -> str:
    old, sign, token = word.rpartition(".kdb-kept-")
    if not sign or token != seen["MOVE"] or old != seen.get("OLD", old):
        return "is not what the move keeps"
    return _below(word, allowed.pools)


def _definition(xml: str, seen: Mapping[str, str], image: str) -> str:
    """Judge a disk's definition: it lies at the image, names no other file, device, host or secret, and is else as the
    host has it: a raw image that was called qcow2 would name files of its guest's choice."""
    try:
        root = ElementTree.fromstring("<none/>" if "<!" in xml else xml)
    except (ElementTree.ParseError, ValueError):
        return "is no XML"
    disk = seen["DISK"]
    source, target = [*root.iter("source")], [*root.iter("target")]
    if root.tag != "disk" or root.get("type") != "file" or root.get("device", "disk") != "disk":
        return "is no disk on a file"
    if len(source) != 1 or source[0].attrib.pop("file", "") != image:
        return f"does not lie at {image}"
    if len(target) != 1 or target[0].get("dev") != disk:
        return f"is not {disk}"
    for element in root.iter():
        if element.tag not in _DISK_TAGS or "/" in "".join([*element.attrib.values(), element.text or ""]):
            return f"has more than an image: {element.tag}"
    kept = kept_disk(seen["UUID"], disk)
    is_same = kept is not None and _canonical(root) == _canonical(kept)
    return "" if is_same else "differs from what libvirt keeps in more than the image"


def kept_disk(machine: str, disk: str) -> ElementTree.Element | None:
    """Return a disk as libvirt keeps its definition, without the path of its image; None where there is none."""
    command = [*_VIRSH.split(), "dumpxml", machine, "--inactive"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    for element in ElementTree.fromstring(done.stdout).iterfind("devices/disk") if not done.returncode else ():
        target, source = element.find("target"), element.find("source")
        if target is not None and target.get("dev") == disk and source is not None:
            source.attrib.pop("file", None)
            return element
    return None


def _canonical(element: ElementTree.Element) -> str:
    return ElementTree.canonicalize(ElementTree.tostring(element, encoding="unicode"), strip_text=True)


def _image(_: Allowed, word: str, __: Mapping[str, str]) -> str:
    """Judge what is looked into for file systems: opening another kind of file may do something."""
    if not re.fullmatch(_PATTERNS["PATH"], word):
        return "is no PATH"
    real = os.path.realpath(word)
    try:
        mode = os.stat(real).st_mode
    except OSError as error:
        return f"is not there: {error.strerror}"
    is_image = stat.S_ISBLK(mode) or (stat.S_ISREG(mode) and not real.startswith(("/proc/", "/sys/", "/dev/")))
    return "" if is_image else "is no image and no disk"


_CHECKS: Mapping[str, Callable[[Allowed, str, Mapping[str, str]], str]] = {
    "POOL": lambda allowed, word, _: "" if word in allowed.pools else "is in no pool of the list",
    "STORAGE": lambda allowed, word, _: "" if word in allowed.pools else "is no pool of the list",
    "AREA": lambda _, word, seen: "" if word == f"{seen['POOL']}/.kdb" else "is not the area of the pool",
    "FIO": lambda allowed, word, _: _text("fio.sh", allowed, word),
    "BARRIER": lambda allowed, word, _: _text("barrier.sh", allowed, word),
    "JOB": lambda _, word, seen: check_fio_job(word, [f"{seen['POOL']}/.kdb/fs"]),
    "OLD": lambda allowed, word, _: _below(word, allowed.pools),
    "NEW": _new,
    "KEPT": _kept,
    "OLD-XML": lambda _, word, seen: _definition(word, seen, seen["OLD"]),
    "NEW-XML": lambda _, word, seen: _definition(word, seen, seen["NEW"]),
    "IMAGE": _image,
}

_HEAD = """\
# What this host does for KDB; whatever is not here is refused. Read it, and take out what you do not want.

# The folders, and the storages of Proxmox VE, that KDB works in.
pools = ["/srv/kdb"]

# Groups of commands, which are listed below. Moves are libvirt-moves and proxmox-moves.
programs = ["host", "libvirt", "proxmox"]
"""


def listed(scripts: Sequence[Mapping[str, Any]]) -> str:
    """Return a list to begin with: what checks, observation and native campaigns by fio need of these scripts."""
    parts = [_HEAD, *(f"#   {group}: {line}\n" for group, lines in PROGRAMS.items() for line in lines)]
    for name, text in texts(scripts).items():
        there = {verb for verbs in _VERBS.findall(text) for verb in verbs.split(" | ")}
        verbs = ", ".join(f'"{verb}"' for verb in verbs_of(name) if verb in there)
        sign = "# " * name.startswith("moving-")
        parts.append(f'\n{sign}[scripts."{name}"]\n{sign}digest = "{digest_of(text)}"\n{sign}verbs = [{verbs}]\n')
        parts += [f"#   {line}\n" for line in SCRIPTS[name]]
    return "".join(parts)


def texts(scripts: Any) -> dict[str, str]:
    """Return the texts of the server's scripts, by the names that are known here."""
    return {str(script["name"]): str(script["text"]) for script in scripts if script["name"] in SCRIPTS}


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
