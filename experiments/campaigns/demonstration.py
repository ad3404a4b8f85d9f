"""This very machine as a host: an sshd of the user's own on the loopback, with keys of its own, for a demonstration.

With root it makes file systems in image files, as any campaign does; without, it measures a folder as it is.
"""

import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User

from experiments.laboratory.transport import ssh
from experiments.models import Campaign, Host, StoragePool

from . import hosts, replication

NAME, PAPER = "demo", "p3"
WORKLOADS = ("varmail", "fileserver")
SCALE_PERCENT = 2
DISK_MIB = 1024
START_SECONDS = 10
_ADDRESS = "127.0.0.1"
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_PROGRAMS = {"ssh": "openssh-client", "ssh-keygen": "openssh-client", "sshd": "openssh-server", "fio": "fio"}
_PROGRAMS |= {"setpriv": "util-linux", "setsid": "util-linux", "timeout": "coreutils"}
_ROOT_PROGRAMS = {"losetup": "mount", "mkfs.ext4": "e2fsprogs", "mkfs.xfs": "xfsprogs", "unshare": "util-linux"}
_CONFIG = """ListenAddress 127.0.0.1:{port}
HostKey {folder}/host_key
PidFile none
AuthorizedKeysFile {folder}/login_key.pub
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
AllowUsers {login}
"""


class CannotShow(Exception):  # noqa: N818
    """This machine cannot be used as it is; the text says what to do."""


def is_root() -> bool:
    return os.geteuid() == 0


def missing_packages() -> list[str]:
    """Return the Debian packages that a demonstration needs and this machine lacks."""
    needed = _PROGRAMS | (_ROOT_PROGRAMS if is_root() else {})
    return sorted({package for name, package in needed.items() if shutil.which(name, path=_PATH) is None})


def default_pool() -> Path:
    """Return a folder that campaigns may write in: root's among those of KDB, a user's in his home."""
    return Path("/var/lib/kdb/demo") if is_root() else Path.home() / "kdb-demo"


@contextmanager
def this_machine(pool: Path) -> Iterator[Host]:
    """Give this machine, registered and checked as the host `demo`, for as long as its sshd runs.

    Raises CannotShow, ValidationError where the folder is no place for a pool, and HostError.
    """
    if packages := missing_packages():
        raise CannotShow(f"This machine lacks programs. On Debian and Ubuntu: apt-get install {' '.join(packages)}")
    StoragePool(path=str(pool), kind=StoragePool.Kind.IMAGE).clean_fields(exclude=["host"])
    made = not pool.exists()
    try:
        pool.mkdir(parents=True, exist_ok=True)
        pool = pool.resolve()
    except OSError as error:
        raise CannotShow(f"{pool} cannot be made: {error.strerror}. Name another folder with --folder.") from error
    try:
        with TemporaryDirectory(prefix="kdb-demo-") as name, _sshd(Path(name)) as port:
            yield _host(Path(name), port, pool)
    finally:
        # Nobody has the key any more; and it must not stand in the way of who registers this machine for good.
        Host.objects.filter(slug=NAME, address=_ADDRESS).update(host_key="", offered_key="")
        (settings.KDB_KEYS_DIR / NAME).unlink(missing_ok=True)
        if made and not any(pool.iterdir()):
            pool.rmdir()


@contextmanager
def _sshd(folder: Path) -> Iterator[int]:
    """Give the port of an sshd that lets this user in with login_key of `folder`; it ends with this process."""
    for name in ("host_key", "login_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)  # noqa: S603, S607
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (folder / "sshd_config").write_text(_CONFIG.format(port=port, folder=folder, login=getpass.getuser()))
    if is_root():
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # as the distribution's own service makes it
    program = shutil.which("sshd", path=_PATH)
    assert program is not None  # missing_packages
    log = folder / "sshd.log"
    # With mounts of its own: whatever else starts meanwhile takes none of them along, and none is left when it dies.
    apart = ["unshare", "--mount", "--propagation", "slave", "--"] if is_root() else []
    command = ["setpriv", "--pdeathsig", "TERM", "--", *apart, program, "-D", "-f", str(folder / "sshd_config")]
    command += ["-E", str(log)]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, env={"PATH": _PATH}) as process:  # noqa: S603
        try:
            _wait(process, port, log)
            yield port
        finally:
            process.terminate()


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        if process.poll() is not None or time.monotonic() > deadline:
            logged = log.read_text(errors="replace").strip() if log.exists() else ""
            raise CannotShow(f"sshd does not start: {logged[-500:] or 'it says nothing'}")
        time.sleep(0.05)


def _host(folder: Path, port: int, pool: Path) -> Host:
    """Return the host's row, made new: keys and port change each time, so facts are found out anew."""
    settings.KDB_KEYS_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
    key = settings.KDB_KEYS_DIR / NAME
    key.unlink(missing_ok=True)
    key.touch(mode=0o600)
    key.write_bytes((folder / "login_key").read_bytes())
    kind = StoragePool.Kind.IMAGE if is_root() else StoragePool.Kind.EXISTING
    pools = [StoragePool(path=str(pool), kind=kind)]
    values = {"address": _ADDRESS, "port": port, "login": getpass.getuser(), "key_name": NAME}
    host = Host.objects.filter(slug=NAME).first()
    if host is None:
        host = Host(slug=NAME, name="This machine (demonstration)", drivers=[Host.Driver.NATIVE], **values)
        hosts.register(host, pools, user=None, any_key=True)
    elif host.address != _ADDRESS:
        raise CannotShow(f"A host {NAME} is registered at {host.address}, which is not this machine: rename it first.")
    else:
        kept = list(host.pools.exclude(path=str(pool)))  # of earlier demonstrations, whose campaigns name them
        for name, value in values.items():
            setattr(host, name, value)
        hosts.edit(host, [*values], [*pools, *kept], user=None, any_key=True)
    _finish(host)
    offered = " ".join((folder / "host_key.pub").read_text().split()[:2])
    if host.offered_key != offered:
        raise CannotShow("Another sshd than the one just started answers on the loopback.")
    hosts.accept_key(host, ssh.fingerprint(offered), any_key=True)
    _finish(host)
    return host


def _finish(host: Host) -> None:
    """Raise HostError where its latest contact or check failed."""
    if error := hosts.wait_for_job(host):
        raise hosts.HostError(error)


def plan(
    host: Host, pool: Path, *, seconds: int, repetitions: int, owner: User | None
) -> tuple[Campaign, replication.Replication]:
    """Store the smallest version of PAPER and return it. Raises CampaignError."""
    case_study, row = replication.published(PAPER), host.pools.get(path=str(pool.resolve()))
    changes: dict[str, Any] = {"run_seconds": seconds, "repetitions": repetitions, "workloads": [*WORKLOADS]}
    changes |= {"engine": Campaign.Engine.FIO, "personality": Campaign.Personality.KDB}
    changes |= {"scale_percent": SCALE_PERCENT, "disk_mib": DISK_MIB}
    campaigns, outline = replication.prepare(host, case_study, row, **changes)
    replication.create(campaigns, outline, case_study.slug, user=owner)
    return campaigns[0], outline
