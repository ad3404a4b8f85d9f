"""The load of others on a machine during a measurement: processor time, reads and writes, and stolen time.

Counted by the kernel anyway and read twice, just before the measurement and just after it: nothing runs in between.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

CPU_LIMIT = 0.5  # CPU-seconds a second: below it runs keep 97 % of a cell's best, above 1.25 they fall to 58 %
STEAL_LIMIT = 0.1  # CPU-seconds a second
IO_LIMIT = 10.0  # MiB/s read and written
_MIB = 2**20


@dataclass(frozen=True)
class Usage:
    """The use of a machine since it started, as remote.sh reads it: ticks of 1/`hz` s, and bytes.

    busy : of all processors in processes and the kernel's threads; `ours`, `kernel`: their part of it
    """

    hz: int
    up: float
    busy: int
    stolen: int
    ours: int
    kernel: int
    read_bytes: int | None  # None: a login that is not root does not see what others read and write
    write_bytes: int | None

    @classmethod
    def of(cls, answer: Mapping[str, str]) -> Self:
        """Return the use that the lines of an answer tell. cpu: user nice system idle iowait irq softirq steal ..."""
        cpu = [int(word) for word in answer["cpu"].split()]
        moved = (int(answer[name]) if name in answer else None for name in ("read_bytes", "write_bytes"))
        used = sum(cpu[:3]), cpu[7] if len(cpu) > 7 else 0, int(answer["ours"]), int(answer["kernel"])
        return cls(int(answer["hz"]), float(answer["up"]), *used, *moved)


@dataclass(frozen=True)
class Background:
    """The load of others in between: CPU-seconds a second, and MiB/s of all disks."""

    cpu: float
    steal: float
    read_mib_s: float | None
    write_mib_s: float | None

    def beyond_limits(self, where: str) -> list[str]:
        """Return a sentence for each limit that was passed."""
        sentences = []
        if self.cpu > CPU_LIMIT:
            sentences.append(f"Others used {self.cpu:.2f} CPU-seconds a second on {where}; {CPU_LIMIT:g} are allowed.")
        if self.steal > STEAL_LIMIT:
            sentences.append(
                f"Others took {self.steal:.2f} CPU-seconds a second from {where} (steal); {STEAL_LIMIT:g} are allowed."
            )
        if (
            self.read_mib_s is not None
            and self.write_mib_s is not None
            and self.read_mib_s + self.write_mib_s > IO_LIMIT
        ):
            sentences.append(
                f"Others read {self.read_mib_s:.1f} MiB/s and wrote {self.write_mib_s:.1f} MiB/s on {where}; "
                f"{IO_LIMIT:g} MiB/s in all are allowed."
            )
        return sentences


def between(before: Usage, after: Usage) -> Background:
    """Return the load of others from one look to the other; never below zero, as counts are rounded."""
    seconds = max(after.up - before.up, 1 / before.hz)
    ours = after.ours - before.ours + after.kernel - before.kernel
    return Background(
        cpu=max(0, after.busy - before.busy - ours) / before.hz / seconds,
        steal=max(0, after.stolen - before.stolen) / before.hz / seconds,
        read_mib_s=_rate(before.read_bytes, after.read_bytes, seconds),
        write_mib_s=_rate(before.write_bytes, after.write_bytes, seconds),
    )


def _rate(before: int | None, after: int | None, seconds: float) -> float | None:
    """Return MiB/s, never below zero: a process that the kernel forgets takes its bytes along."""
    return None if before is None or after is None else max(0, after - before) / _MIB / seconds
