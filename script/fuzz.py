"""Throw mutated bytes at what takes bytes from strangers, guided by the branches that they reach: see tests/fuzz.

Called by script/fuzz. Each target has a process of its own with a limit of memory, and an input has a limit of time;
what breaks it lies in data/fuzz/TARGET afterwards, and what was learnt in data/fuzz/TARGET/corpus.
"""

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import atheris

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests import made_once  # noqa: E402

WORK = ROOT / "data" / "fuzz"
OURS = ("kdb", "experiments", "modelling")
SECONDS = 600
SECONDS_OF_INPUT, SECONDS_OF_REQUEST = 30, 180  # counting branches makes a request several times as slow
MEMORY_MIB = 2048  # measured by libFuzzer; the kernel's limit, of addresses, is twice that
MOST_BYTES = 100_000
MOST_FINDINGS = 3  # of a target: after each it is begun anew
MOST_WORDS = 1_000
KEPT_INPUTS, KEPT_BYTES, LOOKED_AT = 20, 6_000, 80  # of a target, in tests/data/fuzz
MAKE_SCENE = """
import django; django.setup()
from django.core.management import call_command
from tests.fuzz.targets import scene
call_command("migrate", verbosity=0)
call_command("load_evidence", verbosity=0)
scene()
"""


@dataclass
class Row:
    """The outcome of fuzzing one target."""

    name: str
    executions: int = 0
    branches: int = 0
    inputs: int = 0
    kept: int = 0
    findings: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        numbers = f"{self.executions:>12,}{self.branches:>10,}{self.inputs:>8,}{self.kept:>6,}"
        return f"{self.name:<18}{numbers}  {'; '.join(self.findings) or 'none'}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="script/fuzz", description="Fuzz one target, several, or `all`.")
    parser.add_argument("targets", nargs="*", help="without any they are listed")
    parser.add_argument("--seconds", type=int, default=SECONDS, help=f"for each target ({SECONDS})")
    parser.add_argument("--keep", action="store_true", help="keep a few inputs that reach most in tests/data/fuzz")
    parser.add_argument("--here", choices=["fuzz", "keep"], help=argparse.SUPPRESS)  # one target, in this process
    options = parser.parse_args()
    if options.here:
        return {"fuzz": fuzz, "keep": keep_smallest}[options.here](options.targets[0], options.seconds)
    from tests.fuzz.targets import TARGETS

    chosen = list(TARGETS) if options.targets == ["all"] else options.targets
    unknown = [name for name in chosen if name not in TARGETS]
    if unknown or not chosen:
        print(f"{', '.join(unknown) or 'Nothing'} is no target; there are all, {', '.join(TARGETS)}.")
        return 2
    rows = []
    for name in chosen:
        rows.append(fuzzed(name, options.seconds, keep=options.keep))
        print(rows[-1], flush=True)
    print(f"\n{'target':<18}{'executions':>12}{'branches':>10}{'inputs':>8}{'kept':>6}  findings")
    print(*rows, sep="\n")
    return 1 if any(row.findings for row in rows) else 0


def fuzzed(name: str, seconds: int, *, keep: bool) -> Row:
    """Fuzz one target in processes of its own, the next one after a finding."""
    folder, row, ends_at = WORK / name, Row(name), time.monotonic() + seconds
    (folder / "corpus").mkdir(parents=True, exist_ok=True)

    def run(what: str, left: float) -> str:
        command = [sys.executable, __file__, "--here", what, name, "--seconds", str(int(left))]
        with tempfile.TemporaryDirectory(prefix="kdb-fuzz-") as data_dir, (folder / "log").open("w") as log:
            environment = {**os.environ, "DATA_DIR": data_dir, "EMAIL_URL": "dummymail://"}
            environment |= {"DJANGO_SETTINGS_MODULE": "kdb.settings.test", "DATABASE_URL": "", "REDIS_URL": ""}
            done = subprocess.run(
                command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False
            )
        log_text = (folder / "log").read_text(errors="replace")
        if done.returncode:
            row.findings.append(finding_in(log_text) or f"ended with {done.returncode}, see {folder}/log")
            shutil.copy(folder / "log", folder / f"finding-{len(row.findings)}.log")
        return log_text

    while (left := ends_at - time.monotonic()) > 1 and len(row.findings) < MOST_FINDINGS:
        output = run("fuzz", left)
        counts = re.findall(r"^#(\d+)|number_of_executed_units: (\d+)", output, re.MULTILINE)
        row.executions += max((int(one or other) for one, other in counts), default=0)
        row.branches = max([row.branches, *map(int, re.findall(r" cov: (\d+)", output))])
    if keep:
        run("keep", 0)
        row.kept = sum(1 for _ in (ROOT / "tests/data/fuzz" / name).glob("*"))
    row.inputs = sum(1 for _ in (folder / "corpus").iterdir())
    return row


def finding_in(log_text: str) -> str:
    """Return the exception, or what libFuzzer says of time and memory, with the name of the file that has the input."""
    errors = re.findall(r"Uncaught Python exception: ===\n(.+)|ERROR: libFuzzer: (.+)", log_text)
    files = re.findall(r"Test unit written to .*/(\S+)", log_text)
    return ": ".join([*files[-1:], next((one or other)[:160] for one, other in errors)]) if errors else ""


# In the process of one target


def opened(name: str, *, counting: bool) -> Any:
    """Return the target, with branches of what it reaches counted where asked. Memory is bounded from here on."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (2 * MEMORY_MIB * 2**20,) * 2)
    with atheris.instrument_imports(include=[*OURS]) if counting else nullcontext():
        from tests.fuzz.targets import TARGETS

        if TARGETS[name].needs_scene:
            recipe = made_once.digest("*/migrations/*.py", "*/models/*.py", "fixtures/*.json", "tests/fuzz/targets.py")
            scene = made_once.made_once(WORK, "scene", recipe, make_scene)
            shutil.copy(scene / "kdb.sqlite3", os.environ["DATA_DIR"])
            import django

            django.setup()
            from django.urls import get_resolver

            get_resolver().url_patterns  # noqa: B018 - imports every view
    return TARGETS[name]


def sown(name: str, target: Any) -> list[bytes]:
    """Return the seeds, which are in the corpus from now on."""
    seeds = list(target.seeds())
    for number, seed in enumerate(seeds):
        (WORK / name / "corpus" / f"seed-{number}").write_bytes(seed)
    return seeds


def make_scene(folder: Path) -> None:
    environment = {**os.environ, "DATA_DIR": str(folder)}
    subprocess.run([sys.executable, "-c", MAKE_SCENE], cwd=ROOT, env=environment, check=True)


def fuzz(name: str, seconds: int) -> int:
    """Fuzz until time is up or something is found; ends the process."""
    target, folder = opened(name, counting=True), WORK / name
    words: Counter[bytes] = Counter()
    for seed in sown(name, target):
        words.update(set(re.findall(rb"[A-Za-z][A-Za-z0-9_-]{2,30}", seed)))
    common = (word.decode() for word, _ in words.most_common(MOST_WORDS))
    (folder / "words").write_text("".join(f'"{word}"\n' for word in common))
    longest = SECONDS_OF_REQUEST if target.needs_scene else SECONDS_OF_INPUT
    arguments = [
        *(f"-max_total_time={seconds}", f"-timeout={longest}", f"-rss_limit_mb={MEMORY_MIB}"),
        *(f"-max_len={MOST_BYTES}", f"-dict={folder}/words", f"-artifact_prefix={folder}/", "-print_final_stats=1"),
        str(folder / "corpus"),
    ]
    heads = sorted({seed.read_bytes().partition(b"\n")[0] for seed in (folder / "corpus").glob("seed-*")})
    options = {"custom_mutator": _after_the_head(heads)} if name in ("query", "posts") else {}
    atheris.Setup([sys.argv[0], *arguments], target.check, **options)
    atheris.Fuzz()
    return 0


def _after_the_head(heads: list[bytes]) -> Any:
    """Return a mutator that leaves a request its address, or gives it that of another one."""

    def mutate(data: bytes, most_bytes: int, seed: int) -> bytes:
        head, _, rest = data.partition(b"\n")
        if seed % 8 == 0 or head not in heads:
            head = heads[seed // 8 % len(heads)]
        room = most_bytes - len(head) - 1
        return head + b"\n" + (atheris.Mutate(rest, room) if room > 0 else b"")

    return mutate


def keep_smallest(name: str, seconds: int) -> int:
    """Keep the few small inputs that between them reach most lines, in tests/data/fuzz."""
    target = opened(name, counting=False)
    sown(name, target)
    reached: dict[Path, set[tuple[str, int]]] = {}
    inputs = [path for path in (WORK / name / "corpus").iterdir() if path.stat().st_size <= KEPT_BYTES]
    for path in sorted(inputs, key=lambda path: path.stat().st_size)[:LOOKED_AT]:
        reached[path] = _lines_reached(target.check, path.read_bytes())
    place = ROOT / "tests/data/fuzz" / name
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    there: set[tuple[str, int]] = set()
    while reached and len(list(place.iterdir())) < KEPT_INPUTS:
        best = max(reached, key=lambda path: (len(reached[path] - there), -path.stat().st_size))
        if not reached[best] - there:
            break
        there |= reached.pop(best)
        shutil.copy(best, place / made_once.hashlib.sha256(best.read_bytes()).hexdigest()[:12])
    return 0


def _lines_reached(check: Any, data: bytes) -> set[tuple[str, int]]:
    lines: set[tuple[str, int]] = set()
    prefixes = tuple(f"{ROOT}/{name}/" for name in OURS)

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(prefixes):
            return None
        lines.add((frame.f_code.co_filename, frame.f_lineno))
        return trace

    sys.settrace(trace)
    try:
        check(data)
    finally:
        sys.settrace(None)
    return lines


if __name__ == "__main__":
    sys.exit(main())
