"""Throw mutated bytes at one reader: it must neither raise nor hang, and what it returns must be a reading.

Called by script/fuzz with the reader's name (or "table", "archive") and the seconds to go on, 600 unless told.
The captured outputs of tests/data are where it begins; memory is bounded, and an input may take ten seconds.
"""

import json
import shutil
import sys
from dataclasses import asdict
from pathlib import Path

import atheris

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

with atheris.instrument_imports(include=["experiments.imports.readers"]):
    from experiments.imports.readers import READERS, archives, read, table


def read_with(name: str):
    """What one input is given to."""
    if name == "table":
        return lambda data: table.recognises(data) and list(table.read_table(data).rows())
    if name == "archive":

        def unpack(data: bytes) -> None:
            try:
                list(archives.members("fuzz.zip", data))
            except archives.ArchiveError:
                return

        return unpack
    reader = next((reader for reader in READERS if reader.name == name), None)
    if reader is None:
        sys.exit(f"no reader {name}; there are {', '.join(r.name for r in READERS)}, table and archive")

    def check(data: bytes) -> None:
        reader.recognises(data)
        for reading in (reader.read(data), read(data)):
            assert reading.runs or reading.refused or reading.facts
            for run in reading.runs:
                figures = (run.throughput_mib_s, run.ops_per_s, run.latency_ms, run.duration_s)
                for value in (*figures, *run.percentiles_ms.values()):
                    assert value is None or 0 < value < float("inf")
            json.dumps([asdict(fact) for fact in reading.facts], allow_nan=False)

    return check


def main() -> None:
    name, seconds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 600
    check = read_with(name)
    folder = ROOT / "data" / "fuzz" / name
    corpus = folder / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    captured, start = ROOT / "tests" / "data", name.partition("-")[0]
    for path in (*captured.glob(f"{start}/*"), *captured.glob(f"facts/{start}*")):
        shutil.copy(path, corpus / f"{path.parent.name}-{path.name}")
    limits = [f"-max_total_time={seconds}", "-rss_limit_mb=2048", "-timeout=10", "-max_len=100000"]
    atheris.Setup([sys.argv[0], *limits, f"-artifact_prefix={folder}/", str(corpus)], check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
