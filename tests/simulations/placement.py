"""Fleets whose truth is known, and eight ways to place them.

A world draws the effects of pairs of file systems from their posterior, lets further laboratories measure them if
asked, and gives each site effects of its own, as a new laboratory has them, that drift, and each pool a disk of its
own. Machines come and go, and every policy sees the same. Source: docs/models/placement.md.
"""

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations

import numpy as np

from kdb.pairs import pair_key, pair_parts
from modelling.estimation.bayes import Posterior
from modelling.estimation.verdict import Basis, strength
from modelling.fleet.placement.assignment import Filling, Problem, assign
from modelling.fleet.placement.content import ANY_LOAD, FleetError, Possible, Prospect, Rules
from modelling.fleet.placement.expected_gain import Knowledge, Known, is_sure, prospect

from .detections import detected
from .pools import any_load, measured_on_pools, pool_name

POLICIES = NEVER, LIST, RANDOM, POINT, KDB, MEASURED, DETECTED, ORACLE = (
    *("never", "list", "random", "point", "kdb", "measured", "detected", "oracle"),
)
# The oracle knows the true effects and those to come. It plans for the lives of its machines or for the period alone,
# and in hindsight takes what came to most, another policy's moves if need be.
_ORACLES = _FOR_LIFE, _FOR_PERIOD = ("oracle for life", "oracle for the period")
HYPERVISOR = "kvm"
PERIODS = 4  # each as long as the horizon of the rules
SITE, MACHINES_A_POOL = 1000, 50
DRIFT = 0.05  # standard deviation of a site's effects from one period to the next, ln ratio
LEAVE, PINNED, APART = 0.05, 0.05, 0.1  # shares of machines: a period, of all, in pairs that are kept apart
SIZE, LOAD, VARIES = 40 * 2.0**30, 10.0, 0.7  # medians of machines in bytes and MiB/s; standard deviation of their ln
ROOM, RESERVE, CARRIES = 0.4, 0.1, 1.3  # free and reserved space, and the most load, as shares of a pool's mean use
OF_ALL_LOADS = 0.8  # of the variance between disks: what is the same under every workload
UNKNOWN, UNLIKE = 3, 0.3  # loads that nobody knows; standard deviation of their pairs' ln throughput about the others
VIEWS = 4  # different detections of machines of one kind
SECOND_SHARE = 0.3  # of the second workload, where a machine has two
_SEARCH_SECONDS, _GAP = 60.0, 0.01


@dataclass
class Outcome:
    """The outcome of a policy over all worlds.

    gains : of each world, mean ln throughput of a machine and period against never moving
    harms : of each world, the share of its machines that was harmed
    lives, harmed : machines that were there, and those that would have fared better unmoved
    again : machines that were moved more than once
    runs : that were made on the pools before anything was decided
    seconds : to decide; planned, bound : sums of what the plans promised and of their bounds; 0 where it makes none
    """

    gains: list[float] = field(default_factory=list)
    harms: list[float] = field(default_factory=list)
    moves: int = 0
    lives: int = 0
    harmed: int = 0
    again: int = 0
    runs: int = 0
    bytes_copied: float = 0.0
    seconds: float = 0.0
    planned: float = 0.0
    bound: float = 0.0

    @property
    def gap(self) -> float | None:
        """Return the share of what was possible that the plans missed, by their own bounds; None: it plans nothing."""
        return 1.0 - self.planned / self.bound if self.bound > 0 else None

    def add(self, other: "Outcome") -> None:
        """Add the other's counts, but not its gains, harms and runs."""
        for name in ("moves", "lives", "harmed", "again", "bytes_copied", "seconds", "planned", "bound"):
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(frozen=True)
class Fleet:
    """The machines of one site over the periods, and its pools.

    slots : (T, n) number of the machine in each slot; a newcomer has its predecessor's size, load and first pool
    left : (T, n) periods that it will still be there, this one counted
    kinds : (T, n) place in `World.kinds`; views : (T, n) which of the detections of that kind it has
    host : (P,) place of the pool's host file system; first : (n,) pool
    """

    slots: np.ndarray
    left: np.ndarray
    kinds: np.ndarray
    views: np.ndarray
    host: np.ndarray
    first: np.ndarray
    sizes: np.ndarray
    loads: np.ndarray
    room: float
    most: np.ndarray
    is_pinned: np.ndarray
    apart: Sequence[np.ndarray]


def simulate(
    known: Mapping[str, Known],
    machines: int,
    worlds: int,
    laboratories: int,
    noise: float,
    rules: Rules,
    seed: int,
    disks: float = 0.0,
    runs: int = 3,
    unknown: float = 0.0,
    common: float = OF_ALL_LOADS,
) -> dict[str, Outcome]:
    """Simulate every policy and return the outcome of each.

    Parameters
    ----------
    known : workload to what is known of the same pairs (`in_common`)
    machines : of a fleet, in sites of SITE; worlds : fleets, each with effects of its own
    laboratories : that measure every pair before anything is decided, beside what is known
    noise : variance of ln throughput of what a laboratory measures
    disks : standard deviation of ln throughput between two pools of one host file system; 0: none
    runs : that `measured` and `detected` make on each pool under each workload at most, on average over the pools
    unknown : share of machines whose load is none of the workloads
    common : share of the variance between disks that is the same under every load

    """
    outcomes = {policy: Outcome() for policy in POLICIES}
    for stream in np.random.SeedSequence(seed).spawn(worlds):
        rng = np.random.default_rng(stream)
        world = World(known, laboratories, noise, rules, rng, common)
        gained, before = (
            dict.fromkeys(POLICIES, 0.0),
            {way: (so_far.harmed, so_far.lives) for way, so_far in outcomes.items()},
        )
        for size in _sites(machines):
            site = fleet(size, world, rng, unknown=unknown)
            of_host, lot = world.site_effects(rng), rng.integers(2**32)
            truth = of_host[:, :, site.host] + disks * world.disk_effects(len(site.host), rng)
            gains, ran_first = world.measured(site.host, truth[0], runs, rules, np.random.default_rng([int(lot), 1]))
            expected = world.expected(site.host) | gains
            ran = {
                way: _run(way, site, truth, world, expected, rules, np.random.default_rng(lot))
                for way in (*POLICIES[:-1], *_ORACLES)
            }
            ran[ORACLE] = max(reversed(ran.values()), key=lambda outcome: outcome.gains[0])
            for policy, outcome in outcomes.items():
                outcome.add(ran[policy])
                gained[policy] += ran[policy].gains[0]
            for policy in gains:
                outcomes[policy].runs += ran_first
        for policy, outcome in outcomes.items():
            outcome.gains.append(gained[policy] / machines / PERIODS)
            harmed, lives = before[policy]
            outcome.harms.append((outcome.harmed - harmed) / (outcome.lives - lives))
    return outcomes


def in_common(knowledge: Knowledge) -> dict[str, Known]:
    """Return workload to what is known of the pairs that are simulated: every guest file system on every one of two
    host file systems or more, chosen so that as many workloads as possible know as many pairs as possible.

    Raises FleetError where no workload knows such pairs.
    """
    parts = [(workload, part) for (workload, _), several in knowledge.items() for part in several]
    candidates = {grid for _, part in parts for grid in _grids(part.posterior.treatments)}
    known = {
        grid: {workload: _only(part, grid) for workload, part in parts if set(grid) <= set(part.posterior.treatments)}
        for grid in candidates
    }
    if not known:
        raise FleetError("no workload knows one guest file system on two host file systems")
    return known[max(known, key=lambda grid: (len(grid) * len(known[grid]), grid))]


def _grids(pairs: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Yield, for the hosts that each guest is known on, these with every guest that is known on all of them."""
    on: dict[str, set[str]] = defaultdict(set)
    for guest, host in map(pair_parts, pairs):
        on[guest].add(host)
    for hosts in on.values():
        if len(hosts) > 1:
            yield tuple(sorted(pair_key(guest, host) for guest in on if hosts <= on[guest] for host in hosts))


def _only(known: Known, pairs: Sequence[str]) -> Known:
    """Return only what is known of these pairs."""
    posterior = known.posterior
    at = [posterior.treatments.index(pair) for pair in pairs]
    numbers = tuple(joined & set(pairs) for joined in known.numbers)
    return replace(
        known,
        posterior=posterior.select(np.array(at)),
        numbers=numbers,
    )


def _sites(machines: int) -> list[int]:
    number = -(-machines // SITE)
    return [len(part) for part in np.array_split(np.arange(machines), number)]


class World:
    """True effects, and what each policy believes of them by kind of load, host here and host there.

    kinds : rows of (shares (K + UNKNOWN,), guest file system): of workloads, and of loads that nobody knows
    views : of each kind, VIEWS times what detection says of a machine of that kind
    """

    def __init__(
        self,
        known: Mapping[str, Known],
        laboratories: int,
        noise: float,
        rules: Rules,
        rng: np.random.Generator,
        common: float = OF_ALL_LOADS,
    ) -> None:
        self.common = common
        self.workloads = sorted(known)
        self.pairs = sorted(known[self.workloads[0]].posterior.treatments)
        parts = [pair_parts(pair) for pair in self.pairs]
        self.guests, self.hosts = (sorted({part[side] for part in parts}) for side in (0, 1))
        self.draws = [_drawn(known[workload].posterior, self.pairs, rng) for workload in self.workloads]
        self.learnt = {
            workload: measured(known[workload], self.pairs, effects, extra, laboratories, noise, rng)
            for workload, (effects, extra) in zip(self.workloads, self.draws, strict=True)
        }
        of_mix = np.eye(len(self.workloads))
        two = [
            (1 - SECOND_SHARE) * of_mix[i] + SECOND_SHARE * of_mix[j]
            for i in range(len(of_mix))
            for j in range(len(of_mix))
            if i != j
        ]
        of_workloads = [np.pad(shares, (0, UNKNOWN)) for shares in (*of_mix, *two)]
        nobody_knows = np.eye(len(of_mix) + UNKNOWN)[-UNKNOWN:]
        self.kinds = [(shares, guest) for shares in (*of_workloads, *nobody_knows) for guest in self.guests]
        self.known_kinds = len(of_workloads) * len(self.guests)  # those after them are of loads that nobody knows
        loads = [*self.workloads, *[""] * UNKNOWN]
        own = rng.spawn(1)[0]
        self.views = [
            [detected(dict(zip(loads, shares, strict=True)), own) for _ in range(VIEWS)] for shares, _ in self.kinds
        ]
        size = len(self.hosts)
        self.point = np.zeros((len(self.kinds), size, size))
        self.listed = np.zeros((len(self.kinds), size), bool)
        estimates = np.array(
            [
                answer.posterior.effects[[answer.posterior.treatments.index(pair) for pair in self.pairs]]
                for answer in self.learnt.values()
            ]
        )
        self.sure = self._sure(self.learnt, self.hosts, rules)
        for kind, (padded, guest) in enumerate(self.kinds[: self.known_kinds]):
            shares = padded[:-UNKNOWN]
            at = [self.pairs.index(pair_key(guest, host)) for host in self.hosts]
            expected = shares @ estimates[:, at]
            self.listed[kind, np.argmax(estimates[np.argmax(shares), at].round(9))] = True
            ahead = expected[None, :] - expected[:, None]
            self.point[kind] = -np.sign(ahead) * np.expm1(-np.abs(ahead))

    def _sure(self, known: Mapping[str, Known], names: Sequence[str], rules: Rules) -> np.ndarray:
        """Return the (kinds, here, there) gains that carry a move, else -inf. names : of host file systems or pools"""
        gains = np.full((len(self.kinds), len(names), len(names)), -np.inf)
        for kind, (shares, guest) in enumerate(self.kinds[: self.known_kinds]):
            mix = {workload: share for workload, share in zip(self.workloads, shares[:-UNKNOWN], strict=True) if share}
            gains[kind] = _gains(known, guest, mix, (), names, rules)
        return gains

    def _seen(self, known: Mapping[str, Known], names: Sequence[str], rules: Rules) -> np.ndarray:
        """Return the (kinds, VIEWS, here, there) gains that carry a move by what detection says, else -inf.

        known : by ANY_LOAD too, which stands for every load that was not measured
        """
        gains = np.full((len(self.kinds), VIEWS, len(names), len(names)), -np.inf)
        for kind, (_, guest) in enumerate(self.kinds):
            for number, view in enumerate(self.views[kind]):
                main, *others = (
                    Possible(chance, {load if load in known else ANY_LOAD: share for load, share in doing.items()})
                    for chance, doing in (Possible(0.0, view.shares), *view.others)
                )
                gains[kind, number] = _gains(known, guest, main.shares, others, names, rules)
        return gains

    def expected(self, host: np.ndarray) -> dict[str, np.ndarray]:
        """Return the gains, (kinds, here, there) of pools, that policies expect who know host file systems alone."""
        return {policy: table[:, host][:, :, host] for policy, table in ((POINT, self.point), (KDB, self.sure))}

    def measured(
        self, host: np.ndarray, truth: np.ndarray, runs: int, rules: Rules, rng: np.random.Generator
    ) -> tuple[dict[str, np.ndarray], int]:
        """Return the same after runs on the pools, and how many. truth : (kinds, P); runs : a pool and workload

        That of `detected` is (kinds, VIEWS, P, P).
        """
        alone = truth[: len(self.workloads) * len(self.guests)]  # the kinds of one workload come first
        on = [self.hosts[place] for place in host]
        by_workload = alone.reshape(len(self.workloads), len(self.guests), len(on))
        known, made = measured_on_pools(self.learnt, self.guests, on, by_workload, runs, rules.margin, rng)
        known[ANY_LOAD] = any_load(known, self.learnt, self.guests, on)
        names = [pool_name(pool) for pool in range(len(on))]
        return {MEASURED: self._sure(known, names, rules), DETECTED: self._seen(known, names, rules)}, made

    def disk_effects(self, pools: int, rng: np.random.Generator) -> np.ndarray:
        """Draw the (kinds, P) ln throughput of the pools' disks, of standard deviation 1 under each workload."""
        drawn = rng.normal(size=(1 + len(self.workloads) + UNKNOWN, pools))
        of_loads = np.sqrt(self.common) * drawn[0] + np.sqrt(1 - self.common) * drawn[1:]
        return np.stack([shares @ of_loads for shares, _ in self.kinds])

    def site_effects(self, rng: np.random.Generator, periods: int = PERIODS, drift: float = DRIFT) -> np.ndarray:
        """Draw the (T, kinds, hosts) ln throughput of a site: that of a new laboratory, drifting so much a period."""
        drawn = np.zeros((periods, len(self.workloads) + UNKNOWN, len(self.pairs)))
        for place, (effects, extra) in enumerate(self.draws):
            own = rng.multivariate_normal(effects, extra, method="eigh")
            steps = drift * rng.normal(size=(periods, len(effects)))
            steps[0] = 0.0
            drawn[:, place] = own + np.cumsum(steps, axis=0)
        for place in range(len(self.draws), drawn.shape[1]):  # a load that nobody knows: like the others, or not
            drawn[:, place] = drawn[:, : len(self.draws)].mean(axis=1) + UNLIKE * rng.normal(size=len(self.pairs))
        return np.stack(
            [
                np.tensordot(
                    drawn[:, :, [self.pairs.index(pair_key(guest, host)) for host in self.hosts]], shares, (1, 0)
                )
                for shares, guest in self.kinds
            ],
            axis=1,
        )


def _gains(
    known: Mapping[str, Known],
    guest: str,
    shares: Mapping[str, float],
    others: Sequence[Possible],
    names: Sequence[str],
    rules: Rules,
) -> np.ndarray:
    """Return the (here, there) gains of a machine that carry a move, else -inf."""
    knowledge = {(load, HYPERVISOR): [answer] for load, answer in known.items()}
    gains = np.full((len(names), len(names)), -np.inf)
    for here, there in permutations(range(len(names)), 2):
        promise = prospect(knowledge, HYPERVISOR, guest, shares, names[there], names[here], rules.margin, others=others)
        if isinstance(promise, Prospect) and is_sure(promise, rules):
            gains[here, there] = promise.gain
    return gains


def _drawn(posterior: Posterior, pairs: Sequence[str], rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return the effects of the pairs, means over laboratories, and the covariance of a laboratory around them."""
    node = rng.choice(len(posterior.weights), p=posterior.weights)
    effects = rng.multivariate_normal(posterior.means[node], posterior.covariances[node], method="eigh")
    at = [posterior.treatments.index(pair) for pair in pairs]
    return effects[at], posterior.extras[node][np.ix_(at, at)]


def measured(
    known: Known,
    pairs: Sequence[str],
    effects: np.ndarray,
    extra: np.ndarray,
    laboratories: int,
    noise: float,
    rng: np.random.Generator,
) -> Known:
    """Return what is known once so many laboratories have measured all pairs, whose true effects are given.

    extra : covariance of a laboratory around them; each is one observation of the contrasts, given the component
    """
    if not laboratories:
        return known
    posterior = known.posterior
    size = len(pairs)
    contrasts = np.linalg.qr(np.column_stack([np.ones(size), np.eye(size)[:, 1:]]))[0][:, 1:].T
    means, covariances, logs = posterior.means.copy(), posterior.covariances.copy(), np.log(posterior.weights)
    at = [posterior.treatments.index(pair) for pair in pairs]
    for _ in range(laboratories):
        seen = np.zeros(size)
        seen[at] = rng.multivariate_normal(effects, extra + noise * np.eye(size), method="eigh")
        for node, own in enumerate(posterior.extras):
            towards = covariances[node] @ contrasts.T
            spread = contrasts @ (towards + (own + noise * np.eye(size)) @ contrasts.T)
            missed = contrasts @ (seen - means[node])
            gain = np.linalg.solve(spread, towards.T).T
            logs[node] -= (np.linalg.slogdet(spread)[1] + missed @ np.linalg.solve(spread, missed)) / 2
            means[node] += gain @ missed
            covariances[node] -= gain @ towards.T
    weights = np.exp(logs - logs.max())
    return Known(
        replace(posterior, weights=weights / weights.sum(), means=means, covariances=covariances),
        numbers=(frozenset(pairs),),
        strength=strength(Basis(groups=laboratories, measured=True, has_numbers=True))[0],
        laboratories=laboratories,
    )


def fleet(
    size: int,
    world: World,
    rng: np.random.Generator,
    *,
    periods: int = PERIODS,
    leave: float = LEAVE,
    machines_a_pool: int = MACHINES_A_POOL,
    unknown: float = 0.0,
) -> Fleet:
    """Return a site of so many machines: a pool for so many of them, one for each host file system at least.

    leave : share of machines that leave, and are followed by others, in each period
    unknown : share of them whose load is none of the workloads
    """

    def kinds_of(number: int) -> np.ndarray:
        known = rng.integers(0, world.known_kinds, number)
        if not unknown:
            return known
        return np.where(rng.random(number) < unknown, rng.integers(world.known_kinds, len(world.kinds), number), known)

    pools = max(len(world.hosts), size // machines_a_pool)
    host, first = np.arange(pools) % len(world.hosts), rng.integers(0, pools, size)
    sizes = SIZE * np.exp(VARIES * rng.normal(size=size))
    loads = LOAD * np.exp(VARIES * rng.normal(size=size))
    slots = np.tile(np.arange(size), (periods, 1))
    kinds = np.tile(kinds_of(size), (periods, 1))
    left = np.ones((periods, size), int)
    for period in range(1, periods):
        new = rng.random(size) < leave
        slots[period:, new] = slots[:period].max() + 1 + np.arange(new.sum())
        kinds[period:, new] = kinds_of(new.sum())
    for period in range(periods - 2, -1, -1):
        left[period] = np.where(slots[period] == slots[period + 1], left[period + 1] + 1, 1)
    paired = rng.permutation(size)[: int(APART * size) // 2 * 2].reshape(-1, 2)
    mean_load = loads.sum() / pools
    return Fleet(
        slots=slots,
        left=left,
        kinds=kinds,
        views=slots % VIEWS,
        host=host,
        first=first,
        sizes=sizes,
        loads=loads,
        room=(ROOM - RESERVE) * sizes.sum() / pools,
        most=np.full(pools, CARRIES * mean_load),
        is_pinned=rng.random(size) < PINNED,
        apart=list(paired),
    )


def _run(
    policy: str,
    site: Fleet,
    truth: np.ndarray,
    world: World,
    expected: Mapping[str, np.ndarray],
    rules: Rules,
    lot: np.random.Generator,
) -> Outcome:
    """Run one way to decide; the gain of its outcome is the sum of ln throughput over machines and periods.

    truth : (T, kinds, P) ln throughput; expected : policy to the (kinds, P, P) gains that it expects
    """
    outcome = Outcome()
    size, slot = len(site.first), np.arange(len(site.first))
    pools, room = site.first.copy(), np.full(len(site.host), site.room)
    life = np.zeros(int(site.slots.max()) + 1)
    went = np.zeros(len(life), int)
    total = 0.0
    for period in range(PERIODS):
        came = np.ones(size, bool) if period == 0 else site.slots[period] != site.slots[period - 1]
        if period:
            room += np.bincount(pools[came], site.sizes[came], len(room))
            room -= np.bincount(site.first[came], site.sizes[came], len(room))
            pools[came] = site.first[came]
        own = truth[:, site.kinds[period]] if policy in _ORACLES else expected.get(policy)
        begun = time.perf_counter()
        ends, planned, bound = _decide(policy, site, period, pools, np.maximum(room, 0.0), came, own, world, rules, lot)
        outcome.seconds += time.perf_counter() - begun
        outcome.planned += planned
        outcome.bound += bound
        moved = ends != pools
        room += np.bincount(pools[moved], site.sizes[moved], len(room))  # the old image is gone after the period
        room -= np.bincount(ends[moved], site.sizes[moved], len(room))
        pools = ends
        outcome.moves += int(moved.sum())
        np.add.at(went, site.slots[period][moved], 1)
        outcome.bytes_copied += float(site.sizes[moved].sum())
        now = truth[period, site.kinds[period]]
        gained = now[slot, pools] - now[slot, site.first]
        gained = gained + np.where(moved, _copied(site.sizes, rules), 0.0)
        np.add.at(life, site.slots[period], gained)
        total += float(gained.sum())
    outcome.lives, outcome.again = len(life), int((went > 1).sum())
    outcome.harmed = int((life < -1e-9).sum())
    outcome.gains.append(total)
    return outcome


def _copied(sizes: np.ndarray, rules: Rules) -> np.ndarray:
    """Return ln of the share of a period's throughput that a copy leaves."""
    return np.log1p(-np.minimum(rules.slowdown * sizes / rules.copy_rate / rules.horizon, 0.99))


def _decide(
    policy: str,
    site: Fleet,
    period: int,
    pools: np.ndarray,
    room: np.ndarray,
    came: np.ndarray,
    own: np.ndarray | None,
    world: World,
    rules: Rules,
    lot: np.random.Generator,
) -> tuple[np.ndarray, float, float]:
    """Decide where each machine goes. Return the pools, what the plan promises and its bound, 0 where there is none.

    own : of an oracle the (T, n, P) truth, else the (kinds, P, P) gains that the policy expects; None: it expects none
    """
    if policy == NEVER:
        return pools, 0.0, 0.0
    kinds, here = site.kinds[period], site.host[pools]
    if policy in _ORACLES:
        assert own is not None
        ahead = np.zeros(own.shape[1:])
        for later in range(period, PERIODS if policy == _FOR_LIFE else period + 1):
            ahead += np.where((site.left[period] > later - period)[:, None], own[later], 0.0)
        values = ahead - ahead[np.arange(len(pools)), pools][:, None] + _copied(site.sizes, rules)[:, None]
    elif own is not None:
        held = own[kinds, site.views[period], pools] if policy == DETECTED else own[kinds, pools]
        values = held + np.expm1(_copied(site.sizes, rules))[:, None]
    elif policy == LIST:
        values = np.where(world.listed[kinds][:, site.host], 1.0, -np.inf)
        values[world.listed[kinds, here]] = -np.inf
    else:
        values = np.full((len(pools), len(site.host)), -np.inf)
        chosen = lot.integers(0, len(site.host), len(pools))
        values[came, chosen[came]] = 1.0
    values[np.arange(len(pools)), pools] = -np.inf
    values[site.is_pinned] = -np.inf
    problem = Problem(
        values=values,
        here=pools,
        sizes=site.sizes,
        loads=site.loads,
        room=room,
        headroom=np.maximum(site.most - np.bincount(pools, site.loads, len(site.host)), 0.0),
        apart=site.apart,
    )
    if policy in (LIST, RANDOM):
        filling = Filling(problem)
        filling.improve()
        return filling.pools, 0.0, 0.0
    assigned = assign(problem, _SEARCH_SECONDS, _GAP)
    return assigned.pools, assigned.gain, assigned.bound
