"""kdb measure again and again, by the machine's own timer: what it prints for systemd, and what each time may cost."""

import argparse
import resource
import shlex
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from .errors import KdbError

NIGHT, CHANGE = WHEN = ("night", "change")
_CALENDAR = {NIGHT: "*-*-* 02:00:00", CHANGE: "hourly"}
_WHY = {NIGHT: "each night", CHANGE: "when a release changed; else it ends at once"}
_UNITS = """\
# /etc/systemd/system/kdb-measure.service
[Unit]
Description=KDB: what led on this machine, measured again
Wants=network-online.target
After=network-online.target

[Service]
Type=oneshot
# Of root alone, with KDB_URL=... and KDB_TOKEN=...
EnvironmentFile=/etc/kdb-measure.env
ExecStart={command}

# /etc/systemd/system/kdb-measure.timer
[Unit]
Description=KDB: {why}

[Timer]
OnCalendar={calendar}
RandomizedDelaySec=30min
Persistent=true

[Install]
WantedBy=timers.target

# Then: systemctl daemon-reload && systemctl enable --now kdb-measure.timer
# No more: systemctl disable --now kdb-measure.timer
"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add what `kdb measure` takes to be run by a timer."""
    command.add_argument("--every", choices=WHEN, help="print a timer for systemd that measures again, and do nothing")
    command.add_argument("--scheduled", choices=WHEN, help="as a timer runs it: skipped while other programs are busy")
    command.add_argument("--most-minutes", type=float, metavar="N", help="no run begins that would end later")
    command.add_argument("--most-written", type=float, metavar="GIB", help="no run begins that may write more in all")


def units(arguments: Sequence[str]) -> str:
    """Return a service and its timer that run these arguments again. Raises KdbError where no program can be named."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--every", choices=WHEN, required=True)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--yes", action="store_true")
    asked, others = parser.parse_known_args(arguments)
    line = shlex.join([*_program(), *others, "--again", "--yes", "--scheduled", asked.every])
    command = line.replace("%", "%%").replace("$", "$$")  # which systemd would replace
    return _UNITS.format(command=command, why=_WHY[asked.every], calendar=_CALENDAR[asked.every])


def _program() -> list[str]:
    if installed := shutil.which("kdb"):
        return [installed]
    script = Path(sys.argv[0])
    if script.is_file() and script.name != "__main__.py":
        return [sys.executable, str(script.absolute())]
    raise KdbError("A timer runs a file: get it by curl -sSfo kdb.py SERVER/kdb.py, then python3 kdb.py measure ...")


class Budget:
    """The time that a measurement may take, and what it may write. Both are counted from when it is made."""

    def __init__(self, minutes: float | None, gib: float | None) -> None:
        self.minutes, self.gib = minutes, gib
        self._began, self._written_before = time.monotonic(), _written()
        self._most = 0.0  # bytes, of one run so far
        self._last = 0.0
        self._longest, self._asked = 0.0, self._began  # s of one run so far, with its files; when a run began last

    def why_not(self, seconds: int, file_bytes: int) -> str:
        """Say why no further run of so many seconds, on files of so many bytes, may begin; "" where one may."""
        written = _written() - self._written_before
        self._most = max(self._most, written - self._last, float(file_bytes))
        self._last = written
        asked = time.monotonic()
        self._longest, self._asked = max(self._longest, asked - self._asked, seconds), asked
        if self.minutes is not None and (asked - self._began + self._longest) / 60 > self.minutes:
            return f"skipped: the budget of {self.minutes:g} minutes is used up"
        if self.gib is not None and (written + self._most) / 2**30 > self.gib:
            return f"skipped: the budget of {self.gib:g} GiB written is used up"
        return ""


def _written() -> float:
    """Return how many bytes programs that this one ran have written to disks."""
    return 512.0 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_oublock
