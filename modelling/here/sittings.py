"""Sittings: begun, told of runs, and decided. Whatever dies meanwhile, the rows say what is to be run next."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from math import log
from typing import Any

import numpy as np
from django.db import transaction
from django.utils import timezone

from experiments.laboratory.benchmarks import engines
from experiments.models import Configuration, FileSystem, Hypervisor
from modelling.answers.knowledge import assumptions
from modelling.answers.set_up import lines_of
from modelling.estimation import machine
from modelling.estimation.machine import SURE, VARIATION, Block, Machine
from modelling.models import Laboratory, Sitting, SittingRun

from . import again, words
from .content import NO_DIFFERENCE, NOT_YET, USE, Choice, Decision, Load, PlannedRun, Standing
from .known import Known, known_of
from .signals import sitting_ended

MOST_CHOICES = 20
_AHEAD = 30  # further runs that are looked at to say how many it may take


class Refused(Exception):  # noqa: N818
    """The request cannot be carried out; the text says why."""


def begin(
    laboratory: Laboratory,
    user: Any,
    *,
    machine: str,
    workload: str,
    engine: str,
    choices: Sequence[Choice],
    seconds: int,
    most_runs: int,
    facts: Mapping[str, object],
    like: Mapping[str, Any] | None = None,
    before: Sitting | None = None,
    runs: Sequence[Mapping[str, Any]] = (),
) -> Sitting:
    """Begin a sitting with its first runs planned. workload : of engines.WORKLOADS; "" under a load of `like`

    like : of likeness.like; what others published is of other loads, and it begins with nothing of it
    before : what it measures again; runs : made without a server, with which it ends; sent again they are one sitting
    """
    names = [choice.name for choice in choices]
    with transaction.atomic():
        if runs:
            Laboratory.objects.select_for_update().get(pk=laboratory.pk)  # the same file may be sent twice at once
            made = [(names.index(run["choice"]), run.get("value"), run.get("disturbed", "")) for run in runs]
            sent = laboratory.sittings.filter(machine=machine, workload=workload, facts=dict(facts))
            for sitting in sent.prefetch_related("runs"):
                if [(run.choice, run.value, run.disturbed) for run in sitting.runs.all()] == made:
                    return sitting
        sitting = Sitting.objects.create(
            laboratory=laboratory,
            started_by=user,
            machine=machine,
            workload=workload,
            like=like,
            engine=engine,
            choices=[asdict(choice) for choice in choices],
            known=known_of(workload, choices).as_json(),
            facts=dict(facts),
            seconds=seconds,
            most_runs=len(runs) or most_runs,
            before=before,
        )
        SittingRun.objects.bulk_create(
            SittingRun(
                sitting=sitting,
                number=number,
                block=run["block"],
                choice=names.index(run["choice"]),
                value=run.get("value"),
                disturbed=run.get("disturbed", ""),
                reported_at=timezone.now(),
            )
            for number, run in enumerate(runs, start=1)
        )
        _go_on(sitting)
    return sitting


def report(sitting: Sitting, number: int, value: float | None, disturbed: str = "") -> None:
    """Keep what a planned run showed, operations a second, or what disturbed it. Raises Refused.

    The same report twice does no harm. When the last run of a block is reported, the next ones are planned or the
    sitting ends.
    """
    with transaction.atomic():
        # Two reports of one sitting wait for each other: only one of them plans the next block.
        sitting = Sitting.objects.select_for_update().get(pk=sitting.pk)
        run = sitting.runs.filter(number=number).first()
        if run is None:
            raise Refused(f"run {number}: the sitting has no such run")
        if run.reported_at:
            if (run.value, run.disturbed) != (value, disturbed):
                raise Refused(f"run {number}: it was reported before, as {run.value or run.disturbed}")
            return
        run.value, run.disturbed, run.reported_at = value, disturbed, timezone.now()
        run.save(update_fields=["value", "disturbed", "reported_at"])
        if not sitting.runs.filter(reported_at=None).exists():
            _go_on(sitting)


def choices_of(sitting: Sitting) -> tuple[Choice, ...]:
    """Return what the sitting compares."""
    return tuple(Choice(**choice) for choice in sitting.choices)


def planned(sitting: Sitting) -> tuple[PlannedRun, ...]:
    """Return the runs to make now; none where the sitting has ended."""
    names = [choice.name for choice in choices_of(sitting)]
    return tuple(
        PlannedRun(run.number, run.block, names[run.choice]) for run in sitting.runs.all() if run.reported_at is None
    )


def load_of(sitting: Sitting) -> Load:
    """Return what each run of the sitting does."""
    if sitting.like:
        job = sitting.like["job"]
    else:
        shape = engines.SHAPES[sitting.workload]
        job = engines.fio_job(sitting.workload, shape, "", sitting.seconds) + past_the_memory(sitting.seconds)
    return numbers_of(sitting.engine, job)


def numbers_of(engine: str, job: str) -> Load:
    """Return the numbers of a job of our own; the client makes this job of them again, as a test compares."""
    options = dict(line.split("=", 1) for line in job.splitlines()[1:])
    numbers = {key: int(value) for key, value in options.items() if value.isdecimal()}
    # "16384,8192", or "4096/60:8192/40,12288/100": sizes, each perhaps with shares of it and of its double.
    (read_bytes, read_doubled), (write_bytes, write_doubled) = (
        (int(size.partition("/")[0]), int(size.rpartition("/")[2]) if ":" in size else 0)
        for size in (options.get("bs") or options["bssplit"]).split(",")
    )
    return Load(
        engine=engine,
        seconds=numbers["runtime"],
        warm_up_seconds=numbers["ramp_time"],
        threads=numbers["numjobs"],
        files=numbers["nrfiles"],
        file_bytes=numbers["filesize"],
        read_percent={"randread": 100, "randwrite": 0}.get(options["rw"], numbers.get("rwmixread", 50)),
        read_bytes=read_bytes,
        read_doubled_percent=read_doubled,
        write_bytes=write_bytes,
        write_doubled_percent=write_doubled,
        fsync_every=numbers.get("fsync", 0),
        fdatasync_every=numbers.get("fdatasync", 0),
        overwrite=numbers.get("overwrite", 0),
    )


def past_the_memory(seconds: int) -> str:
    """Return the lines that every job ends with, so that the disk answers: the files are far smaller than memory."""
    return f"direct=1\nramp_time={warm_up_seconds(seconds)}\n"


def is_guest(sitting: Sitting) -> bool:
    """Tell whether the machine is virtual: as its program found, else as a guest's file system among the choices."""
    virtual = sitting.facts.get("virtual")
    return virtual == "yes" or (virtual is None and any("guest_fs" in c.settings for c in choices_of(sitting)))


def warm_up_seconds(seconds: int) -> int:
    """Return how long a run of so many seconds goes on before what counts."""
    return max(1, seconds // 10)


def decision(sitting: Sitting) -> Decision:
    """Return what is known of the machine so far, beside what was known before."""
    before = _before(sitting)
    return _decided(sitting, before, machine.after(before, blocks_of(sitting)))


def _before(sitting: Sitting) -> Machine:
    return machine.before(Known.from_json(sitting.known).components, VARIATION**2)


def _go_on(sitting: Sitting) -> None:
    """Plan the next block, or end the sitting."""
    now = machine.after(_before(sitting), blocks_of(sitting))
    stands, count = machine.standing(now, assumptions().margin), sitting.runs.count()
    is_decided = machine.is_settled(stands) and sitting.runs.filter(value__isnull=False).exists()
    has_ended = again.is_told(sitting) if sitting.before else is_decided or count >= sitting.most_runs
    if has_ended:
        sitting.state = Sitting.State.DECIDED if is_decided else Sitting.State.SPENT
        sitting.ended_at = timezone.now()
        sitting.save(update_fields=["state", "ended_at"])
        sitting_ended.send(sender=Sitting)
        return
    names = [choice.name for choice in choices_of(sitting)]
    block = sitting.runs.order_by("-block").values_list("block", flat=True).first() or 0
    block_of = range(len(names)) if sitting.before else machine.next_block(now, names)
    # A fixed seed: whoever plans the same block again plans the same order.
    order = np.random.default_rng([sitting.pk, block]).permutation(block_of)
    SittingRun.objects.bulk_create(
        SittingRun(sitting=sitting, block=block + 1, number=count + place, choice=int(choice))
        for place, choice in enumerate(order, start=1)
    )


def blocks_of(sitting: Sitting, among: Collection[int] | None = None) -> list[Block]:
    """Return the runs that count, by block; a block of which one alone counts tells nothing.

    among : the choices whose runs are asked for; None: all
    """
    of_block: dict[int, list[tuple[int, float]]] = {}
    for run in sitting.runs.all():
        if run.value is not None and not run.disturbed and (among is None or run.choice in among):
            of_block.setdefault(run.block, []).append((run.choice, log(run.value)))
    return [
        Block(tuple(choice for choice, _ in runs), tuple(outcome for _, outcome in runs))
        for runs in of_block.values()
        if len(runs) > 1
    ]


def _decided(sitting: Sitting, before: Machine, now: Machine) -> Decision:
    stands = machine.standing(now, assumptions().margin)
    choices, blocks = choices_of(sitting), blocks_of(sitting)
    names = [choice.name for choice in choices]
    counted = [place for block in blocks for place in block.entries]
    here, elsewhere = (ratios(known, stands.first, names) for known in (now, before))
    rows = [
        Standing(
            choice.name,
            counted.count(place),
            *here[place],
            float(stands.within[place]),
            100 * float(stands.losses[place]),
            *elsewhere[place],
        )
        for place, choice in enumerate(choices)
    ]
    rows.sort(key=lambda row: (row.name != choices[stands.first].name, row.loss, row.name))
    alike = [row.name for row in rows if row.within >= SURE]
    kind = NOT_YET if not (counted and machine.is_settled(stands)) else NO_DIFFERENCE if len(alike) > 1 else USE
    further = None if kind != NOT_YET else _further(now, names)
    sentence = words.sentence(kind, rows, alike, assumptions().margin, further, runs=len(counted))
    if sitting.like:
        sentence = words.under(sitting.like["machine"], sentence)
    lines = _set_up(sitting, choices[stands.first]) if kind == USE else ()
    return Decision(
        kind, sentence, tuple(rows), len(counted), further, again.changes(sitting), lines, sitting.known["question"]
    )


def _set_up(sitting: Sitting, choice: Choice) -> tuple[str, ...]:
    """Return the command lines that make a choice, as far as its settings say."""
    settings: dict[str, Any] = {**choice.settings}
    for side in {"guest_fs", "host_fs"} & settings.keys():
        settings[side] = FileSystem(slug=settings[side])
    is_proxmox = not is_guest(sitting) and str(sitting.facts.get("kernel", "")).endswith("-pve")
    if is_guest(sitting) or is_proxmox:
        slug = "proxmox" if is_proxmox else sitting.facts.get("hypervisor", "")
        settings["hypervisor"] = Hypervisor(pk=0, slug=slug)
    return lines_of(Configuration(pk=0, **settings))


def ratios(known: Machine, first: int, names: Sequence[str]) -> list[tuple[float, float, float]]:
    """Return ratio, low and high of each choice against the one that comes first, 95 %."""
    every = np.arange(len(names))
    quantiles = known.posterior(names).mean_quantiles(every, np.full_like(every, first), (0.5, 0.025, 0.975))
    return [(float(middle), float(low), float(high)) for middle, low, high in np.exp(quantiles)]


def _further(now: Machine, names: Sequence[str]) -> int | None:
    """Return how many runs it takes yet, if they show what is expected now; None where more than are looked at."""
    expected, runs = now.weights @ now.means, 0
    while runs < _AHEAD:
        places = machine.next_block(now, names)
        now = machine.after(now, [Block(places, tuple(float(expected[place]) for place in places))])
        runs += len(places)
        if machine.is_settled(machine.standing(now, assumptions().margin)):
            return runs
    return None
