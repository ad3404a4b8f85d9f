"""Check numbers against the protocol: conditions that a result needs to count. No Django.

A condition about something that the source does not state is neither met nor failed. Sources: docs/models/protocol.md.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from .plausibility import FlaggedNumber

State = Literal["met", "not met", "not stated"]
MET: State = "met"
NOT_MET: State = "not met"
NOT_STATED: State = "not stated"

BELOW_MINIMUM = "below the minimum"  # the lint rule of imports that finds anecdotes
LEAST_RUNS = 2  # a spread needs at least two
WHOLE_SECONDS = 30.0  # the default of KDB_WHOLE_RUN_SECONDS
KIND_OF_DISK = "kind of disk"  # as a setting that is not stated
UNCACHED = ("none", "directsync")  # cache modes of QEMU that bypass the host's page cache
_SECONDS = re.compile(r"\b(\d+(?:\.\d+)?) ?s\b")
_DIRECT = re.compile(r"\b(O_DIRECT|direct=1|direct)\b")


@dataclass(frozen=True)
class Number:
    """The conditions under which one number, or one mean over runs, was measured. None and "": not stated

    runs : behind the number; seconds : length of a run; warm_up_seconds : not counted, or run before
    is_described : whether its case study describes the procedure in words
    quiet : whether nothing else ran on the host, "yes" or "no"; fits_cache : the same of files that fit into memory
    files_bytes : size of the files of one machine's load; machines : that ran it at once, 0 on the host itself
    guest_bytes, host_bytes : memory that the load may use; is_direct : whether the load uses direct I/O
    cache_mode : of the virtual disk; None: there is no virtual disk
    unstated : names of settings that are not stated
    """

    runs: int | None = None
    has_spread: bool = False
    seconds: float | None = None
    is_described: bool = False
    warm_up_seconds: float | None = None
    quiet: str = ""
    fits_cache: str = ""
    files_bytes: int | None = None
    machines: int = 1
    guest_bytes: float | None = None
    host_bytes: float | None = None
    is_direct: bool = False
    cache_mode: str | None = ""
    unstated: tuple[str, ...] = ()

    @property
    def passes_caches(self) -> bool:
        return self.is_direct and self.cache_mode in (None, *UNCACHED)

    @property
    def fits_memory(self) -> bool:
        """Tell whether the files are known to fit into memory, so that a cache may answer."""
        return self.against_memory == NOT_MET

    @property
    def against_memory(self) -> State:
        """Return whether the load got past all memory: not met where a cache may have answered."""
        return _memory(self, WHOLE_SECONDS)


@dataclass(frozen=True)
class Condition:
    """One condition. asked : the minimum; remedy : how to meet it; judge : returns None where it does not apply"""

    name: str
    asked: str
    remedy: str
    judge: Callable[[Number, float], State | None]


@dataclass(frozen=True)
class ChecklistItem:
    """The state of one condition over all numbers of a case study."""

    component = "ProtocolTick"

    name: str
    asked: Annotated[str, "The minimum."]
    state: Annotated[State, "Met by all, not met by some, or not stated of some."]
    met: Annotated[int, "Numbers that meet it."]
    of: Annotated[int, "Numbers that it applies to."]
    remedy: Annotated[str, "What would make it met; empty: it is."]


@dataclass(frozen=True)
class Protocol:
    """The states of all conditions over the numbers of a case study."""

    ticks: tuple[ChecklistItem, ...]
    numbers: Annotated[int, "Looked at, a mean over runs being one; at most 5,000."]
    anecdotes: Annotated[int, "Of them below the minimum: shown, and counted in no answer."]
    flagged: Annotated[
        tuple[FlaggedNumber, ...], "Of them, those that look like no disk's: shown, with the reason."
    ] = ()

    @property
    def met(self) -> int:
        return sum(tick.state == MET for tick in self.ticks)


def is_anecdote(
    runs: int | None, has_spread: bool, seconds: float | None, is_described: bool, whole_seconds: float = WHOLE_SECONDS
) -> bool:
    """Tell whether a number is below the minimum: neither repeated, nor of a run that is long enough or, where its
    length is not stated, described in words."""
    is_repeated = has_spread or (runs is not None and runs >= LEAST_RUNS)
    is_enough = is_described if seconds is None else seconds >= whole_seconds
    return not is_repeated and not is_enough


def judge(
    numbers: Iterable[Number], whole_seconds: float = WHOLE_SECONDS, flagged: tuple[FlaggedNumber, ...] = ()
) -> Protocol:
    """Judge all numbers of a case study by every condition."""
    numbers = list(numbers)
    ticks = []
    for condition in TABLE:
        judged = [condition.judge(number, whole_seconds) for number in numbers]
        states = [state for state in judged if state is not None]
        if not states:
            continue
        state = NOT_MET if NOT_MET in states else NOT_STATED if NOT_STATED in states else MET
        remedy = "" if state == MET else condition.remedy.format(seconds=whole_seconds, missing=_missing(numbers))
        asked = condition.asked.format(seconds=whole_seconds)
        ticks.append(ChecklistItem(condition.name, asked, state, states.count(MET), len(states), remedy))
    below = sum(is_anecdote(n.runs, n.has_spread, n.seconds, n.is_described, whole_seconds) for n in numbers)
    return Protocol(tuple(ticks), len(numbers), below, flagged)


def _missing(numbers: Iterable[Number]) -> str:
    return ", ".join(dict.fromkeys(name for number in numbers for name in number.unstated))


# The conditions


def _runs(number: Number, whole_seconds: float) -> State:
    if number.has_spread:
        return MET
    return NOT_STATED if number.runs is None else MET if number.runs >= LEAST_RUNS else NOT_MET


def _length(number: Number, whole_seconds: float) -> State:
    return NOT_STATED if number.seconds is None else MET if number.seconds >= whole_seconds else NOT_MET


def _words(number: Number, whole_seconds: float) -> State:
    return MET if number.is_described else NOT_STATED


def _warm_up(number: Number, whole_seconds: float) -> State:
    return NOT_STATED if number.warm_up_seconds is None else MET if number.warm_up_seconds > 0 else NOT_MET


def _spread(number: Number, whole_seconds: float) -> State:
    return MET if number.has_spread else NOT_STATED


def _cache(number: Number, whole_seconds: float) -> State | None:
    return None if number.cache_mode is None else MET if number.cache_mode else NOT_STATED


def memories(number: Number) -> list[tuple[str, float, float]]:
    """Return each memory that may cache the files of a load: whose it is, the bytes of files, the bytes of memory.

    That of the host caches nothing where the cache mode of the virtual disk passes it by.
    """
    files, of_all = number.files_bytes, (number.files_bytes or 0) * max(number.machines, 1)
    host_bytes = None if number.cache_mode in UNCACHED else number.host_bytes
    known = (("each virtual machine", files, number.guest_bytes), ("the server", of_all, host_bytes))
    return [(whose, size, memory) for whose, size, memory in known if size and memory]


def _memory(number: Number, whole_seconds: float) -> State:
    """Judge by the sizes of this load where they are known, else by what the case study states of all loads."""
    if number.passes_caches:
        return MET
    if known := memories(number):
        return NOT_MET if any(size < memory for _, size, memory in known) else MET
    return {"no": MET, "yes": NOT_MET}.get(number.fits_cache, NOT_STATED)


def _settings(number: Number, whole_seconds: float) -> State:
    return NOT_STATED if number.unstated else MET


def _quiet(number: Number, whole_seconds: float) -> State:
    return {"yes": MET, "no": NOT_MET}.get(number.quiet, NOT_STATED)


TABLE = (
    Condition(
        "runs",
        f"{LEAST_RUNS} runs or more behind each number",
        "Repeat the runs, or state how many a number averages.",
        _runs,
    ),
    Condition("length", "Runs of {seconds:g} s or more", "Run longer, or state the length of a run.", _length),
    Condition("procedure", "Said in words how it was measured", "Say how it was measured.", _words),
    Condition(
        "warm-up",
        "A warm-up before what counts",
        "Leave out the first part of each run, or state the seconds of the warm-up.",
        _warm_up,
    ),
    Condition("spread", "How far runs differ", "Bring in single runs, or the standard deviation of a mean.", _spread),
    Condition("cache mode", "The cache mode of the virtual disk", "State the cache mode.", _cache),
    Condition(
        "memory",
        "Files larger than the memory that may cache them, or direct I/O past all caches",
        "Use files larger than the memory of guest and host, or direct I/O with cache mode none; state both sizes.",
        _memory,
    ),
    Condition("settings", "What lies between load and disk", "State what is left open: {missing}.", _settings),
    Condition("quiet host", "Nothing else ran on the host", "Keep the host quiet, and state that it was.", _quiet),
)


# Parameters of a load


def seconds_of(parameters: Mapping[str, Any]) -> float | None:
    """Return the length of a run, s, from a field of the parameters, or from "60 s" in their description of the job."""
    for name in ("run_seconds", "runtime"):
        match = re.fullmatch(r"(\d+(?:\.\d+)?) ?(ms|s|m)?", str(parameters.get(name, "")).strip().lower())
        if match:
            return float(match[1]) * {"ms": 0.001, "s": 1.0, "m": 60.0}[match[2] or "s"]
    seconds_in_job = _SECONDS.search(str(parameters.get("job", "")))
    return float(seconds_in_job[1]) if seconds_in_job else None


def warm_up_of(parameters: Mapping[str, Any]) -> float | None:
    """Return the warm-up in the parameters of a load, s."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?) ?s?", str(parameters.get("ramp_time", "")).strip().lower())
    return float(match[1]) if match else None


def is_direct(parameters: Mapping[str, Any]) -> bool:
    """Tell whether the parameters of a load state direct I/O."""
    stated = str(parameters.get("direct", "")).strip().lower()
    return stated in ("1", "true", "yes") or bool(_DIRECT.search(str(parameters.get("job", ""))))


def files_bytes(parameters: Mapping[str, Any]) -> int | None:
    """Return the size of all files that a load works on; None where its parameters do not say.

    KDB writes `file_size_bytes`, of one file, and `files`; the other names are those of benchmarks, and of older rows.
    """
    if total := _bytes(parameters.get("total_size_bytes")):
        return round(total)
    names = ("file_size_bytes", "mean_file_size", "size", "mean_file_kib")
    name = next((name for name in names if name in parameters), "")
    size = _bytes(f"{parameters[name]}k" if name == "mean_file_kib" else parameters[name]) if name else None
    count = next((positive(parameters[name]) for name in ("files", "numjobs") if name in parameters), 1)
    return round(size * count) if size and count else None


def memory_of(
    parameters: Mapping[str, Any], *, is_native: bool, guest_gib: float | None, host_gib: float | None
) -> tuple[float | None, float | None]:
    """Return the bytes of guest and host that a load may use: on its own machine it may be limited to less than all."""
    guest, host = guest_gib and guest_gib * 2**30, host_gib and host_gib * 2**30
    limit = positive(parameters.get("memory_bytes"))
    return (guest, limit or host) if is_native else (limit or guest, host)


def positive(value: Any) -> float | None:
    """Return a parameter as a number above 0; None where it is none."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if number > 0 else None


def _bytes(value: Any) -> float | None:
    """Return a size as a number of bytes, or like "128k", "1g" (powers of two, as the benchmarks read them)."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?) ?([kmgt]?)i?b?", str(value).strip().lower())
    if not match:
        return None
    return float(match[1]) * 1024 ** " kmgt".index(match[2] or " ") or None
