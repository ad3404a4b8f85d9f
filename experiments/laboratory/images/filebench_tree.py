"""Filebench as build_filebench leaves it, and its way into a pool of a host.

    manifest.json                    source, compiler, flags, self-test, and the digest of every other file
    bin/filebench
    share/filebench/cvars/*.so       1.5 loads its random variables from here
    share/filebench/workloads/*.f

The folder that Filebench loads from is compiled in. It is filled with slashes, which mean nothing inside a path, to
PREFIX_LENGTH characters, so that any folder that is not longer takes its place byte for byte: the tree runs below
/opt/kdb as it was built, and in a pool with nothing but that path exchanged.
"""

import hashlib
import io
import json
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.laboratory.transport import remote
from experiments.laboratory.transport.ssh import Connection

from . import debian

PREFIX_LENGTH = 160
FOLDER = ".kdb-filebench"  # in a pool; remote.sh has the same
MANIFEST = "manifest.json"
_SUMS = "SHA256SUMS"
_INSTALL_SECONDS = 120


class TreeError(Exception):
    """A folder is not what build_filebench made, or cannot go where it should; the text says why."""


@dataclass(frozen=True)
class Tree:
    """A checked tree: `files` by their path in it, without the manifest's own."""

    manifest: dict[str, Any]
    files: dict[str, bytes]

    @property
    def version(self) -> str:
        return str(self.manifest["filebench"])


def padded(folder: str) -> str:
    """Return the folder's path in PREFIX_LENGTH characters. Raises TreeError where it is longer."""
    above, _, name = folder.rpartition("/")
    if len(folder) > PREFIX_LENGTH:
        raise TreeError(
            f"{folder} has {len(folder)} characters; Filebench can be put where {PREFIX_LENGTH} are enough."
        )
    return f"{above}{'/' * (PREFIX_LENGTH - len(above) - len(name))}{name}"


def built_prefix(version: str) -> str:
    return f"/opt/kdb/filebench-{version}"


def digests(folder: Path) -> dict[str, str]:
    """Return each file's digest, keyed by its path relative to the folder."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): debian.sha256(path) for path in paths}


def read(folder: Path) -> Tree:
    """Return a folder's tree. Raises TreeError where a file is missing, changed or more than the manifest names."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text())
        expected = dict(manifest["sha256"])
        manifest["filebench"], manifest["prefix"]
    except (OSError, ValueError, TypeError, KeyError):
        raise TreeError(f"{folder} has no {MANIFEST} of manage.py build_filebench.") from None
    actual = digests(folder)
    actual.pop(MANIFEST)
    if changed := sorted(name for name in expected.keys() | actual.keys() if expected.get(name) != actual.get(name)):
        raise TreeError(f"{folder} is not as it was built: {', '.join(changed[:5])}. Build it again.")
    return Tree(manifest, {name: (folder / name).read_bytes() for name in actual})


def relocated(tree: Tree, folder: str) -> dict[str, bytes]:
    """Return the files as they run in `folder`, the manifest among them. Raises TreeError."""
    old, new = str(tree.manifest["prefix"]).encode(), padded(folder).encode()
    if len(old) != PREFIX_LENGTH:
        raise TreeError("The tree was built by another version of KDB. Build it again.")
    files = {name: data.replace(old, new) for name, data in tree.files.items()}
    return {**files, MANIFEST: (json.dumps(tree.manifest, indent=1) + "\n").encode()}


def install(machine: Connection, pool: str, tree: Tree) -> bool:
    """Put Filebench into a pool in place of what was there; False where the same is there already, undamaged.

    Raises TreeError, remote.Refused, and what ssh raises: what was there before is then still there.
    """
    files = relocated(tree, f"{pool}/{FOLDER}")
    sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in sorted(files.items())).encode()
    digest = hashlib.sha256(sums).hexdigest()
    if dict(remote.facts(remote.call(machine, "filebench", pool))).get("digest") == digest:
        return False
    packed = _packed({**files, _SUMS: sums})
    remote.call(machine, "put-filebench", pool, digest, given=packed, timeout=_INSTALL_SECONDS)
    return True


def remove(machine: Connection, pool: str) -> bool:
    """Take Filebench, and what a broken installation left, out of a pool; False where there was nothing."""
    return "removed" in dict(remote.facts(remote.call(machine, "remove-filebench", pool)))


def _packed(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(data), 0o755 if name.startswith("bin/") else 0o644
            archive.addfile(member, io.BytesIO(data))
    return packed.getvalue()
