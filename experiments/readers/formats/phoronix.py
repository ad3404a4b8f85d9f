"""The Phoronix Test Suite's composite.xml: the storage tests whose unit is known.

    <PhoronixTestSuite><System>...</System>
      <Result><Identifier>pts/tiobench-1.2.0</Identifier><AppVersion>0.3.3</AppVersion>
        <Description>Test: Read - Size Per Thread: 32MB - Thread Count: 4</Description><Scale>MB/s</Scale>
        <Data><Entry><Identifier>system</Identifier><Value>6814.42</Value>
          <RawString>7045.354:6708.595:6689.313</RawString></Entry></Data></Result>

RawString holds the repetitions, Value their mean; each repetition is a run. What "MB" is depends on the wrapped
tool, so only the tests in UNITS are read. Tests of the processor are no results of a storage.

Source: composite.xml of 5.6 and 10.8; results-definition.xml of the profiles tiobench-1.2, fio-1.9, postmark-1.1,
dbench-1.0, fs-mark-1.0.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from xml.etree.ElementTree import Element

from ..base import LineNumbers, Refusal, Run, TooMuchError, text_of
from ..reader import Outcome, Reader, ToolVersion
from ..xml_tree import root_of, text_at

MAX_RESULTS = 5_000

# Test and scale: figure of a Run, and the factor to its unit.
UNITS = {
    ("tiobench", "MB/s"): ("throughput_mib_s", 1.0),  # of 2**20 bytes
    ("fio", "MB/s"): ("throughput_mib_s", 1000 / 1024),  # KiB/s divided by 1000
    ("fio", "IOPS"): ("ops_per_s", 1.0),
    ("postmark", "TPS"): ("ops_per_s", 1.0),
    ("dbench", "MB/s"): ("throughput_mib_s", 1e6 / 2**20),
    ("fs-mark", "Files/s"): ("ops_per_s", 1.0),
}
TEST = re.compile(r"(?:[\w.]+/)?([a-z][\w-]{0,40}?)-(\d[\w.]{0,20})")
_OPERATIONS = {
    "read": "read",
    "write": "write",
    "random read": "random-read",
    "random write": "random-write",
    "sequential read": "read",
    "sequential write": "write",
}
NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,9})?", re.ASCII)


class Phoronix(Reader):
    name = "phoronix"
    limit = 50_000
    nothing = "there is no result in it"
    signs = ((b"<PhoronixTestSuite",),)

    def parse(self, data: bytes) -> Iterator[Outcome]:
        root = root_of(data)
        text = text_of(data)
        numbers = LineNumbers(text)
        lines = [numbers.at(match.start()) for match in re.finditer("<Result>", text)]
        results = root.findall("Result")
        if len(results) > MAX_RESULTS:
            raise TooMuchError(len(results), "results", MAX_RESULTS)
        yield ToolVersion(text_at(root, "Generated/TestClient").removeprefix("Phoronix Test Suite").strip(" v")[:40])
        system = ""
        for number, result in enumerate(results):
            line = lines[number] if number < len(lines) else None
            for entry in result.findall("Data/Entry"):
                name = text_at(entry, "Identifier")
                system = system or name
                if name == system:
                    yield from _judge(line, result, entry)
                    continue
                reason = f"system {name[:80]!r} here and {system[:80]!r} above; export each system by itself"
                yield Refusal(line, reason)


def _judge(line: int | None, result: Element, entry: Element) -> Iterator[Run | Refusal]:
    if text_at(result, "Arguments").startswith("test install"):
        return  # how long its installation took
    title, scale = text_at(result, "Title")[:80], text_at(result, "Scale")[:40]
    match = TEST.fullmatch(text_at(result, "Identifier"))
    if not match:
        yield Refusal(line, f"{title or 'a result'} does not say which test it is of")
        return
    test, version = match[1], text_at(result, "AppVersion")[:40] or match[2]
    if (test, scale) not in UNITS:
        tests = ", ".join(sorted({name for name, _ in UNITS}))
        yield Refusal(line, f"{test} in {scale or 'no unit'} is no storage test whose unit is known here; {tests} are")
        return
    values = [part for part in text_at(entry, "RawString").split(":") if part] or [text_at(entry, "Value")]
    if not all(NUMBER.fullmatch(value) and float(value) for value in values):
        yield Refusal(line, f"{test}: the test failed, there is no value")
        return
    for value in values:
        run = run_of(test, scale, line, float(value), text_at(result, "Description"))
        yield replace(run, tool_version=version, parameters={**run.parameters, "profile": match[2]})


def run_of(test: str, scale: str, line: int | None, value: float, description: str) -> Run:
    """Return the run of a value in the unit of its test; description : "Test: Read - Thread Count: 4"."""
    figure, factor = UNITS[test, scale]
    parts = (part.partition(":") for part in description[:500].split(" - "))
    parameters = {name.strip().lower().replace(" ", "_")[:40]: text.strip()[:80] for name, sign, text in parts if sign}
    operation = _OPERATIONS.get(parameters.pop("test", parameters.pop("type", "")).lower(), "mixed")
    return Run(
        test,
        line,
        throughput_mib_s=value * factor if figure == "throughput_mib_s" else None,
        ops_per_s=value * factor if figure == "ops_per_s" else None,
        operation=operation,
        benchmark=test,
        parameters=parameters,
    )
