"""Sessions: begun, told of runs, decided. The rows alone say what to run next, whatever process dies."""

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

from . import rechecks, words
from .content import NO_DIFFERENCE, NOT_YET, USE, Choice, Decision, Load, PlannedRun, Refused, Standing
from .prior import Prior, prior_of_choices
from .signals import sitting_ended

MOST_CHOICES = 20
_AHEAD = 30  # further runs that are looked at to say how many it may take


def begin_session(
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
    """Begin a session with its first runs planned. workload : of engines.WORKLOADS; "" under a load of `like`

    like : of observed_load.make_load; nothing published is of that load, so the prior says nothing
    before : what it measures again; runs : made without a server, with which it ends; sent again they are the same one
    """
    names = [choice.name for choice in choices]
    with transaction.atomic():
        if runs:
            Laboratory.objects.select_for_update().get(pk=laboratory.pk)  # the same file may be sent twice at once
            made = [(names.index(run["choice"]), run.get("value"), run.get("disturbed", "")) for run in runs]
            sent = laboratory.sittings.filter(machine=machine, workload=workload, facts=dict(facts))
            for session in sent.prefetch_related("runs"):
                if [(run.choice, run.value, run.disturbed) for run in session.runs.all()] == made:
                    return session
        session = Sitting.objects.create(
            laboratory=laboratory,
            started_by=user,
            machine=machine,
            workload=workload,
            like=like,
            engine=engine,
            choices=[asdict(choice) for choice in choices],
            known=prior_of_choices(workload, choices).as_json(),
            facts=dict(facts),
            seconds=seconds,
            most_runs=len(runs) or most_runs,
            before=before,
        )
        SittingRun.objects.bulk_create(
            SittingRun(
                sitting=session,
                number=number,
                block=run["block"],
                choice=names.index(run["choice"]),
                value=run.get("value"),
                disturbed=run.get("disturbed", ""),
                reported_at=timezone.now(),
            )
            for number, run in enumerate(runs, start=1)
        )
        _continue(session)
    return session


def report_run(session: Sitting, number: int, value: float | None, disturbed: str = "") -> None:
    """Store what a planned run measured, in operations a second, or what disturbed it. Raises Refused.

    The same report twice does no harm. The last run of a block plans the next block, or ends the session.
    """
    with transaction.atomic():
        # Two reports of one session wait for each other: only one of them plans the next block.
        session = Sitting.objects.select_for_update().get(pk=session.pk)
        run = session.runs.filter(number=number).first()
        if run is None:
            raise Refused(f"run {number}: the sitting has no such run")
        if run.reported_at:
            if (run.value, run.disturbed) != (value, disturbed):
                raise Refused(f"run {number}: it was reported before, as {run.value or run.disturbed}")
            return
        run.value, run.disturbed, run.reported_at = value, disturbed, timezone.now()
        run.save(update_fields=["value", "disturbed", "reported_at"])
        if not session.runs.filter(reported_at=None).exists():
            _continue(session)


def choices_of(session: Sitting) -> tuple[Choice, ...]:
    """Return what the session compares."""
    return tuple(Choice(**choice) for choice in session.choices)


def planned_runs(session: Sitting) -> tuple[PlannedRun, ...]:
    """Return the runs to make now; none where the session has ended."""
    names = [choice.name for choice in choices_of(session)]
    return tuple(
        PlannedRun(run.number, run.block, names[run.choice]) for run in session.runs.all() if run.reported_at is None
    )


def load_of(session: Sitting) -> Load:
    """Return what each run of the session does."""
    if session.like:
        job = session.like["job"]
    else:
        shape = engines.SHAPES[session.workload]
        job = engines.fio_job(session.workload, shape, "", session.seconds) + direct_io_lines(session.seconds)
    return load_numbers(session.engine, job)


def load_numbers(engine: str, job: str) -> Load:
    """Return the numbers of a job of our own; the client makes the same job of them, as a test compares."""
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


def direct_io_lines(seconds: int) -> str:
    """Return the lines that end every job: direct I/O, as the files are far smaller than memory."""
    return f"direct=1\nramp_time={warm_up_seconds(seconds)}\n"


def is_guest(session: Sitting) -> bool:
    """Tell whether the machine is virtual: as its program found, else if choices name a guest's file system."""
    virtual = session.facts.get("virtual")
    return virtual == "yes" or (virtual is None and any("guest_fs" in c.settings for c in choices_of(session)))


def warm_up_seconds(seconds: int) -> int:
    """Return how long a run goes on before it counts."""
    return max(1, seconds // 10)


def decide(session: Sitting) -> Decision:
    """Return what is known of the machine so far, beside what was known before."""
    before = _before(session)
    return _decision(session, before, machine.update(before, blocks_of(session)))


def _before(session: Sitting) -> Machine:
    return machine.initial_machine(Prior.from_json(session.known).components, VARIATION**2)


def _continue(session: Sitting) -> None:
    """Plan the next block, or end the session."""
    now = machine.update(_before(session), blocks_of(session))
    stands, count = machine.decide(now, assumptions().margin), session.runs.count()
    is_decided = machine.is_settled(stands) and session.runs.filter(value__isnull=False).exists()
    has_ended = rechecks.is_conclusive(session) if session.before else is_decided or count >= session.most_runs
    if has_ended:
        session.state = Sitting.State.DECIDED if is_decided else Sitting.State.SPENT
        session.ended_at = timezone.now()
        session.save(update_fields=["state", "ended_at"])
        sitting_ended.send(sender=Sitting)
        return
    names = [choice.name for choice in choices_of(session)]
    block = session.runs.order_by("-block").values_list("block", flat=True).first() or 0
    block_of = range(len(names)) if session.before else machine.next_block(now, names)
    # A fixed seed: whoever plans the same block again plans the same order.
    order = np.random.default_rng([session.pk, block]).permutation(block_of)
    SittingRun.objects.bulk_create(
        SittingRun(sitting=session, block=block + 1, number=count + place, choice=int(choice))
        for place, choice in enumerate(order, start=1)
    )


def blocks_of(session: Sitting, among: Collection[int] | None = None) -> list[Block]:
    """Return the runs that count, by block; a single run of a block says nothing.

    among : the choices whose runs are asked for; None: all
    """
    of_block: dict[int, list[tuple[int, float]]] = {}
    for run in session.runs.all():
        if run.value is not None and not run.disturbed and (among is None or run.choice in among):
            of_block.setdefault(run.block, []).append((run.choice, log(run.value)))
    return [
        Block(tuple(choice for choice, _ in runs), tuple(outcome for _, outcome in runs))
        for runs in of_block.values()
        if len(runs) > 1
    ]


def _decision(session: Sitting, before: Machine, now: Machine) -> Decision:
    stands = machine.decide(now, assumptions().margin)
    choices, blocks = choices_of(session), blocks_of(session)
    names = [choice.name for choice in choices]
    counted = [place for block in blocks for place in block.entries]
    here, elsewhere = (ratios_to_first(known, stands.first, names) for known in (now, before))
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
    further = None if kind != NOT_YET else _expected_runs(now, names)
    sentence = words.decision_sentence(kind, rows, alike, assumptions().margin, further, runs=len(counted))
    if session.like:
        sentence = words.under_load_of(session.like["machine"], sentence)
    lines = _set_up(session, choices[stands.first]) if kind == USE else ()
    return Decision(
        kind,
        sentence,
        tuple(rows),
        len(counted),
        further,
        rechecks.compare_with_before(session),
        lines,
        session.known["question"],
    )


def _set_up(session: Sitting, choice: Choice) -> tuple[str, ...]:
    """Return the commands that set up a choice, as far as its settings say."""
    settings: dict[str, Any] = {**choice.settings}
    for side in {"guest_fs", "host_fs"} & settings.keys():
        settings[side] = FileSystem(slug=settings[side])
    is_proxmox = not is_guest(session) and str(session.facts.get("kernel", "")).endswith("-pve")
    if is_guest(session) or is_proxmox:
        slug = "proxmox" if is_proxmox else session.facts.get("hypervisor", "")
        settings["hypervisor"] = Hypervisor(pk=0, slug=slug)
    return lines_of(Configuration(pk=0, **settings))


def ratios_to_first(known: Machine, first: int, names: Sequence[str]) -> list[tuple[float, float, float]]:
    """Return ratio, low and high (95 %) of each choice against this one."""
    every = np.arange(len(names))
    quantiles = known.posterior(names).mean_quantiles(every, np.full_like(every, first), (0.5, 0.025, 0.975))
    return [(float(middle), float(low), float(high)) for middle, low, high in np.exp(quantiles)]


def _expected_runs(now: Machine, names: Sequence[str]) -> int | None:
    """Return how many more runs it takes if they show what is expected; None: more than _AHEAD."""
    expected, runs = now.weights @ now.means, 0
    while runs < _AHEAD:
        places = machine.next_block(now, names)
        now = machine.update(now, [Block(places, tuple(float(expected[place]) for place in places))])
        runs += len(places)
        if machine.is_settled(machine.decide(now, assumptions().margin)):
            return runs
    return None
