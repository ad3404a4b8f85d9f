"""Sessions: begun, told of runs, decided. The rows alone say what to run next, whatever process dies."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from math import log
from typing import Any

import numpy as np
from django.db import transaction
from django.utils import timezone

from experiments.models import Configuration, FileSystem, Hypervisor
from modelling.answers.knowledge import assumptions
from modelling.answers.set_up import lines_of
from modelling.estimation import sequential
from modelling.estimation.machine import SURE, Block, Machine
from modelling.estimation.sequential import Trial
from modelling.models import Laboratory, Sitting, SittingRun

from . import laboratories, rechecks, words
from .content import NO_DIFFERENCE, NOT_YET, USE, Choice, Decision, PlannedRun, Refused, Standing
from .prior import Prior, nothing_known, prior_of_choices
from .signals import sitting_ended

MOST_CHOICES = 20
WARM_UP = "the first run of all warms up"
LEAST_BLOCK = 2  # runs: fewer compare nothing
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
    set_mib: int = 0,
    runs: Sequence[Mapping[str, Any]] = (),
    is_night: bool = False,
) -> Sitting:
    """Begin a session with its first runs planned. Raises Refused where the laboratory has no room.

    laboratory : stored with it where it is new; workload : of loads.WORKLOADS; "" under a load of `like`
    like : of observed_load.make_load; nothing published is of that load, so the prior says nothing
    before : what it measures again; runs : made without a server, with which it ends; sent again they are the same one
    is_night : its runs were planned beforehand, so they end it, and nothing is decided for it
    """
    names = [choice.name for choice in choices]
    prior = nothing_known(choices) if is_night else prior_of_choices(workload, choices)
    known = prior.as_json()  # takes a while: before anything is locked
    with transaction.atomic():
        if laboratory.pk is None:
            laboratory.save()
        elif runs:
            Laboratory.objects.select_for_update().get(pk=laboratory.pk)  # the same file may be sent twice at once
            made = [(names.index(run["choice"]), run.get("value"), run.get("disturbed", "")) for run in runs]
            sent = laboratory.sittings.filter(machine=machine, workload=workload, facts=dict(facts))
            for session in sent.prefetch_related("runs"):
                if [(run.choice, run.value, run.disturbed) for run in session.runs.all()] == made:
                    return session
        laboratories.check_room(laboratory)
        session = Sitting.objects.create(
            laboratory=laboratory,
            started_by=user,
            machine=machine,
            workload=workload,
            like=like,
            engine=engine,
            choices=[asdict(choice) for choice in choices],
            known=known,
            facts=dict(facts),
            seconds=seconds,
            most_runs=len(runs) or most_runs,
            before=before,
            set_mib=set_mib,
            is_night=is_night,
            **({"state": Sitting.State.SPENT, "ended_at": timezone.now()} if is_night else {}),
        )
        SittingRun.objects.bulk_create(
            SittingRun(
                sitting=session,
                number=number,
                block=run["block"],
                choice=names.index(run["choice"]),
                value=run.get("value"),
                disturbed=run.get("disturbed", ""),
                note=run.get("note", ""),
                reported_at=timezone.now(),
            )
            for number, run in enumerate(runs, start=1)
        )
        if not is_night:
            _continue(session)
    return session


def report_run(session: Sitting, number: int, value: float | None, disturbed: str = "", note: str = "") -> None:
    """Store what a planned run measured, in operations a second, or what disturbed it. Raises Refused.

    note : what is to be said of it, whether it counts or not

    The same report twice does no harm. The last run of a block plans the next block, or ends the session.
    """
    with transaction.atomic():
        # Two reports of one session wait for each other: only one of them plans the next block.
        session = Sitting.objects.select_for_update().get(pk=session.pk)
        run = session.runs.filter(number=number).first()
        if run is None:
            raise Refused(f"run {number}: the sitting has no such run")
        if run.block == 0:
            disturbed = disturbed or WARM_UP
        if run.reported_at:
            if (run.value, run.disturbed) != (value, disturbed):
                raise Refused(f"run {number}: it was reported before, as {run.value or run.disturbed}")
            return
        run.value, run.disturbed, run.note, run.reported_at = value, disturbed, note, timezone.now()
        run.save(update_fields=["value", "disturbed", "note", "reported_at"])
        if not session.runs.filter(reported_at=None).exists():
            _continue(session)


def notes_of(session: Sitting) -> dict[str, str]:
    """Return what is to be said of runs, the last of each choice, by its name."""
    return {session.choices[run.choice]["name"]: run.note for run in session.runs.all() if run.note}


def choices_of(session: Sitting) -> tuple[Choice, ...]:
    """Return what the session compares."""
    return tuple(Choice(**choice) for choice in session.choices)


def planned_runs(session: Sitting) -> tuple[PlannedRun, ...]:
    """Return the runs to make now; none where the session has ended."""
    names = [choice.name for choice in choices_of(session)]
    return tuple(
        PlannedRun(run.number, run.block, names[run.choice]) for run in session.runs.all() if run.reported_at is None
    )


def is_guest(session: Sitting) -> bool:
    """Tell whether the machine is virtual: as its program found, else if choices name a guest's file system."""
    virtual = session.facts.get("virtual")
    return virtual == "yes" or (virtual is None and any("guest_fs" in c.settings for c in choices_of(session)))


def decide(session: Sitting) -> Decision:
    """Return what is known of the machine so far, beside what was known before."""
    before = _before(session)
    return _decision(session, before, sequential.update(before, blocks_of(session)))


def _before(session: Sitting) -> Trial:
    return sequential.begin(Prior.from_json(session.known).components)


def _continue(session: Sitting) -> None:
    """Plan the next block, or end the session."""
    now = sequential.update(_before(session), blocks_of(session))
    stands, made = now.standing(assumptions().margin), session.runs.exclude(block=0).count()
    left = session.most_runs - made
    is_decided = rechecks.is_sure(session) if session.before else sequential.is_settled(stands, now.runs)
    if is_decided or left < LEAST_BLOCK or (session.before and made >= rechecks.MOST_RUNS):
        session.state = Sitting.State.DECIDED if is_decided else Sitting.State.SPENT
        session.ended_at = timezone.now()
        session.save(update_fields=["state", "ended_at"])
        if session.laboratory.expires_at is None:
            sitting_ended.send(sender=Sitting)
        return
    newest = session.runs.order_by("-block").values_list("block", flat=True).first()
    block = 0 if newest is None else newest + 1
    among = range(len(session.choices)) if session.before else sequential.next_block(stands, now.runs)[:left]
    # A fixed seed: whoever plans the same block again plans the same order.
    order = np.random.default_rng([session.pk, block]).permutation(among)[: None if block else 1]
    SittingRun.objects.bulk_create(
        SittingRun(sitting=session, block=block, number=(made + 1 if block else 0) + place, choice=int(choice))
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


def _decision(session: Sitting, before: Trial, now: Trial) -> Decision:
    margin, has_ended = assumptions().margin, session.ended_at is not None
    stands = now.standing(margin)
    choices, blocks = choices_of(session), blocks_of(session)
    names = [choice.name for choice in choices]
    counted = [place for block in blocks for place in block.entries]
    here, elsewhere = (ratios_to_first(known.machine, stands.first, names) for known in (now, before))
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
    # What was decided stays so, by whatever rule that was.
    is_decided = session.state == Sitting.State.DECIDED or sequential.is_settled(stands, now.runs)
    kind = NOT_YET if not is_decided else NO_DIFFERENCE if len(alike) > 1 else USE
    # While it goes on the runs themselves tell it soon.
    further = _expected_runs(now) if kind == NOT_YET and has_ended else None
    sentence = words.decision_sentence(kind, rows, alike, margin, further, runs=len(counted), has_ended=has_ended)
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


def _expected_runs(now: Trial) -> int | None:
    """Return how many more runs it takes if they show what is expected; None: more than _AHEAD."""
    expected, runs = now.machine.weights @ now.machine.means, 0
    stands = now.standing(assumptions().margin)
    while runs < _AHEAD:
        places = sequential.next_block(stands, now.runs)
        now = sequential.update(now, [Block(places, tuple(float(expected[place]) for place in places))])
        runs += len(places)
        stands = now.standing(assumptions().margin)
        if sequential.is_settled(stands, now.runs):
            return runs
    return None
