"""The answer to a question, or to a mix of workloads, on the machine of a laboratory: by what everybody published and
what was measured there under any workload.

The state has an element for each entry under each workload that is asked for or was measured there, and one for each
choice that the laboratory measured elsewhere or before. The latter differ from the former as choices do that are not
alike (`machine.add_place_variance`), so the newest sessions rule and the others follow at a distance. The state alone
is private: the prior is that of everybody. Source: docs/models/here.md.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from kdb.host_storage import host_storage_key, host_storage_parts
from kdb.units import OPERATION_RATE, THROUGHPUT
from modelling.answers.estimate import on_one_machine, ranking_of
from modelling.answers.knowledge import assumptions, where_of
from modelling.estimation import machine, sequential, verdict
from modelling.estimation.bayes import Posterior
from modelling.estimation.hierarchy import Knowledge
from modelling.estimation.machine import SURE, Block, Machine, add_place_variance
from modelling.estimation.mixes import joint_posterior
from modelling.evidence.axes import AXES, NATIVE, Axis, entry_key, entry_parts
from modelling.evidence.durability import losing_options
from modelling.evidence.names import label, names
from modelling.evidence.question import Question
from modelling.evidence.requirements import lacking
from modelling.models import Laboratory, Sitting

from . import words
from .content import EntryHere, MixHere
from .prior import knowledge_for, prior_in_laboratory
from .sessions import blocks_of, choices_of, ratios_to_first

MOST_SESSIONS = 6  # that count: under each workload that is asked for, and under all others together
OPEN = 0.1  # probability of being within the margin of the best from which an entry may be faster
_ON_THE_HOST = {"backend", "host_fs", "host_storage"}

Where = tuple[str, tuple[object, ...]]  # a machine, and what choices that may be compared on it share


class Bearing(NamedTuple):
    """A session's choice that is an entry of the question. beside : equal for choices that may be compared"""

    key: str
    place: str
    beside: tuple[object, ...]


class SessionEvidence(NamedTuple):
    """What a session says of a question.

    of : its choices that are entries; blocks : of these alone, each of two or more runs
    """

    session: Sitting
    of: dict[int, Bearing]
    blocks: list[Block]

    @property
    def runs(self) -> Counter[int]:
        """Count each choice's runs that count."""
        return Counter(choice for block in self.blocks for choice in block.entries)

    def runs_of(self, key: str) -> int:
        """Count the runs of an entry."""
        return self.runs[choice] if (choice := self.compared.get(key)) is not None else 0

    @property
    def compared(self) -> dict[str, int]:
        """Return the entries of the largest set of comparable choices, each with its choice."""
        runs = self.runs
        sets: dict[tuple[object, ...], dict[str, int]] = {}
        for choice in sorted(runs):
            sets.setdefault(self.of[choice].beside, {}).setdefault(self.of[choice].key, choice)
        return max(sets.values(), key=lambda own: (len(own), sum(runs[choice] for choice in own.values())), default={})

    @property
    def where(self) -> Where | None:
        """Return where it compares two entries or more; None: it does not."""
        compared = self.compared
        return (self.session.machine, self.of[next(iter(compared.values()))].beside) if len(compared) > 1 else None


def evidence_of_sessions(question: Question, sessions: Iterable[Sitting]) -> list[SessionEvidence]:
    """Return what these sessions say of the question; [] where none compares two of its entries."""
    relevant = [evidence for session in sessions if (evidence := _evidence_of(question, session)).blocks]
    return relevant if any(evidence.where for evidence in relevant) else []


def answer_on_machine(
    question: Question, weights: Mapping[str, float], laboratory: Laboratory, relevant: Sequence[SessionEvidence]
) -> MixHere | None:
    """Return the answer on a machine of the laboratory; None where no session bears on the question.

    The machine is the one measured last under all workloads, else under most of them, else under any other.
    weights : workload to share, positive, in any unit; relevant : of evidence_of_sessions, newest first
    """
    where = _measured_at(relevant, weights)
    if where is None:
        return None
    axis = AXES[question.axis]
    newest = {evidence.session.workload: evidence for evidence in reversed(relevant) if evidence.where == where}
    asked = [newest[workload] for workload in weights if workload in newest]
    measured = _measured(asked or [*newest.values()])
    questions = {workload: replace(question, workload=workload) for workload in weights}
    rankings = {workload: ranking_of(own) for workload, own in questions.items()}
    beside = (key for ranking in rankings.values() for key in on_one_machine(ranking, axis))
    compared = (key for evidence in newest.values() for key in evidence.compared)
    keys = list(dict.fromkeys([*measured, *beside, *compared]))
    shares = {workload: weight / sum(weights.values()) for workload, weight in weights.items()}
    known = knowledge_for(question, rankings)
    published = joint_posterior(known, axis, shares, {workload: where_of(own) for workload, own in questions.items()})(
        keys
    )
    is_told = [all(r.posterior and key in r.posterior.treatments for r in rankings.values()) for key in keys]
    kind, sentence, rows = _decision(
        axis,
        keys,
        {key: sum(evidence.runs_of(key) for evidence in asked) for key in measured},
        [sum(evidence.runs_of(key) for evidence in asked or newest.values()) for key in measured],
        _posterior(question, known, laboratory, shares, keys, relevant, newest),
        lambda first: _elsewhere(published, np.array(is_told), first),
    )
    missing = tuple(workload for workload in weights if workload not in newest)
    ruling = sorted(newest.values(), key=lambda own: (own.session.workload not in weights, -own.session.pk))
    return MixHere(
        laboratory=laboratory.slug,
        name=laboratory.name,
        machine=where[0],
        place=_place(axis, ruling[0]),
        sittings=tuple(dict.fromkeys(evidence.session.pk for evidence in (*ruling, *relevant))),
        kind=kind,
        sentence=sentence
        + words.borrowed_sentence(workload_labels(missing), workload_labels(newest.keys() - weights.keys())),
        entries=rows,
        missing=missing,
    )


def workload_labels(workloads: Iterable[str]) -> list[str]:
    """Return the names of workloads as readers know them."""
    of_workloads = names()["workload"]
    return sorted(of_workloads.get(workload, workload) for workload in workloads)


def _measured_at(relevant: Sequence[SessionEvidence], weights: Mapping[str, float]) -> Where | None:
    """Return where choices were compared last under the most of the workloads; None: nowhere."""
    under: dict[Where, set[str]] = {}
    for evidence in relevant:
        if where := evidence.where:
            under.setdefault(where, set()).add(evidence.session.workload)
    return max(under, key=lambda where: len(under[where] & weights.keys()), default=None)  # of equals the first: newest


def _measured(sessions: Sequence[SessionEvidence]) -> list[str]:
    """Return the entries that each of these compared; where that is no pair, those that any compared."""
    everyone = list(dict.fromkeys(key for evidence in sessions for key in evidence.compared))
    by_all = [key for key in everyone if all(key in evidence.compared for evidence in sessions)]
    return by_all if len(by_all) > 1 else everyone


def _posterior(
    question: Question,
    known: Knowledge,
    laboratory: Laboratory,
    shares: Mapping[str, float],
    keys: Sequence[str],
    relevant: Sequence[SessionEvidence],
    newest: Mapping[str, SessionEvidence],
) -> Machine:
    """Return the entries' ln speed given sessions and published evidence, summed by the shares of workloads.

    newest : workload to the session that rules; what the others measured follows at a distance
    """
    axis = AXES[question.axis]
    bearings = {(w, key): own.of[choice] for w, own in newest.items() for key, choice in own.compared.items()}
    # What nobody measured there would lie on the disk of what was measured on the same storage, or on one more.
    disks = {_lies_on(axis, bearing.key): bearing.place for bearing in bearings.values()}
    elements = list(dict.fromkeys([*((workload, key) for workload in shares for key in keys), *bearings]))
    places = [bearings[one].place if one in bearings else disks.get(_lies_on(axis, one[1]), one[1]) for one in elements]
    ruling = {(own.session.pk, choice): (w, key) for w, own in newest.items() for key, choice in own.compared.items()}
    at = {run: elements.index(one) for run, one in ruling.items()}
    size = len(elements)
    for evidence in relevant:
        for choice in sorted(evidence.runs):
            if (run := (evidence.session.pk, choice)) not in at:
                at[run] = len(elements)
                elements.append((evidence.session.workload, evidence.of[choice].key))
                places.append(evidence.of[choice].place)
    before = prior_in_laboratory(question, known, elements, laboratory)
    before = add_place_variance(before, places, [workload for workload, _ in elements], are_alike=len(elements) == size)
    blocks = (
        [
            Block(tuple(at[evidence.session.pk, choice] for choice in block.entries), block.outcomes)
            for block in evidence.blocks
        ]
        for evidence in reversed(relevant)
    )
    sums = np.zeros((len(keys), len(elements)))
    for place, (workload, key) in enumerate(elements[:size]):
        if workload in shares:
            sums[keys.index(key), place] = shares[workload]
    return machine.sum_entries(sequential.update_with_sessions(before, blocks), sums)


def _elsewhere(published: Posterior, is_told: np.ndarray, first: int) -> np.ndarray:
    """Return (n, 3) ln ratios to the first in a new laboratory: median and ends of the 95 % interval.

    is_told : (n,) whether something is published of the entry; NaN where that is not so of one of the two
    """
    every = np.arange(len(is_told))
    quantiles = published.predictive_quantiles(every, np.full_like(every, first), (0.5, 0.025, 0.975))
    return np.where((is_told & is_told[first])[:, None], quantiles, np.nan)


def _place(axis: Axis, ruling: SessionEvidence) -> str:
    """Return the disk or folder on which the session compares its entries; "" where they are on several."""
    return "" if compares_disks(axis) else choices_of(ruling.session)[next(iter(ruling.compared.values()))].place


def _evidence_of(question: Question, session: Sitting) -> SessionEvidence:
    bearings = _bearings(question, session)
    return SessionEvidence(session, bearings, blocks_of(session, bearings))


def _bearings(question: Question, session: Sitting) -> dict[int, Bearing]:
    """Return the choices of a session that are entries of the question and may be recommended."""
    axis, lacks = AXES[question.axis], lacking(question, names()["volume"])
    own = {*axis.entry, *(_ON_THE_HOST if compares_disks(axis) else ())}
    of: dict[int, Bearing] = {}
    for number, choice in enumerate(choices_of(session) if _is_asked_of(question, session) else ()):
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
            place = f"{session.machine}/{choice.place}"
            of[number] = Bearing(key, place, (rest, "" if compares_disks(axis) else place))
    return of


def compares_disks(axis: Axis) -> bool:
    """Tell whether entries of the axis lie on different disks or folders of one machine."""
    return not _ON_THE_HOST.isdisjoint(axis.entry)


def _lies_on(axis: Axis, key: str) -> tuple[str, ...]:
    return tuple(part for column, part in entry_parts(axis, key).items() if column in _ON_THE_HOST)


def _is_asked_of(question: Question, session: Sitting) -> bool:
    """Tell whether the question is about what was measured: operations a second of one Linux system alone."""
    is_virtual = {"yes": True, "no": False}.get(str(session.facts.get("virtual", "")))
    asks_native = None if question.hypervisor is None else question.hypervisor == NATIVE
    return (
        question.metric in (None, THROUGHPUT, OPERATION_RATE)
        and question.vm_count in (None, 1)
        and question.guest_os_family in (None, "linux")
        and (None in (is_virtual, asks_native) or is_virtual != asks_native)
    )


def _decision(
    axis: Axis,
    keys: Sequence[str],
    runs: Mapping[str, int],
    ruling: Sequence[int],
    now: Machine,
    elsewhere: Callable[[int], np.ndarray],
) -> tuple[str, str, tuple[EntryHere, ...]]:
    """Return kind, sentence and rows of the answer.

    keys : entries, those that were measured first; runs : of these, under the workloads; ruling : of these, that rule
    now : posterior of the keys; elsewhere : place of an entry to (n, 3) ln ratios to it
    """
    margin, size, measured = assumptions().margin, len(keys), len(runs)
    labels = [label(axis, key) for key in keys]
    stands = machine.decide(now, margin)
    among = machine.decide(machine.select_entries(now, range(measured)), margin)
    is_settled = sequential.is_settled(among, np.array(ruling))
    ahead, compared = (stands, size) if is_settled and machine.is_sure(stands) else (among, measured)
    alike = [labels[place] for place in range(compared) if ahead.within[place] >= SURE]
    settled = verdict.LEADS if compared < size else verdict.NO_DIFFERENCE if len(alike) > 1 else verdict.USE
    kind = settled if is_settled else verdict.NOT_KNOWN
    here_ratios = ratios_to_first(now, ahead.first, keys)
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
        for place, (key, there) in enumerate(zip(keys, np.exp(elsewhere(ahead.first)), strict=True))
    ]
    rows.sort(key=lambda row: (row.key != keys[ahead.first], row.key not in runs, row.loss, row.key))
    among_them = [row for row in rows if compared == size or row.key in runs]
    open_ = [row.label for row in rows if row.key not in runs and row.within >= OPEN and compared < size]
    return kind, words.recommendation_sentence(kind, among_them, alike, margin, open_, sum(ruling)), tuple(rows)
