"""Builds Filebench from the source of a release that an operator brings, in a Debian of its own.

The source is taken where it is, to the last byte, that of the release's tag. Compiler and autotools are Debian's;
they run without network, and without the mounts, processes and semaphores of this machine.
"""

import hashlib
import json
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from experiments import readers
from experiments.laboratory.benchmarks import engines

from . import debian, filebench_tree
from .debian import BuildError

UPSTREAM = "https://github.com/filebench/filebench"
# The digest (_content) of the files of each release's tag.
RELEASES = {
    "1.5-alpha3": "744af811efec76df2a84169901fd477933174a9fe73f3d8b6fe3134afbd58160",
    "1.4.9.1": "1ebfdff47d65d2b9995b9c818d4fcab54a2c631797e59c447737b1c395e63783",
}
PACKAGES = ("gcc", "libc6-dev", "make", "autoconf", "automake", "libtool", "bison", "flex")
FLAGS = "-O2"
_TEST_PERCENT = 5  # of a workload's files and threads

_BUILD = """
set -eu
cd /source
autoreconf --force --install
./configure --prefix="$1" --disable-static CFLAGS="$2"
make
make install-strip
"""


def build(
    source: Path,
    version: str,
    out: Path,
    *,
    mirror: str = debian.MIRROR,
    tell: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Build the tree of filebench_tree in `out` and return its manifest.

    source : a folder or a tarball of the release
    Raises BuildError; `out` then holds what it held before.
    """
    debian.check_root()
    debian.check_tools(("mmdebstrap", "unshare", "chroot"), "mmdebstrap util-linux coreutils")
    if out.exists() and any(out.iterdir()) and not (out / filebench_tree.MANIFEST).is_file():
        raise BuildError(f"{out} has other things in it: name a new folder.")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".kdb-filebench-", dir=out.parent) as name:
        work = Path(name)
        _copy_source(source, work / "source")
        _check_release(work / "source", version)
        root = work / "root"
        tell(f"Debian {debian.SUITES[debian.RELEASE]}: {len(PACKAGES)} packages and what they need")
        debian.bootstrap(root, PACKAGES, mirror)
        (work / "source").rename(root / "source")
        tell(f"building Filebench {version}")
        plain = filebench_tree.built_prefix(version)
        prefix = filebench_tree.padded(plain)
        _inside(root, "sh", "-c", _BUILD, "kdb-build", prefix, FLAGS)
        _copy_tree(root / plain.lstrip("/"), work / "tree")
        tell("one second of each workload")
        results = {workload: _tried(root, version, plain, workload) for workload in engines.WORKLOADS}
        manifest = {
            "format": 1,
            "filebench": version,
            "prefix": prefix,
            "source": {
                "sha256": RELEASES[version],
                "archive": source.name if source.is_file() else "",
                "archive_sha256": debian.sha256(source) if source.is_file() else "",
            },
            "machine": debian.run("chroot", root, "uname", "-m").strip(),
            "distribution": debian.distribution(root),
            "compiler": debian.run("chroot", root, "gcc", "--version").splitlines()[0],
            "flags": FLAGS,
            "packages": debian.versions(root, PACKAGES),
            "least_glibc": _least_glibc(work / "tree"),
            "ops_per_s": results,
            "sha256": filebench_tree.digests(work / "tree"),
        }
        (work / "tree" / filebench_tree.MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")
        if out.exists():
            shutil.rmtree(out)
        (work / "tree").rename(out)
    return manifest


def _copy_source(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        return
    unpacked = target.with_name("unpacked")
    try:
        with tarfile.open(source) as archive:
            archive.extractall(unpacked, filter="data")
    except (OSError, tarfile.TarError) as error:
        raise BuildError(f"{source} is no folder and cannot be unpacked: {error}") from error
    inside = list(unpacked.iterdir())
    (inside[0] if len(inside) == 1 and inside[0].is_dir() else unpacked).rename(target)


def _check_release(source: Path, version: str) -> None:
    if (digest := _content(source)) != RELEASES[version]:
        raise BuildError(
            f"This is not the source of Filebench {version} as it was released: its files have the digest {digest}, "
            f"the release's {RELEASES[version]}. Take {UPSTREAM}/archive/refs/tags/{version}.tar.gz, or a clone with "
            "that tag checked out and nothing built in it."
        )


def _content(folder: Path) -> str:
    lines = [f"{digest}  {name}\n" for name, digest in filebench_tree.digests(folder).items()]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _copy_tree(installed: Path, tree: Path) -> None:
    """Copy the installed files that are needed to run: no archives, no libtool notes, no links."""
    wanted = ("bin/filebench", "share/filebench/cvars/*.so", "share/filebench/workloads/*.f")
    for path in (path for pattern in wanted for path in installed.glob(pattern)):
        target = tree / path.relative_to(installed)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)


def _tried(root: Path, version: str, prefix: str, workload: str) -> float:
    """Return operations per second of one second of KDB's own text. Raises BuildError where that is no result."""
    area = root / "try"
    (area / "fs").mkdir(parents=True)
    load = engines.load("filebench", version, workload, "/try", "/try/fs", 1, _TEST_PERCENT)
    for name, text in load.files.items():
        (area / name).write_text(text)
    printed = _inside(root, "env", f"PATH={prefix}/bin:/usr/bin:/bin", *load.command)
    shutil.rmtree(area)
    reading = readers.read(printed.encode())
    if reading.refused or len(reading.runs) != 1 or not reading.runs[0].ops_per_s:
        why = "; ".join(refusal.reason for refusal in reading.refused) or printed.strip()[-500:]
        raise BuildError(f"The built Filebench does not run {workload}: {why}")
    return reading.runs[0].ops_per_s


def _inside(root: Path, *command: str) -> str:
    """Run a program in the Debian alone and return what it prints. Raises BuildError where it fails."""
    alone = ("unshare", "--mount", "--pid", "--ipc", "--net", "--fork", "--kill-child", f"--mount-proc={root}/proc")
    plain = ("env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "HOME=/", "chroot", str(root))
    done = subprocess.run(  # noqa: S603 - texts of ours
        [*alone, *plain, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        stdin=subprocess.DEVNULL,
    )
    if done.returncode:
        raise BuildError(f"{command[0]} failed: {done.stdout.strip()[-1500:]}")
    return done.stdout


def _least_glibc(tree: Path) -> str:
    """Return the version of the oldest C library that has everything the programs ask for."""
    needed = {
        tuple(map(int, version.split(b".")))
        for path in tree.rglob("*")
        if path.is_file()
        for version in re.findall(rb"GLIBC_(\d+\.\d+)", path.read_bytes())
    }
    return ".".join(map(str, max(needed)))
