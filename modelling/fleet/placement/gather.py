"""Gather the evidence for plans from current answers, runs and earlier moves."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

from kdb.pairs import pair_key
from kdb.units import THROUGHPUT
from modelling.answers.estimate import ranking_of
from modelling.answers.knowledge import published_knowledge, where_of
from modelling.estimation.bayes import Posterior
from modelling.estimation.mixes import joint_posterior
from modelling.evidence import names
from modelling.evidence.axes import AXES
from modelling.evidence.question import Question
from modelling.models import Laboratory
from modelling.own_lab.selectors import OnPools, Runs, on_pools, published_on

from .content import MOVE, RUNS, Counted, FleetError, Machine, Pool
from .expected_gain import Knowledge, Known, known_of
from .host_evidence import LIKE, HostEvidence, Load, Outcome, add_moves, as_known, distance, evidence_of_runs
from .words import outcome_words, runs_words


@dataclass(frozen=True)
class Measured:
    """A site whose pools a laboratory may have measured. places : place of runs to the name of a pool"""

    site: str
    laboratory: Laboratory
    places: Mapping[str, str]


class EvidenceGatherer:
    """Gather the evidence of runs and moves on the machines' own hosts, by load, when it is needed.

    measured : at most one of a site; outcomes : of moves, with slugs of the catalogue
    """

    def __init__(
        self,
        machines: Sequence[Machine],
        pools: Sequence[Pool],
        measured: Iterable[Measured] = (),
        outcomes: Sequence[Outcome] = (),
    ) -> None:
        self.machines = machines
        self.site_of = {pool.name: pool.site for pool in pools}
        self.host_fs: dict[str, dict[str, str]] = defaultdict(dict)
        for pool in pools:
            self.host_fs[pool.site][pool.name] = pool.host_fs
        self.measured = {one.site: one for one in measured}
        self.outcomes: dict[str, list[Outcome]] = defaultdict(list)
        for outcome in outcomes:
            if {outcome.here, outcome.there} <= self.site_of.keys():
                self.outcomes[self.site_of[outcome.there]].append(outcome)
        self._guests: dict[tuple[str, str], list[str]] = {}
        self._published: dict[Question, Posterior] = {}
        self._parts: dict[tuple[str, Question], dict[str, OnPools]] = {}
        self._host_evidence: dict[tuple[str, str, str, tuple[tuple[str, float], ...], str], HostEvidence] = {}

    def with_runs(self, known: Knowledge) -> tuple[Knowledge, tuple[Counted, ...]]:
        """Return the knowledge extended by runs on the pools under loads of the machines, and these runs."""
        counted: dict[int, Counted] = {}
        everything = {question: tuple(parts) for question, parts in known.items()}
        loads = {
            (self.site_of[machine.pool], workload, machine.hypervisor, machine.guest_fs)
            for machine in self.machines
            if self.site_of[machine.pool] in self.measured
            for workload in machine.shares
        }
        for site, workload, hypervisor, guest_fs in sorted(loads):
            measured = self._on_pools(site, workload, hypervisor, guest_fs)
            if measured.sitting is not None:
                text = runs_words(measured.runs, workload, names.names())
                counted[measured.sitting] = Counted(RUNS, measured.sitting, site, text)
                parts, pools = [(1.0, measured.machine)], tuple(self.host_fs[site])
                evidence = evidence_of_runs(parts, pools, measured.measured, measured.runs)
                published = everything.get((workload, hypervisor), ())
                everything[workload, hypervisor] = (as_known(evidence, guest_fs), *published)
        return everything, tuple(counted.values())

    def with_moves(self) -> tuple[dict[str, Known], tuple[Counted, ...]]:
        """Return machine to its knowledge from runs and moves, for machines whose load was moved, and these moves."""
        by_machine: dict[str, Known] = {}
        known: dict[int, Known] = {}
        counted: dict[int, Counted] = {}
        for machine in self.machines:
            site = self.site_of[machine.pool]
            like = [outcome for outcome in self.outcomes[site] if distance(outcome.shares, machine.shares) <= LIKE]
            if like:
                evidence = self.evidence_of(machine)
                by_machine[machine.name] = known.setdefault(id(evidence), as_known(evidence, machine.guest_fs))
                for outcome in like:
                    counted[outcome.number] = Counted(MOVE, outcome.number, site, outcome_words(outcome))
        return by_machine, tuple(counted[number] for number in sorted(counted))

    def evidence_of(self, machine: Machine) -> HostEvidence:
        """Return the evidence on the pools of the machine's site, for its load; cached."""
        site, shares = self.site_of[machine.pool], tuple(sorted(machine.shares.items()))
        own = machine.name if any(outcome.machine == machine.name for outcome in self.outcomes[site]) else ""
        key = (site, machine.hypervisor, machine.guest_fs, shares, own)
        if key not in self._host_evidence:
            parts = [
                (share, self._on_pools(site, workload, machine.hypervisor, machine.guest_fs))
                for workload, share in shares
            ]
            everywhere = frozenset.intersection(*(part.measured for _, part in parts))
            before = evidence_of_runs(
                [(share, part.machine) for share, part in parts],
                tuple(self.host_fs[site]),
                everywhere,
                sum(part.runs for _, part in parts),
            )
            load = Load(machine.guest_fs, machine.shares)
            self._host_evidence[key] = add_moves(before, self.outcomes[site], load, own)
        return self._host_evidence[key]

    def _on_pools(self, site: str, workload: str, hypervisor: str, guest_fs: str) -> OnPools:
        question = _question(workload, hypervisor)
        if (site, question) not in self._parts:
            guests = sorted({machine.guest_fs for machine in self.machines})
            if question not in self._published:
                hosts = {host_fs for pools in self.host_fs.values() for host_fs in pools.values()}
                pairs = [pair_key(guest, host_fs) for guest in guests for host_fs in hosts]
                self._published[question] = published_on(question, pairs)
            measured = self.measured.get(site)
            runs = Runs(measured.laboratory, site, self._places(measured)) if measured else None
            evidence = on_pools(question, self._published[question], guests, self.host_fs[site], runs)
            self._parts[site, question] = dict(zip(guests, evidence, strict=True))
        return self._parts[site, question][guest_fs]

    def _places(self, measured: Measured) -> dict[str, str]:
        """Return the places of runs on pools of the plan."""
        return {place: pool for place, pool in measured.places.items() if pool in self.host_fs[measured.site]}


def load_knowledge(workloads: Iterable[str], hypervisors: Iterable[str]) -> Knowledge:
    """Return the answers' knowledge of pairs by throughput, for these workloads and hypervisors."""
    of_hypervisor = {hypervisor: cache(partial(_joint_posterior, hypervisor)) for hypervisor in hypervisors}
    return {
        (workload, hypervisor): known_of(ranking_of(_question(workload, hypervisor)), jointly)
        for workload in workloads
        for hypervisor, jointly in of_hypervisor.items()
    }


def _question(workload: str, hypervisor: str) -> Question:
    return Question("fs-pair", workload, hypervisor=hypervisor, metric=THROUGHPUT)


def _joint_posterior(hypervisor: str, keys: Sequence[str], shares: tuple[tuple[str, float], ...]) -> Posterior:
    """Return the published posterior of these pairs for a mix of workloads by shares."""
    where = {workload: where_of(_question(workload, hypervisor)) for workload, _ in shares}
    return joint_posterior(published_knowledge(with_native=False), AXES["fs-pair"], dict(shares), where)(keys)


def with_slugs(machines: Iterable[Machine], pools: Iterable[Pool]) -> tuple[list[Machine], list[Pool]]:
    """Return machines and pools with slugs in place of names and aliases. Raises FleetError for unknown ones."""
    return (
        [
            replace(
                machine,
                guest_fs=_slug("file_system", machine.guest_fs, f"machine {machine.name!r}, guest_fs"),
                hypervisor=_slug("hypervisor", machine.hypervisor, f"machine {machine.name!r}, hypervisor"),
                shares={
                    _slug("workload", name, f"machine {machine.name!r}, shares"): share
                    for name, share in machine.shares.items()
                },
            )
            for machine in machines
        ],
        [replace(pool, host_fs=_slug("file_system", pool.host_fs, f"pool {pool.name!r}, host_fs")) for pool in pools],
    )


def outcomes_with_slugs(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Return the outcomes with slugs in place of names and aliases, without those whose names are unknown now."""
    renamed = []
    for outcome in outcomes:
        guest_fs = names.slug_for("file_system", outcome.guest_fs)
        shares = {names.slug_for("workload", name): share for name, share in outcome.shares.items()}
        if guest_fs is not None and None not in shares:
            renamed.append(
                replace(outcome, guest_fs=guest_fs, shares={slug: share for slug, share in shares.items() if slug})
            )
    return renamed


def _slug(kind: str, name: str, field: str) -> str:
    slug = names.slug_for(kind, name)
    if slug is None:
        raise FleetError(f"{field}: {name!r} is not known here; there are {', '.join(names.names()[kind])}")
    return slug
