"""A bound on the memory of processes together, as the kernel keeps it for containers: a cgroup, of either version."""

import os
import subprocess
import time
from contextlib import suppress
from pathlib import Path

_FIRST, _SECOND = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")
_TO_GROUP = 'echo $$ >"$0" && exec "$@"'


class Bound:
    """A cgroup of so many MiB, until `end`. Raises OSError where this machine allows none."""

    def __init__(self, mib: int) -> None:
        self.is_first = (_FIRST / "cgroup.procs").exists()
        self.folder = (_FIRST if self.is_first else _SECOND) / f"kdb-{os.getpid()}"
        if not self.is_first:
            (_SECOND / "cgroup.subtree_control").write_text("+memory")
        self.folder.mkdir()
        (self.folder / ("memory.limit_in_bytes" if self.is_first else "memory.max")).write_text(f"{mib}M")

    def around(self, command: list[str], user: str | None) -> list[str]:
        """Return the command that begins in the group, and then is this one by that user."""
        as_user = ["setpriv", "--reuid", user, "--regid", user, "--clear-groups"] if user else []
        return ["sh", "-c", _TO_GROUP, str(self.folder / "cgroup.procs"), *as_user, *command]

    def held_mib(self) -> float:
        """Return what cannot be given back: memory of processes, shared memory, the kernel's for them."""
        counted = dict(line.split() for line in (self.folder / "memory.stat").read_text().splitlines())
        names = ("total_rss", "total_shmem") if self.is_first else ("anon", "shmem", "kernel")
        held = sum(int(counted.get(name, 0)) for name in names)
        if self.is_first:
            held += int((self.folder / "memory.kmem.usage_in_bytes").read_text())
        return held / 2**20

    def killed(self) -> int:
        """Return how many processes the kernel killed for want of memory."""
        events = (self.folder / ("memory.oom_control" if self.is_first else "memory.events")).read_text()
        return int(dict(line.split() for line in events.splitlines())["oom_kill"])

    def end(self) -> None:
        """Take it away, once its processes have ended."""
        for _ in range(100):
            with suppress(OSError):
                self.folder.rmdir()
                return
            time.sleep(0.1)
        subprocess.run(["rmdir", self.folder], check=True)
