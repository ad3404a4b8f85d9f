"""The answer to a question on the machine of a laboratory: published evidence, conditional on what was measured there.

The state is what is known of the question's entries on that machine and, beside them, of each choice that the
laboratory measured elsewhere or before. These differ from it as choices do that are not alike (`known.apart`), so the
newest sitting rules and the others follow at a distance. Source: docs/models/here.md.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import count
from typing import NamedTuple

import numpy as np

from kdb.host_storage import host_storage_key, host_storage_parts
from kdb.units import OPERATION_RATE, THROUGHPUT
from modelling.answers.estimate import on_one_machine, ranking_of
from modelling.answers.knowledge import assumptions
from modelling.estimation import machine, verdict
from modelling.estimation.bayes import Posterior
from modelling.estimation.machine import SURE, VARIATION, Block, Machine, apart
from modelling.estimation.ranking import Ranking
from modelling.evidence.axes import AXES, NATIVE, Axis, entry_key, entry_parts
from modelling.evidence.durability import losing_options
from modelling.evidence.names import label
from modelling.evidence.needs import lacking
from modelling.evidence.question import Question
from modelling.models import Laboratory, Sitting

from . import words
from .content import EntryHere, Here
from .known import among, foretold
from .sittings import blocks_of, choices_of, ratios

MOST_SITTINGS = 6  # that count
OPEN = 0.1  # probability of being within the margin of the best from which an entry may be faster
_ON_THE_HOST = {"backend", "host_fs", "host_storage"}


class Bearing(NamedTuple):
    """A choice of a sitting that is an entry of a question. beside : what only choices that may be compared share"""

    key: str
    place: str
    beside: tuple[object, ...]


class Told(NamedTuple):
    """A sitting, as it bears on a question.

    of : its choices that are entries; blocks : of these alone, each of two or more runs
    """

    sitting: Sitting
    of: dict[int, Bearing]
    blocks: list[Block]

    @property
    def compared(self) -> dict[str, int]:
        """Return the entries of the largest set of choices that may be compared, and the choice that is each."""
        runs = Counter(choice for block in self.blocks for choice in block.entries)
        sets: dict[tuple[object, ...], dict[str, int]] = {}
        for choice in sorted(runs):
            sets.setdefault(self.of[choice].beside, {}).setdefault(self.of[choice].key, choice)
        return max(sets.values(), key=lambda own: (len(own), sum(runs[choice] for choice in own.values())), default={})


def told_of(question: Question, sittings: Iterable[Sitting]) -> list[Told]:
    """Return what these sittings say of the question, from the first on that compares two of its entries."""
    told = [_told(question, sitting) for sitting in sittings if sitting.workload == question.workload]
    first = next((place for place, evidence in enumerate(told) if len(evidence.compared) > 1), len(told))
    return [evidence for evidence in told[first:] if evidence.blocks]


class State(NamedTuple):
    """Knowledge of entries on the machine that the newest of some sittings measured, under one workload.

    runs : entry to those that count, of the entries that were measured; keys : these first; machine : of the keys, in
    their order; everything : what was published of them; published : those of which something was
    """

    runs: dict[str, int]
    keys: list[str]
    machine: Machine
    everything: Posterior
    published: Sequence[str]

    def of(self, keys: Sequence[str]) -> Machine:
        """Return what is known of these entries alone, in this order."""
        return machine.among(self.machine, [self.keys.index(key) for key in keys])

    def elsewhere(self, keys: Sequence[str], first: str) -> np.ndarray:
        """Return (n, 3) ln ratios to this entry in a laboratory that nobody has seen: middle, low and high of 95 %.

        NaN where nothing is published of one of the two.
        """
        at = np.array([self.everything.treatments.index(key) for key in keys])
        to = np.full_like(at, self.everything.treatments.index(first))
        is_known = np.array([{key, first} <= {*self.published} for key in keys])
        return np.where(is_known[:, None], self.everything.new_quantiles(at, to, (0.5, 0.025, 0.975)), np.nan)


def here(question: Question, laboratory: Laboratory, told: Sequence[Told]) -> Here:
    """Return the answer on the machine that the first of these, the newest, measured. told : of told_of, one or more"""
    axis, ranking = AXES[question.axis], ranking_of(question)
    known = state(question, ranking, told, on_one_machine(ranking, axis))
    first, keys = told[0], known.keys
    kind, sentence, rows = decided(axis, keys, known.runs, known.machine, partial(known.elsewhere, keys))
    return Here(
        laboratory=laboratory.slug,
        name=laboratory.name,
        machine=first.sitting.machine,
        place=place_of(axis, first),
        sittings=tuple(evidence.sitting.pk for evidence in told),
        kind=kind,
        sentence=sentence,
        entries=rows,
    )


def place_of(axis: Axis, told: Told) -> str:
    """Return the disk or folder that the sitting compares its entries on; "" where they are on several."""
    if compares_disks(axis):
        return ""
    return choices_of(told.sitting)[next(iter(told.compared.values()))].place


def state(question: Question, ranking: Ranking, told: Sequence[Told], beside: Sequence[str]) -> State:
    """Return what these sittings and published evidence say of entries. beside : those to tell of, measured or not

    told : as of here; ranking : the public one
    """
    first, compared, axis = told[0], told[0].compared, AXES[question.axis]
    mine = {(first.sitting.pk, choice): first.of[choice] for choice in compared.values()}
    others = {
        (evidence.sitting.pk, choice): evidence.of[choice]
        for evidence in told
        for block in evidence.blocks
        for choice in block.entries
    }
    others = {run: bearing for run, bearing in others.items() if run not in mine}
    keys = [*compared, *(key for key in beside if key not in compared)]
    # What nobody measured there would lie on the disk of what was measured on the same storage, or on one more.
    disks = {_lies_on(axis, bearing.key): bearing.place for bearing in mine.values()}
    places = [bearing.place for bearing in mine.values()]
    places += [disks.get(_lies_on(axis, key), key) for key in keys[len(mine) :]]
    all_keys = [*keys, *(bearing.key for bearing in others.values())]
    everything = foretold(question, ranking, all_keys)
    places += [bearing.place for bearing in others.values()]
    known = apart(among(everything, all_keys), places, are_alike=not others)
    at = dict(zip(mine, count())) | dict(zip(others, count(len(keys))))
    blocks = [
        Block(tuple(at[evidence.sitting.pk, choice] for choice in block.entries), block.outcomes)
        for evidence in reversed(told)
        for block in evidence.blocks
    ]
    now = machine.after(machine.before(known, VARIATION**2), blocks)
    runs = Counter(choice for block in first.blocks for choice in block.entries)
    published = () if ranking.posterior is None else ranking.posterior.treatments
    counts = {key: runs[choice] for key, choice in compared.items()}
    return State(counts, keys, machine.among(now, range(len(keys))), everything, published)


def _told(question: Question, sitting: Sitting) -> Told:
    of = _bearings(question, sitting)
    return Told(sitting, of, blocks_of(sitting, of))


def _bearings(question: Question, sitting: Sitting) -> dict[int, Bearing]:
    """Return the choices of a sitting that are entries of the question and may be recommended."""
    axis, lacks = AXES[question.axis], lacking(question)
    own = {*axis.entry, *(_ON_THE_HOST if compares_disks(axis) else ())}
    of: dict[int, Bearing] = {}
    for number, choice in enumerate(choices_of(sitting) if _is_asked_of(question, sitting) else ()):
        told = dict(choice.settings)
        if on := host_storage_key(told.get("backend", ""), told.get("host_fs")):
            told |= {"host_storage": on, "host_fs": host_storage_parts(on)[1]}
        if any(told.get(column) not in (None, "", asked) for column, asked in question.filters.items()):
            continue
        if not all(told.get(column) for column in axis.required) or losing_options(
            *(told.get(column, "") for column in ("cache_mode", "guest_mount_options", "host_mount_options"))
        ):
            continue
        key = entry_key(axis, tuple(told.get(column, "") for column in axis.entry))
        rest = tuple(sorted((column, value) for column, value in choice.settings.items() if column not in own))
        if not lacks(key):
            place = f"{sitting.machine}/{choice.place}"
            of[number] = Bearing(key, place, (rest, "" if compares_disks(axis) else place))
    return of


def compares_disks(axis: Axis) -> bool:
    """Tell whether entries of the axis lie on different disks or folders of one machine."""
    return not _ON_THE_HOST.isdisjoint(axis.entry)


def _lies_on(axis: Axis, key: str) -> tuple[str, ...]:
    return tuple(part for column, part in entry_parts(axis, key).items() if column in _ON_THE_HOST)


def _is_asked_of(question: Question, sitting: Sitting) -> bool:
    """Tell whether the question is of what the sitting measured: operations a second of one Linux system by itself."""
    is_virtual = {"yes": True, "no": False}.get(str(sitting.facts.get("virtual", "")))
    asks_native = None if question.hypervisor is None else question.hypervisor == NATIVE
    return (
        question.metric in (None, THROUGHPUT, OPERATION_RATE)
        and question.vm_count in (None, 1)
        and question.guest_os_family in (None, "linux")
        and (None in (is_virtual, asks_native) or is_virtual != asks_native)
    )


def decided(
    axis: Axis, keys: Sequence[str], runs: Mapping[str, int], now: Machine, elsewhere: Callable[[str], np.ndarray]
) -> tuple[str, str, tuple[EntryHere, ...]]:
    """Return kind, sentence and rows of the answer.

    keys : entries, first those that were measured; runs : of these; now : of the keys; elsewhere : see State
    """
    margin, size, measured = assumptions().margin, len(keys), len(runs)
    labels = [label(axis, key) for key in keys]
    stands = machine.standing(now, margin)
    ahead, told = stands, size
    if not machine.is_settled(stands):  # what was measured may be settled among itself
        ahead, told = machine.standing(machine.among(now, range(measured)), margin), measured
    alike = [labels[place] for place in range(told) if ahead.within[place] >= SURE]
    settled = verdict.LEADS if told < size else verdict.NO_DIFFERENCE if len(alike) > 1 else verdict.USE
    kind = settled if machine.is_settled(ahead) else verdict.NOT_KNOWN
    here_ratios = ratios(now, ahead.first, keys)
    rows = [
        EntryHere(
            key,
            labels[place],
            runs.get(key, 0),
            *here_ratios[place],
            float(stands.within[place]),
            100 * float(stands.losses[place]),
            *(None if np.isnan(ratio) else float(ratio) for ratio in there),
        )
        for place, (key, there) in enumerate(zip(keys, np.exp(elsewhere(keys[ahead.first])), strict=True))
    ]
    rows.sort(key=lambda row: (row.key != keys[ahead.first], row.runs == 0, row.loss, row.key))
    among_them = [row for row in rows if told == size or row.runs]
    open_ = [row.label for row in rows if not row.runs and row.within >= OPEN and told < size]
    return kind, words.rung(kind, among_them, alike, margin, open_), tuple(rows)
