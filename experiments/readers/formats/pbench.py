"""result.json of pbench-fio: the rate of one sample, of the samples of an iteration, or of all iterations of a run.

    {"parameters": {"benchmark": [{"benchmark_name": "fio", "bs": "4k", "rw": "read,read", "iodepth": "32", ...}]},
     "throughput": {"iops_sec": [{"role": "aggregate", "client_hostname": "all", "value": 93404.9, ...},
                                 {"role": "client", ...}]},                 of an iteration: "samples": [{"value": ...}]
     "latency": {"clat": [...], ...}}
    [{"iteration_number": 1, "iteration_name": "1-read-4KiB", "iteration_data": {as above}}, ...]

- The rate is the mean of the rates of its seconds, of all clients together. An option has a value for each job: it is
  taken where all are the same, and numjobs only of one job.
- Its latencies have no unit and are not read; fio-result.txt beside it, which is fio's JSON, has them and percentiles.

Source: fio-postprocess, process-iteration-samples and generate-benchmark-summary of pbench 0.73, and their test data.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from ..base import FileRefusedError, LineNumbers, Refusal, Run, text_of
from ..reader import Outcome, Reader
from .fio.json import OPERATIONS, OPTIONS, block_size_of, operation_of, plain

NOTE = "The mean rate of its seconds, by pbench; fio-result.txt has fio's own figures."

_RATE = re.compile(r'"iops_sec"\s{0,9}:')


class Pbench(Reader):
    name, benchmark = "pbench", "fio"
    nothing = "pbench's JSON has no iterations in it"
    signs = ((b'"benchmark_name"', b'"primary_metric"'),)
    signs_within = 2**26  # they stand behind the figures of each second

    def parse(self, data: bytes) -> Iterator[Outcome]:
        text = text_of(data)
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            raise FileRefusedError("the JSON is cut, or broken") from None
        numbers = LineNumbers(text)
        lines = (numbers.at(match.start()) for match in _RATE.finditer(text))
        iterations = [_inner(item, "iteration_data") for item in document] if isinstance(document, list) else [document]
        for iteration in iterations:
            (options,) = _all(_inner(iteration, "parameters"), "benchmark")[:1] or [{}]
            rates = _all(_inner(iteration, "throughput"), "iops_sec")
            line = next(lines, 1) if rates else None
            if options.get("benchmark_name") != "fio":
                yield Refusal(line, f"{str(options.get('benchmark_name'))[:40]} in pbench: only its fio is read")
                continue
            total = next((rate for rate in rates if rate.get("role") == "aggregate"), {})
            yield from (_judge(line, sample.get("value"), options) for sample in _all(total, "samples") or [total])


def _inner(document: Any, name: str) -> Any:
    return document.get(name) if isinstance(document, dict) else None


def _all(document: Any, name: str) -> list[dict[str, Any]]:
    inner = _inner(document, name)
    return [item for item in inner if isinstance(item, dict)] if isinstance(inner, list) else []


def _judge(line: int | None, value: Any, options: dict[str, Any]) -> Run | Refusal:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < 1e18:
        return Refusal(line, "there is no rate of all clients together")
    given = {name: str(options[name]).split(",") for name in OPTIONS if name in options}
    common = {name: values[0][:80] for name, values in given.items() if len(set(values)) == 1}
    if len(given.get("numjobs", [])) > 1:
        common.pop("numjobs", None)
    rw = common.get("rw", "")
    ways = ["write" if "write" in rw else "read"] if rw in OPERATIONS else ["read", "write"]
    return Run(
        "pbench-fio",
        line,
        ops_per_s=float(value),
        operation=operation_of(rw, ways)[0],
        block_size_bytes=block_size_of(common.get("bs"), ways),
        parameters={name: plain(text) for name, text in common.items()},
        note=NOTE,
        warnings=(NOTE,),
    )
