"""ceph tell osd.N bench: one OSD of Ceph writes to its own store, without the network.

    $ ceph tell osd.62 bench
    {
        "bytes_written": 1073741824,
        "blocksize": 4194304,
        "elapsed_sec": 0.529264482,
        "bytes_per_sec": 2028743398.6548903,      a text in older releases, which lack seconds and iops, too
        "iops": 483.69011846897371
    }

With osd.* each object stands behind its name ("osd.0: {"). Which OSD it was is a parameter: they are different disks,
and no repetitions of one another. Up to 2013 the result stood in the cluster's log:

    osd.0 [INF] bench: wrote 1024 MB in blocks of 4096 KB in 4.575725 sec at 223 MB/sec

Source: OSD.cc of Ceph 0.60 to 18 and outputs in repositories.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from ..base import LineNumbers, Refusal, Run, text_of
from ..reader import Outcome, Reader

_OBJECT = re.compile(r'(?:\b(osd\.\d{1,9}): {0,8})?\{\s{0,80}"bytes_written"[^{}]{0,600}(\}?)')
_COMMAND = re.compile(r"\btell (osd\.\d{1,9}) bench\b")
_LOGGED = re.compile(
    r"(?:\b(osd\.\d{1,9})\b[^\n]{0,80})?\bbench: wrote (\d{1,9}) ([MG])i?B in blocks of (\d{1,9}) ([KM])i?B in "
    r"(\d{1,9}(?:\.\d{1,9})?) sec\b"
)
_POWERS = {"K": 1, "M": 2, "G": 3}


class OsdBench(Reader):
    name = "osd-bench"
    counted = "results"
    nothing = "there is no result of an OSD's bench: it did not finish, or is cut"
    signs = ((b'"bytes_written"', b'"blocksize"'), (b"bench: wrote ",))

    def parse(self, data: bytes) -> Iterator[Outcome]:
        text = text_of(data)
        lines = LineNumbers(text)
        matches = [*_OBJECT.finditer(text), *_LOGGED.finditer(text)]
        for match in sorted(matches, key=lambda match: match.start()):
            line = lines.at(match.start())
            if match.re is _LOGGED:
                written, block = (int(match[n]) * 1024 ** _POWERS[match[n + 1]] for n in (2, 4))
                yield _judge(line, match[1], written, float(match[6]), block)
                continue
            try:
                result = json.loads(match[0][match[0].index("{") :])
            except ValueError:
                yield Refusal(line, "the JSON is cut, or broken")
                continue
            line_above = text.rfind("\n", 0, max(match.start() - 1, 0)) + 1
            command = _COMMAND.search(text, line_above, match.start())
            written, block, seconds, rate = (
                _number(result.get(name)) for name in ("bytes_written", "blocksize", "elapsed_sec", "bytes_per_sec")
            )
            osd = match[1] or (command[1] if command else "")
            yield _judge(line, osd, written, seconds or (written / rate if rate else 0.0), int(block))


def _judge(line: int, osd: str | None, written: float, seconds: float, block: int) -> Run | Refusal:
    if not (written and seconds and block):
        return Refusal(line, "nothing was written, or its bytes, blocks or time are missing")
    return Run(
        OsdBench.name,
        line,
        throughput_mib_s=written / seconds / 2**20,
        ops_per_s=written / block / seconds,
        duration_s=seconds,
        operation="write",
        block_size_bytes=block,
        working_set_bytes=int(written),
        parameters={"osd": osd} if osd else {},
    )


def _number(value: Any) -> float:
    """Return a number above zero, or a text of one; 0 for anything else."""
    if isinstance(value, str) and re.fullmatch(r"\d{1,15}(?:\.\d{1,9})?", value, re.ASCII):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e18:
        return 0.0
    return float(value)
