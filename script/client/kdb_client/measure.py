"""kdb measure: decide on this machine, run by run. The server says which run is worth most; this makes it.

It says first what it will do, and asks. Whatever ends it, nothing is left behind: see kdb_client.guardian.
"""

import argparse
import json
import math
import os
import platform
import random
import re
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from . import kept, nights
from .client import Client
from .decide import LIKELY, SURE, Standing, Trial
from .errors import KdbError
from .fio_job import checked_load, file_bytes
from .guardian import Guardian, clean
from .loads import LOADS, WORDS, engine_of, load_of, warm_up_of
from .memory import MEMORY
from .output import show
from .places import MAKE, Place, Prepared, check_folder, facts_of, hold, is_guest, set_mib
from .programs import make_load, release_of_program, room_of
from .schedule import CHANGE, Budget, units
from .schedule import add_arguments as add_schedule
from .set_up import formed

BUSY = 0.3  # of one processor, that others may use before a run
STEAL = 0.1  # of the processors' time that the host may take away during a run
_QUIET_TRIES, _LOOK_SECONDS = 10, 2.0
_BUSIEST = 3  # programs that are named
_VISITED = "/measured/"  # in the address of what a visitor measured
_WIDTH = 40
BUSY_BEFORE = "other programs kept the processors busy before it"
QUIET_HINT = "End them, or take runs as they are: --despite-load."
OFFLINE = "kdb_offline"  # the version of a file that was written without one


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add what `kdb measure` takes."""
    command.add_argument("workload", nargs="?", help=f"of {', '.join([*WORDS, *LOADS])}")
    command.add_argument("--like", metavar="MACHINE", help="in its place: the load that was observed on a machine")
    command.add_argument("--laboratory", help="yours, with an account, whose members alone see the numbers")
    command.add_argument("--machine", help="what you call it; its host name unless given")
    command.add_argument("--hypervisor", default="", help="that this machine runs under, where it cannot see that")
    command.add_argument("--place", action="append", default=[], metavar="NAME=FOLDER", help="a folder, as it is")
    command.add_argument("--disk", action="append", default=[], metavar="DEVICE=STORAGE", help="an empty scratch disk")
    command.add_argument("--fs", default="ext4,xfs", help=f"made on each disk: of {','.join(MAKE)}")
    command.add_argument("--seconds", type=int, default=30, help="of one run")
    command.add_argument("--most-runs", type=int, default=24)
    instead = command.add_mutually_exclusive_group()
    instead.add_argument("--again", action="store_true", help="what led here last time, and whether it changed")
    instead.add_argument("--offline", metavar="FILE", help="decide without a server; for kdb upload FILE later")
    instead.add_argument("--ci", action="store_true", help="do not ask: a fixed number of runs, kept as a series")
    command.add_argument("--resume", action="store_true", help="go on with the measurement that was cut off")
    command.add_argument(
        "--despite-load",
        action="store_true",
        help="do not wait until other programs are quiet, and count runs that the host disturbed",
    )
    command.add_argument("--yes", action="store_true", help="do not ask")
    command.add_argument("--clean", action="store_true", help="take away what a measurement left that was killed")
    add_schedule(command)


def measure(client: Client, options: argparse.Namespace) -> int:
    """Return 0: it is decided, or a timer found nothing new. 1: not yet, after as many runs as were allowed. With --ci
    as nights.measure_night does.
    """
    if options.ci:
        nights.check_options(vars(options))
    if (options.like or options.again or options.every) and not options.laboratory:
        raise KdbError("Name your laboratory, where the numbers are kept: --laboratory NAME.")
    if options.resume and options.offline:
        raise KdbError("Without a server nothing is gone on with: leave out --resume.")
    if options.every:
        show(*units(sys.argv[1:]).splitlines())
        return 0
    _clean()
    if options.clean:
        return 0
    options.workload = WORDS.get(options.workload, options.workload)
    places = _places(options)
    if bool(options.workload) == bool(options.like):
        raise KdbError("Name either a workload or, with --like, a machine that was observed.")
    with ExitStack() as held:
        return _measured(client, hold(places, held), options)


def _clean() -> None:
    """Say what was taken away that a killed measurement left. Raises KdbError where anything could not be."""
    kept.forget_old()
    taken, left = clean()
    for thing in taken:
        show(f"Left by a measurement that was killed: {thing}.")
    if left:
        raise KdbError(f"Left by a measurement that was killed: {' '.join(left)} Then: kdb measure --clean")


def _measured(client: Client, places: list[Place], options: argparse.Namespace) -> int:
    if options.offline:
        if Path(options.offline).exists():
            raise KdbError(f"{options.offline} is there already.")
        if options.workload not in LOADS:
            raise KdbError(f"{options.workload or options.like}: without a server it measures {', '.join(LOADS)}.")
    engine, mib = engine_of(options.workload), 0
    release = release_of_program(engine)
    if options.workload in LOADS and engine == "fio" and not options.again:  # which has the files of last time
        # Each night the same, whatever room there is.
        mib = set_mib([] if options.ci else places, load_of(options.workload, options.seconds))
    if not (options.yes or options.ci) and not _agrees(places, options, mib):
        return 1
    in_guest = is_guest()
    asked = {
        **({"laboratory": options.laboratory} if options.laboratory else {}),
        "machine": options.machine or platform.node() or "this machine",
        **({"like": options.like} if options.like else {"workload": options.workload}),
        "seconds": options.seconds,
        "set_mib": mib,
        "choices": [
            {"name": place.choice, "place": place.name, "settings": place.settings(in_guest=in_guest)}
            for place in places
        ],
        "facts": {
            **facts_of(places, options.hypervisor, in_guest=in_guest, waits=not options.despite_load),
            engine: release,
        },
    }
    if options.offline:
        return _offline(places, asked, options)
    if options.ci:
        return _in_ci(client, places, asked, waits=not options.despite_load)
    again = {"again": options.again, "if_changed": options.scheduled == CHANGE}
    of_choice = {place.choice: place for place in places}
    asked["most_runs"] = options.most_runs
    under_way = kept.UnderWay(client, asked, [f"{place.identity} {asked['facts'][engine]}" for place in places])
    sitting = _resumed(under_way, options, of_choice)
    if sitting is None:
        sitting = _checked(under_way.begin({**asked, **again}), of_choice)
    if again["if_changed"] and not sitting["next"]:
        under_way.end()
        show(f"No release changed since sitting {sitting['id']}: nothing is measured.")
        return 0
    if sitting.get("like"):
        show(sitting["like"]["sentence"])
    load, disturbed = _agreed_load(sitting, engine, options), 0
    seconds = load["seconds"] + load["warm_up_seconds"]
    notes: dict[str, str] = {}  # what is to be said of runs, the last of each choice
    _check_room(places, load, engine)
    budget = Budget(options.most_minutes, options.most_written)
    skipped = _why_skipped() if options.scheduled and not options.despite_load else ""
    with Guardian() as guardian:
        while sitting["next"]:
            if under_way.made >= options.most_runs:
                raise KdbError(f"The server asks for more than the {options.most_runs} runs that it may.")
            for run in sitting["next"]:
                place = of_choice[run["choice"]]
                skipped = skipped or budget.why_not(seconds, file_bytes(load))
                waits = not options.despite_load
                report = {"disturbed": skipped} if skipped else _one_run(place, load, engine, guardian, waits=waits)
                show(f"run {run['number']:2}  {run['choice']:24}  {_shown(report, engine)}")
                answer = under_way.report(sitting["id"], run["number"], report, counts=run["block"] > 0)
                sitting = _checked(answer, of_choice)
                disturbed = disturbed + 1 if BUSY_BEFORE in report.get("disturbed", "") else 0
                ends = _why_in_vain(run["choice"], report)
                notes |= {run["choice"]: report["note"]} if "note" in report else {}
                if disturbed >= len(places) and not options.scheduled:
                    ends = f"Other programs keep the machine busy: {_busiest()}. {QUIET_HINT}"
                if ends:
                    under_way.end()  # the next one has all its runs
                    raise KdbError(ends)
    under_way.end()
    _tell(sitting, of_choice, under_way.page or _page(client, sitting))
    for choice, note in notes.items():
        show(f"{choice}: {note}.")
    return 0 if sitting["state"] == "decided" else 1


def _in_ci(client: Client, places: list[Place], asked: dict[str, Any], *, waits: bool) -> int:
    if asked["workload"] not in LOADS:
        raise KdbError(f"{asked['workload']}: with --ci it measures {', '.join(LOADS)}.")
    load, engine = load_of(asked["workload"], asked["seconds"], asked["set_mib"]), engine_of(asked["workload"])
    _check_room(places, load, engine)
    of_choice = {place.choice: place for place in places}
    with Guardian() as guardian:

        def one_run(choice: str) -> dict[str, Any]:
            try:
                report = _one_run(of_choice[choice], load, engine, guardian, waits=waits)
            except KdbError as error:  # of one place; the others' runs count
                report = {"disturbed": str(error)[:200]}
            show(f"{choice:24}  {_shown(report, engine)}")
            return report

        return nights.measure_night(client, asked, one_run)


def _agreed_load(sitting: Any, engine: str, options: argparse.Namespace) -> dict[str, int]:
    """Return the load of a server's sitting. Raises KdbError where its runs take longer than was agreed to."""
    load = checked_load(sitting.get("load"), engine)
    seconds, warm_up = load["seconds"], load["warm_up_seconds"]
    if seconds > options.seconds or (seconds < options.seconds and not options.again):
        hint = f" Were they that long before: --seconds {seconds}." * options.again
        raise KdbError(f"The server's runs take {seconds} seconds; {options.seconds} were asked for.{hint}")
    if warm_up > warm_up_of(seconds):
        raise KdbError(
            f"The server's runs of {seconds} seconds warm up for {warm_up}; allowed are {warm_up_of(seconds)}."
        )
    return load


def _checked(sitting: Any, names: Collection[str]) -> Any:
    """Return a server's answer whose numbers are numbers and whose choices are among these. Raises KdbError."""
    try:
        planned, rows = [run["choice"] for run in sitting["next"]], sitting["decision"]["choices"]
        numbers = [sitting["id"], *(run["number"] for run in sitting["next"])]
        blocks = [run.setdefault("block", 1) for run in sitting["next"]]
        like = (sitting.get("like") or {"sentence": ""})["sentence"]
        texts = [*sitting["decision"]["set_up"], *(change["sentence"] for change in sitting["decision"]["changes"])]
        unknown = {*planned, *(row["name"] for row in rows)} - set(names)
        is_right = (
            all(type(number) is int and number > 0 for number in numbers)
            and all(type(block) is int and block >= 0 for block in blocks)
            and len(set(planned)) == len(planned)
            and all(isinstance(text, str) for text in (*texts, like, sitting["state"], sitting["decision"]["sentence"]))
            and all(1e-9 < row["low"] <= row["ratio"] <= row["high"] < 1e9 for row in rows)
            and bool(rows)
            and type(sitting["decision"]["runs"]) is int
        )
    except (KeyError, TypeError, AttributeError):
        raise KdbError("The server's answer is none to a measurement.") from None
    if unknown:
        raise KdbError(f"The server answers about {', '.join(sorted(map(str, unknown)))}, which was not named here.")
    if not is_right:
        raise KdbError("The server's answer has numbers or texts that cannot be: nothing more is run.")
    return sitting


def _resumed(under_way: kept.UnderWay, options: argparse.Namespace, of_choice: Mapping[str, Place]) -> Any:
    """Return the sitting to go on with; None: a new one is begun."""
    if options.again or options.scheduled:
        return None
    sitting = under_way.find()
    sitting = sitting and _checked(sitting, of_choice)
    if not (sitting and sitting["next"]):
        if options.resume:
            raise KdbError("Nothing that was begun with these words is unfinished.")
        return None
    show(f"Going on with sitting {sitting['id']}, which was cut off.")
    if under_way.age > kept.SAME_BLOCK_WITHIN:  # runs of a block are compared with one another
        for run in sitting["next"]:
            report = {"disturbed": kept.CUT_OFF}
            sitting = _checked(under_way.report(sitting["id"], run["number"], report, counts=False), of_choice)
    return sitting


def _page(client: Client, sitting: Any) -> str:
    return f"{client.configuration.url}/laboratories/sittings/{sitting['id']}/"


def _offline(places: list[Place], asked: dict[str, Any], options: argparse.Namespace) -> int:
    """Run block by block until the decision stands, say it, and write what a server is told later."""
    asked["facts"]["measured_at"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    load, engine = load_of(options.workload, options.seconds, asked["set_mib"]), engine_of(options.workload)
    _check_room(places, load, engine)
    runs: list[dict[str, Any]] = []
    notes: dict[str, str] = {}
    trial = Trial([place.name for place in places])
    standing, block, waits = trial.standing(), 0, not options.despite_load
    with Guardian() as guardian:
        first = random.choice(places)  # noqa: S311 - no secret
        report = _one_run(first, load, engine, guardian, waits=waits)
        show(f"warm-up  {'':24}  {_shown(report, engine)}")
        while len(runs) + 1 < options.most_runs and not trial.is_settled(standing):
            block += 1
            chosen = trial.next_block(standing)[: options.most_runs - len(runs)]
            random.shuffle(chosen)
            counted = {}
            for number in chosen:
                report = _one_run(places[number], load, engine, guardian, waits=waits)
                runs.append({"block": block, "choice": places[number].choice, **report})
                show(f"run {len(runs):2}  {places[number].choice:24}  {_shown(report, engine)}")
                notes |= {places[number].choice: report["note"]} if "note" in report else {}
                if ends := _why_in_vain(places[number].choice, report):
                    raise KdbError(ends)
                if "value" in report:
                    counted[number] = math.log(report["value"])
            if not counted and block == 1:
                raise KdbError(f"Other programs keep the machine busy: {_busiest()}. {QUIET_HINT}")
            if len(counted) > 1:
                trial.update([*counted], [*counted.values()])
                standing = trial.standing()
            Path(options.offline).write_text(json.dumps({OFFLINE: 1, **asked, "runs": runs}, indent=1), "utf-8")
    is_decided = trial.is_settled(standing)
    show("", *_offline_words(places, trial, standing, is_decided=is_decided))
    for choice, note in notes.items():
        show(f"{choice}: {note}.")
    show("", f"Where the server can be reached: kdb upload {options.offline}")
    return 0 if is_decided else 1


def _offline_words(places: Sequence[Place], trial: Trial, standing: Standing, *, is_decided: bool) -> list[str]:
    names = [place.choice for place in places]
    order = sorted(range(len(places)), key=lambda i: (i != standing.first, standing.losses[i]))
    rows = [{"name": names[i], **dict(zip(("ratio", "low", "high"), standing.ratios[i], strict=True))} for i in order]
    alike = [names[i] for i in order if standing.within[i] >= SURE]
    if not any(trial.runs):
        return [f"No run counts. {QUIET_HINT}"]
    if not is_decided:
        sentence = f"{sum(trial.runs)} runs did not decide yet; {names[standing.first]} leads."
    elif len(alike) > 1:
        sentence = f"{' or '.join(alike)}: either is fine on this machine."
    else:
        tied = [names[i] for i in order[1:] if standing.within[i] > LIKELY]
        sentence = f"Use {names[standing.first]} on this machine."
        sentence += f" {' or '.join(tied)} may be as good." if tied else ""
    return [sentence, "", *chart(rows).splitlines()]


def send(client: Client, path: Path) -> int:
    """Send what was measured without a server, once: sent again it is the same sitting. Raises KdbError."""
    try:
        made = json.loads(path.read_text(encoding="utf-8"))
        if made.pop(OFFLINE) != 1:
            raise KdbError(f"{path} was written by a newer kdb; upload it with that.")
        names = [choice["name"] for choice in made["choices"]]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise KdbError(
            f"{path} is no file of kdb measure --offline, or not all of it. Other results need --case-study DRAFT."
        ) from None
    if "laboratory" in made:
        sitting = _checked(client.post("sittings/", made), names)
    else:
        _, sitting = kept.begin_as_visitor(client, made)
        sitting = _checked(sitting, names)
    _tell(sitting, {}, sitting.get("page") or _page(client, sitting))
    return 0 if sitting["state"] == "decided" else 1


def _check_room(places: list[Place], load: Mapping[str, int], engine: str) -> None:
    for place in places:
        if not place.fs:
            check_folder(place.path, room_of(engine, load))


def _places(options: argparse.Namespace) -> list[Place]:
    places = []
    for named in options.place:
        name, equals, folder = named.partition("=")
        folder, stated = _stated(folder)
        if not equals or not name or not folder:
            raise KdbError(f"--place {named}: found no NAME=FOLDER, such as ssd=/mnt/a.")
        places.append(Place(name, str(Path(folder).absolute()), stated=stated))
    kinds = [fs.strip() for fs in options.fs.split(",") if fs.strip()]
    for named in options.disk:
        device, _, storage = named.partition("=")
        storage, stated = _stated(storage)
        name = " ".join([storage or Path(device).name, *stated.values()])
        for fs in kinds:
            if fs not in MAKE:
                raise KdbError(f"--fs {fs}: allowed are {', '.join(MAKE)}.")
            places.append(Place(name, device, fs, storage, stated))
    names = [place.choice for place in places]
    if len(names) < (1 if options.ci else 2) or len(set(names)) < len(names):
        raise KdbError("Name two or more things to compare, each by its own name: --place a=/mnt/a --place b=/mnt/b.")
    return places


def _stated(text: str) -> tuple[str, dict[str, str]]:
    """Return ("zvol", {"cache_mode": "none"}) of "zvol,cache_mode=none"."""
    first, *settings = re.split(r",(?=[a-z_]+=)", text)
    return first, dict(setting.split("=", 1) for setting in settings)


def _agrees(places: list[Place], options: argparse.Namespace, mib: int) -> bool:
    minutes = options.most_runs * (options.seconds + 15) / 60
    load = f"of {options.like}" if options.like else options.workload
    size = f" on {mib} MiB of files" if mib else ""
    engine = engine_of(options.workload)
    show(f"Runs of {options.seconds} s under the load {load}{size}, by {engine}, one after the other, on")
    for place in places:
        made = f"a new {place.fs} on {place.path}, WHICH IS OVERWRITTEN" if place.fs else f"files in {place.path}"
        show(f"  {place.choice}: {made}")
    whom = options.offline or "a page of the server, which whoever knows its address can see for 30 days"
    if options.laboratory and not options.offline:
        whom = f"the laboratory {options.laboratory}, which its members see"
    show(
        f"At most {options.most_runs} of them, {minutes:.0f} minutes; mostly it takes fewer. Nothing is left "
        f"behind. Numbers go to {whom}."
    )
    show("Begin? [y/N] ", end="")
    return _answered().strip().lower() in ("y", "yes")


def _answered() -> str:
    """Return a line of the input; where that has ended, as the one-file form's has, of the terminal."""
    if line := sys.stdin.readline():
        return line
    try:
        with open("/dev/tty", encoding="utf-8") as terminal:
            return terminal.readline()
    except OSError:  # nobody is there
        return ""


def share(client: Client, options: argparse.Namespace) -> int:
    """Make a draft case study of a sitting that has ended."""
    sitting = client.post(f"sittings/{options.sitting}/share/", {})
    show(f"{client.configuration.url}/drafts/{sitting['case_study']}/")
    return 0


# A run


def _one_run(place: Place, load: Mapping[str, int], engine: str, guardian: Guardian, *, waits: bool) -> dict[str, Any]:
    """Return what is reported of the run: its value and what is to be said of it, or what disturbed it.

    waits : until other programs are quiet, and takes nothing that the host disturbed or memory answered
    """
    if waits and not any(_busy(_LOOK_SECONDS) <= BUSY for _ in range(_QUIET_TRIES)):
        return {"disturbed": BUSY_BEFORE}
    with Prepared(place, guardian) as folder:
        check_folder(folder, room_of(engine, load))
        before = _cpu()
        rate, note, memory = make_load(engine, load, folder, guardian)
        after = _cpu()
    stolen = (after["steal"] - before["steal"]) / max(1, after["all"] - before["all"])
    if waits and stolen > STEAL:
        return {"disturbed": f"the host took {stolen:.0%} of the processors' time away"}
    if waits and memory:
        return {"disturbed": memory, "note": memory}
    note = "; ".join(filter(None, (memory, note)))
    return {"value": rate, **({"note": note} if note else {})}


def _why_in_vain(choice: str, report: Mapping[str, str]) -> str:
    """Say why no run of a choice will count; "" where it may."""
    why = report.get("disturbed", "")
    return f"{choice}: {why}. Name another place, or take it as it is: --despite-load." if MEMORY in why else ""


def _why_skipped() -> str:
    """Say why a timer's measurement is skipped as a whole; "" where the machine is quiet."""
    busy = _busy(_LOOK_SECONDS)
    return "" if busy <= BUSY else f"skipped: other programs kept {busy:.1f} processors busy"


def _busy(seconds: float) -> float:
    """Return how many processors others use, over so many seconds."""
    before, at = _cpu(), time.monotonic()
    time.sleep(seconds)
    after = _cpu()
    ticks = (after["all"] - before["all"]) / max(1e-9, time.monotonic() - at)
    share = 1 - (after["idle"] - before["idle"]) / max(1, after["all"] - before["all"])
    return share * ticks / 100  # the kernel counts hundredths of a second, of each processor


def _busiest() -> str:
    """Name the programs that use most of the processors now."""
    before = _used()
    time.sleep(_LOOK_SECONDS)
    used = {program: ticks - before.get(program, ticks) for program, ticks in _used().items()}
    most = sorted(used, key=lambda program: -used[program])[:_BUSIEST]
    share = 1 / _LOOK_SECONDS / os.sysconf("SC_CLK_TCK")
    return ", ".join(f"{name} ({pid}) {used[name, pid] * share:.0%}" for name, pid in most if used[name, pid])


def _used() -> dict[tuple[str, str], int]:
    """Return the ticks of a processor that each program used, by name and number."""
    used = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = path.read_text(encoding="utf-8", errors="replace").partition(" (")[2].rpartition(") ")
        except OSError:  # it has ended
            continue
        fields = rest.split()
        used[name, path.parent.name] = int(fields[11]) + int(fields[12])
    return used


def _cpu() -> dict[str, int]:
    fields = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:9]
    user, nice, system, idle, iowait, irq, softirq, steal = map(int, fields)
    return {
        "all": user + nice + system + idle + iowait + irq + softirq + steal,
        "idle": idle + iowait + steal,
        "steal": steal,
    }


# Words


def _shown(report: Mapping[str, Any], engine: str) -> str:
    if "value" not in report:
        return f"disturbed: {report['disturbed']}"
    unit = "operations" if engine == "fio" else "transactions"
    return f"{report['value']:,.0f} {unit} a second" + (f"; {report['note']}" if "note" in report else "")


def _tell(sitting: Any, of_choice: dict[str, Place], page: str) -> None:
    decision = sitting["decision"]
    show("", decision["sentence"], "", *chart(decision["choices"]).splitlines(), "")
    show(page)
    show(*(change["sentence"] for change in decision["changes"]), end="\n" if decision["changes"] else "")
    first = of_choice.get(decision["choices"][0]["name"])
    if first and (lines := formed(first, decision["set_up"], in_guest=is_guest())):
        show("", "Set it up:", *(f"  {line}" for line in lines))
    if not decision["runs"]:
        show("", "No run counts. Where the machine is never quiet, --despite-load takes them as they are.")
    elif sitting["state"] != "open" and not sitting.get("like"):
        by = f"kdb share {sitting['id']} makes a draft case study, as the button on that page does."
        show("", f"Share it: {by}" if _VISITED not in page else "The button there adds it to the knowledge base.")


def chart(rows: Sequence[Any]) -> str:
    """Return a line for each choice: its speed as a dot in its interval, farther right is faster, in ratios."""
    lowest, highest = (math.log(pick(row[end] for row in rows)) for pick, end in ((min, "low"), (max, "high")))
    step = max(highest - lowest, 1e-9) / (_WIDTH - 1)
    lines = []
    for row in rows:
        low, dot, high = (round((math.log(row[name]) - lowest) / step) for name in ("low", "ratio", "high"))
        signs = [" "] * low + ["-"] * (high - low + 1) + [" "] * (_WIDTH - 1 - high)
        signs[dot] = "o"
        interval = f"{row['ratio']:.2f} ({row['low']:.2f} to {row['high']:.2f})"
        lines.append(f"  {row['name']:24} {''.join(signs)}  {interval}")
    return "\n".join(lines)
