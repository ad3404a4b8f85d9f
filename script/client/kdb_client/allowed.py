"""The list of what a host does for KDB, written by the host's owner as TOML. What it does not have is refused.

    pools = ["/srv/kdb"]                      # words may name paths in these folders only
    programs = ["uname -r", "realpath *"]     # how a command may begin: ? is any word; with a star, any path may follow
    benchmarks = ["fio --version"]            # how a benchmark may begin that a script starts
    [scripts]
    "SHA-256" = ["facts", "superblocks *"]    # scripts by their digests, and their verbs

A script is run, and a text of commands is taken, only where its digest is here, so nothing that was not read runs.
"""

import hashlib
import re
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import KdbError

_PATH = re.compile(r"(?<![\w.<$)}-])/[\w.][\w.+/-]*")
_VERBS = re.compile(r"^([a-z][a-z-]*(?: \| [a-z][a-z-]*)*)\)(?: #|$)", re.MULTILINE)
# Verbs of remote.sh that no runner is asked for: of virtual machines, and of programs that come from the server; and
# `requests`, which the owner writes in where observation is to sample.
_LEFT_OUT = {
    "format-disk",
    "give",
    "make-overlay",
    "note-domain",
    "note-proxmox",
    "put-filebench",
    "requests",
    "start-xen",
}
_PLAIN = re.compile(r"[\w.:-]+")
# Verbs of remote.sh that start a program: how many words come before it.
_STARTS = {"start": 7, "arm": 4}
# The lines of a job of fio that KDB writes: none of them runs a program, and its paths are looked at besides.
_FIO_OPTIONS = "rw|rwmixread|bs|numjobs|nrfiles|filesize|openfiles|file_service_type|fallocate|time_based|runtime|fsync"
_FIO_LINE = re.compile(
    rf"\[\w+\]|ioengine=psync|directory=/\S+|create_only=1|group_reporting=1|(?:{_FIO_OPTIONS})=[\w,]+"
)

_HEAD = """\
# What this host does for KDB; whatever is not here is refused. Read it, and take out what you do not want.

# The only folders that words may name.
pools = ["/srv/kdb"]

# How a command may begin. A question mark is any word; with a star at the end, any path may follow.
programs = [
  # Observation
  "findmnt --json", "lsblk --json", "realpath --zero --canonicalize-missing -- *",
  # Observation, libvirt
  "virsh -c qemu:///system --quiet list", "virsh -c qemu:///system --quiet dumpxml",
  "virsh -c qemu:///system --quiet domstats", "virsh -c qemu:///system --quiet pool-list",
  "virsh -c qemu:///system --quiet pool-dumpxml",
  "virsh -c qemu:///system --quiet qemu-agent-command ? '{\\"execute\\": \\"guest-get-fsinfo\\"}'",
  # Observation, Proxmox VE
  "pvesh get *", "grep -rH . /etc/pve/qemu-server/",
  # Campaigns
  "cat /proc/uptime", "uname -r",
  # Moves: without the signs in front, here and below. The folders of the images must be among the pools.
  # "virsh -c qemu:///system --quiet blockcopy", "qemu-img info --force-share",  # libvirt
  # "pvesh create *",  # Proxmox VE
]

# How a benchmark may begin.
benchmarks = ["fio --version"]

# Scripts by their digests (kdb runner --scripts FOLDER writes them down), with their verbs.
[scripts]
"""


@dataclass(frozen=True)
class Allowed:
    """The list, checked. scripts : digest to verbs"""

    pools: Sequence[str]
    programs: Sequence[str]
    benchmarks: Sequence[str]
    scripts: Mapping[str, Sequence[str]]

    @classmethod
    def read(cls, path: Path) -> "Allowed":
        """Return the list of a file. Raises KdbError where it is not one."""
        try:
            sections = tomllib.loads(path.read_text(encoding="utf-8"))
            scripts = sections.pop("scripts", {})
            lists = {name: sections.pop(name, []) for name in ("pools", "programs", "benchmarks")}
            if sections:
                raise KdbError(
                    f"{path}: there is no {', '.join(sections)}; there are pools, programs, benchmarks, scripts."
                )
            for name, texts in {**lists, **scripts}.items():
                if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
                    raise KdbError(f"{path}: {name} is a list of texts.")
        except (OSError, ValueError, AttributeError) as error:
            raise KdbError(f"{path} cannot be read: {error}") from None
        return cls(**lists, scripts=scripts)

    @property
    def changes_something(self) -> bool:
        """Tell whether a script may do more than look."""
        looks = {"facts", "health", "left", "superblocks", "modules", "usage", "about", "look", "volumes", "path"}
        return any(verb.removesuffix(" *") not in looks for verbs in self.scripts.values() for verb in verbs)

    def against(self, script: str, words: Sequence[str]) -> str:
        """Return what keeps a command from being done here; "" where it may be done.

        script : digest of the script that takes the words; empty: a program does
        """
        if not words:
            return "there is no command"
        if not script:
            return next(filter(None, (_against_all(self.programs, part, self.pools) for part in _parts(words))), "")
        if script not in self.scripts:
            return f"the script {script} is not in the list"
        verb, *rest = words
        if f"{verb} *" in self.scripts[script]:
            return ""
        if verb not in self.scripts[script]:
            return f"the verb {verb} is not in the list"
        if verb == "put":
            return self._against_put(rest[2:]) or _against_paths(rest[:2], self.pools)
        if started := words[_STARTS.get(verb, len(words)) :]:
            if started[:2] == ["sh", "-c"] and len(started) > 2 and self._is_read(started[2]):
                started = started[3:]
            elif why := _against_all(self.benchmarks, started, self.pools):
                return f"{verb}: {why}"
            return _against_paths([*words[: _STARTS[verb]], *started], self.pools)
        return _against_paths(rest, self.pools)

    def _against_put(self, names_and_texts: Sequence[str]) -> str:
        """Return what speaks against a run's texts: commands must have been read, and jobs of fio name no program."""
        for name, text in zip(names_and_texts[::2], names_and_texts[1::2], strict=False):
            if self._is_read(text):
                continue
            if not name.endswith(".fio"):
                return f"put: the text of {name} is not in the list of scripts"
            for line in text.splitlines():
                if not _FIO_LINE.fullmatch(line):
                    return f"put: {name} has the line {line[:80]}"
            if why := _against_paths([text], self.pools):
                return f"put: {name}: {why}"
        return ""

    def _is_read(self, text: str) -> bool:
        return hashlib.sha256(text.encode()).hexdigest() in self.scripts


def _parts(words: Sequence[str]) -> list[list[str]]:
    """Return the commands in a command: virsh takes several in one word."""
    words = [*words[2:]] if [*words[:2]] == ["env", "LC_ALL=C"] else [*words]
    head = ["virsh", "-c", "qemu:///system", "--quiet"]
    if words[:4] != head or len(words) != 5:
        return [words]
    parts = [part.split() for part in re.split("[;\n]", words[4])]
    if not all(_PLAIN.fullmatch(word) for part in parts for word in part):
        return [words]  # which no rule begins like
    return [[*head, *part] for part in parts]


def _against_all(rules: Sequence[str], words: Sequence[str], pools: Sequence[str]) -> str:
    for rule in rules:
        begins = shlex.split(rule.removesuffix(" *"))
        if len(words) >= len(begins) and all(a in ("?", b) for a, b in zip(begins, words, strict=False)):
            return "" if rule.endswith(" *") else _against_paths(words[len(begins) :], pools)
    return f"{' '.join(words)[:200]} is not in the list"


def _against_paths(words: Sequence[str], pools: Sequence[str]) -> str:
    """Return the first path in the words that lies in no pool, as a sentence."""
    for word in words:
        if re.search(r"(^|[/=:])\.\.(/|$)", word):
            return f"{word[:200]} climbs"
        for path in _PATH.findall(word):
            if not any(path == pool or path.startswith(f"{pool.rstrip('/')}/") for pool in pools):
                return f"{path[:200]} is in no pool of the list"
    return ""


def listed(scripts: Sequence[Mapping[str, Any]]) -> str:
    """Return a list to begin with: what checks, observation and native campaigns by fio need of these scripts."""
    lines = []
    for script in scripts:
        verbs = [verb for verbs in _VERBS.findall(script["text"]) for verb in verbs.split(" | ")]
        texts = ", ".join(f'"{verb}{" *" * (verb == "superblocks")}"' for verb in verbs if verb not in _LEFT_OUT)
        sign = "# " * script["about"].startswith("moves")
        lines.append(f'# {script["name"]}: {script["about"]}\n{sign}"{script["digest"]}" = [{texts}]\n')
    return _HEAD + "".join(lines)
