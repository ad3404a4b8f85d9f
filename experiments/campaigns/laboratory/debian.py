"""A small Debian in a folder, to make things in that run on other machines. Needs root and debootstrap."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

SUITES = {"12": "bookworm", "13": "trixie"}  # release to its name
RELEASE = "12"  # unless another is asked for
MIRROR = "http://deb.debian.org/debian"


class BuildError(Exception):
    """It cannot be built; the text says why."""


def check_tools(programs: Iterable[str], packages: str) -> None:
    """Raises BuildError where this is not root or a program is missing; `packages` are Debian's that have them."""
    if os.geteuid() != 0:
        raise BuildError("debootstrap needs root.")
    if missing := [program for program in programs if shutil.which(program) is None]:
        raise BuildError(f"not installed: {', '.join(missing)}; on Debian: {packages}")


def bootstrap(root: Path, packages: Iterable[str], mirror: str, release: str = RELEASE) -> None:
    run("debootstrap", "--variant=minbase", f"--include={','.join(packages)}", SUITES[release], root, mirror)


def distribution(root: Path) -> str:
    return run("chroot", root, "sh", "-c", ". /etc/os-release && echo $PRETTY_NAME").strip()


def versions(root: Path, packages: Iterable[str]) -> dict[str, str]:
    lines = run("chroot", root, "dpkg-query", "-W", "-f", "${Package} ${Version}\n", *packages).splitlines()
    return dict(line.split(" ", 1) for line in lines)


def run(*command: str | Path) -> str:
    """What a program prints. Raises BuildError where it fails."""
    done = subprocess.run(  # noqa: S603 - names of ours and paths of the caller
        [str(word) for word in command], capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL
    )
    if done.returncode:
        raise BuildError(f"{command[0]} failed: {(done.stderr or done.stdout).strip()[-1500:]}")
    return done.stdout


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
