"""A small Debian, made by mmdebstrap, to make things in that run on other machines."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import IO

SUITES = {"12": "bookworm", "13": "trixie"}  # release to its name
RELEASE = "12"  # unless another is asked for
MIRROR = "http://deb.debian.org/debian"


class BuildError(Exception):
    """A guest image, or Filebench for it, cannot be built; the text says why."""


def check_root() -> None:
    """Raise BuildError where this is not root."""
    if os.geteuid() != 0:
        raise BuildError("This needs root: it makes a Debian in a folder, and runs programs in it.")


def check_tools(programs: Iterable[str], packages: str) -> None:
    """Raise BuildError where a program is missing; `packages` are Debian's that have them."""
    if missing := [program for program in programs if shutil.which(program) is None]:
        raise BuildError(f"not installed: {', '.join(missing)}; on Debian: {packages}")


def bootstrap(
    target: Path, packages: Iterable[str], mirror: str, release: str = RELEASE, hooks: Iterable[str] = ()
) -> None:
    """Make a Debian with these packages and what they need: a folder, for root only, or an archive, "*.tar".

    hooks : of mmdebstrap, done in this order when it is complete
    """
    run(
        *("mmdebstrap", "--mode=root" if os.geteuid() == 0 else "--mode=unshare", "--variant=minbase"),
        # /bin is a link from the beginning, which a package with all of Perl would make of it otherwise.
        *("--hook-dir=/usr/share/mmdebstrap/hooks/maybe-merged-usr", f"--include={','.join(packages)},usr-is-merged"),
        *(f"--customize-hook={hook}" for hook in hooks),
        *(SUITES[release], target, mirror),
    )


def distribution(root: Path) -> str:
    return run("chroot", root, "sh", "-c", ". /etc/os-release && echo $PRETTY_NAME").strip()


def versions(root: Path, packages: Iterable[str]) -> dict[str, str]:
    lines = run("chroot", root, "dpkg-query", "-W", "-f", "${Package} ${Version}\n", *packages).splitlines()
    return dict(line.split(" ", 1) for line in lines)


def run(*command: str | Path, given: IO[bytes] | None = None) -> str:
    """Run a program and return what it prints; `given` is its standard input. Raises BuildError where it fails."""
    done = subprocess.run(  # noqa: S603 - names of ours and paths of the caller
        [str(word) for word in command],
        capture_output=True,
        text=True,
        errors="replace",
        stdin=given or subprocess.DEVNULL,
    )
    if done.returncode:
        raise BuildError(f"{command[0]} failed: {(done.stderr or done.stdout).strip()[-1500:]}")
    return done.stdout


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
