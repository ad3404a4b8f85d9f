"""Twelve weeks of a fleet whose truth is known, placed in several ways after a week of watching. No Django.

Pools have a disk of their own and drift; in some weeks one runs at half its speed, as while it is rebuilt. Machines
come and go, loads change by week and time of day, moves fail. A request of machine i on pool p takes

    latency = BASE exp(-S[i, p]) (1 - c + c U[p]),     U[p] = sum over j on p of load[j] exp(-S[j, p]) / what is usual

with S of ln speed (`placement.World`), BASIL's load, and c the share that waits for others. So a pool that is filled
up slows down everybody on it: plans know of that only that a pool has a most load. What came of a move is seen a week
later, with an error, or cannot be told. Source: docs/models/placement.md, "Twelve weeks".
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from kdb.pairs import pair_key
from modelling.estimation import machine
from modelling.estimation.bayes import Posterior
from modelling.estimation.machine import Machine
from modelling.fleet.placement.assignment import Filling, Problem, assign
from modelling.fleet.placement.content import NOT_KNOWN, TRIAL, Advice, Pool, Proposal, Rules
from modelling.fleet.placement.content import Machine as Guest
from modelling.fleet.placement.expected_gain import Known, are_sure, chances, difference, expected_gain
from modelling.fleet.placement.host_evidence import HostEvidence, Load, Outcome, add_moves, as_known, evidence_of_runs
from modelling.fleet.placement.proposals import proposals

from .balancers import Watched, basil, load_of, slope, storage_drs
from .machines import VARIATION
from .placement import HYPERVISOR, LEAVE, RESERVE, ROOM, Fleet, World, fleet
from .pools import measured_on_pools, pool_name

POLICIES = NEVER, LIST, SPACE, RANDOM, BASIL, STORAGE_DRS, MEASURED, TRIALS, LEARNS, ORACLE = (
    *("never", "list", "space", "random", "BASIL", "Storage DRS"),
    *("runs", "trial moves", "runs and moves", "oracle"),
)
FIXED = (NEVER, LIST, SPACE, RANDOM)  # rules that learn nothing
WEEKS, A_DAY, A_WEEK = 13, 3, 21  # weeks, in the first of which nothing moves; times a day and a week it is watched
MONTH = 30 / 7  # weeks
DRIFT = 0.05 / MONTH**0.5  # standard deviation of ln speed a week, of what pairs and of what disks drift
MACHINES_A_POOL = 25
FAILS = 0.05  # share of moves that fail, with nothing moved
TOLD, SEEN = 0.6, 0.05  # share of moves of which something can be told, and the error of that, ln
SLOW, SLOW_WEEKS = 0.01, 2  # chance a week and pool that it begins to run at half its speed, and for how long
BASE_MS, OUTSTANDING = 10.0, 4.0  # a request on a pool of usual speed and load; a machine's median of requests at once
OF_WEEK, OF_MOMENT, OF_DAY = 0.3, 0.2, (0.5, 1.3, 1.2)  # how loads vary, ln; by night, day and evening
SLOWED = np.log(1.1)  # a machine is slower than with never moving by more than this: the margin
# Of each workload: KiB a request, shares of reads and of random requests. As its personality asks, roughly.
SHAPES = {
    **{"varmail": (16.0, 0.5, 0.7), "fileserver": (64.0, 0.33, 0.3), "webserver": (16.0, 0.95, 0.6)},
    **{"randomfileaccess": (8.0, 0.7, 1.0)},
}
_USUAL = (16.0, 0.5, 0.5)


@dataclass
class Tally:
    """The outcome of a policy over all worlds.

    gains : of each world, mean ln speed of a machine and moment against never moving, copies' cost taken off
    lives : machines that were there; harmed : of them, moved and better off had they alone stayed, by however little
    slowed : of them, slower than with never moving by more than a tenth, moved or not
    back : of them, that came back to a pool that they had left; failed : moves that failed
    """

    gains: list[float] = field(default_factory=list)
    lives: int = 0
    moves: int = 0
    failed: int = 0
    harmed: int = 0
    slowed: int = 0
    back: int = 0
    runs: int = 0
    trials: int = 0


def simulate(
    known: Mapping[str, Known],
    machines: int,
    worlds: int,
    rules: Rules,
    seed: int,
    *,
    disks: float = 0.7,
    waiting: float = 0.5,
    runs: int = 3,
    policies: Sequence[str] = POLICIES,
) -> dict[str, Tally]:
    """Simulate every policy on the same fleets and traces, and return the tally of each.

    known : workload to what is published of the same pairs; machines : of a fleet; worlds : fleets
    disks : standard deviation of ln speed between pools of one host file system
    waiting : share of a request's time on a pool of usual load that it waits for those of other machines
    runs : a pool and workload at most, on average, where a policy makes any; before the first week
    """
    tallies = {policy: Tally() for policy in policies}
    for stream in np.random.SeedSequence(seed).spawn(worlds):
        rng = np.random.default_rng(stream)
        site = _Site(known, machines, disks, waiting, rules, rng)
        lot = int(rng.integers(2**32))
        lives = {policy: site.run(policy, runs, lot) for policy in (NEVER, *policies)}
        still = lives[NEVER]
        for policy, tally in tallies.items():
            life = lives[policy]
            tally.gains.append(float((life.speed - still.speed).sum() / life.moments.sum()))
            tally.lives += int((life.moments > 0).sum())
            tally.harmed += int((life.has_moved & (life.speed < life.stayed - 1e-9)).sum())
            tally.slowed += int((life.speed - still.speed < -SLOWED * life.moments).sum())
            for name in ("moves", "failed", "back", "runs", "trials"):
                setattr(tally, name, getattr(tally, name) + getattr(life, name))
    return tallies


class _Life:
    """The sums over moments of the ln speed that each machine saw, and would have seen had it alone stayed."""

    def __init__(self, machines: int) -> None:
        self.speed, self.stayed, self.moments = (np.zeros(machines) for _ in range(3))
        self.has_moved = np.zeros(machines, bool)
        self.left: dict[int, set[int]] = {}
        self.returned: set[int] = set()
        self.moves = self.failed = self.runs = self.trials = 0

    @property
    def back(self) -> int:
        return len(self.returned)

    def moved(self, machine: int, here: int, there: int) -> None:
        self.moves += 1
        self.has_moved[machine] = True
        self.left.setdefault(machine, set()).add(here)
        if there in self.left[machine]:
            self.returned.add(machine)


@dataclass
class _Now:
    """Where a policy's machines lie, and what it has seen.

    pools : (n,); latency : (moments, n) ms; of_pool, outstanding : (moments, P), the machines' mean and their sum
    moved : this week's moves as slot, here, there; outcomes : of earlier ones
    """

    pools: np.ndarray
    latency: np.ndarray
    of_pool: np.ndarray
    outstanding: np.ndarray
    moved: list[tuple[int, int, int]] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)


class _Site:
    """A site's machines, pools, traces and truth."""

    def __init__(
        self,
        known: Mapping[str, Known],
        machines: int,
        disks: float,
        waiting: float,
        rules: Rules,
        rng: np.random.Generator,
    ) -> None:
        self.rules, self.waiting = rules, waiting
        self.world = World(known, 0, VARIATION**2, rules, rng)
        leave = 1 - (1 - LEAVE) ** (1 / MONTH)
        self.fleet: Fleet = fleet(
            machines, self.world, rng, periods=WEEKS, leave=leave, machines_a_pool=MACHINES_A_POOL
        )
        count, moments = len(self.fleet.host), WEEKS * A_WEEK
        of_host = self.world.site_effects(rng, WEEKS, DRIFT)
        drift = np.cumsum(DRIFT * rng.normal(size=(WEEKS, count)) * (np.arange(WEEKS) > 0)[:, None], axis=0)
        self.healthy = of_host[:, :, self.fleet.host] + disks * self.world.disk_effects(count, rng) + drift[:, None, :]
        begins = rng.random((WEEKS, count)) < SLOW
        is_slow = begins.copy()
        for later in range(1, SLOW_WEEKS):
            is_slow[later:] |= begins[:-later]
        self.truth = self.healthy - np.log(2) * is_slow[:, None, :]
        week = np.cumsum(OF_WEEK / 2 * rng.normal(size=(WEEKS, machines)), axis=0)
        moment = OF_MOMENT * rng.normal(size=(moments, machines))
        day = np.log(np.tile(OF_DAY, moments // A_DAY))[:, None]
        of_machine = OUTSTANDING * self.fleet.loads / np.median(self.fleet.loads)
        self.asked = of_machine * np.exp(np.repeat(week, A_WEEK, axis=0) + moment + day)  # outstanding requests
        shapes = np.array([SHAPES.get(workload, _USUAL) for workload in self.world.workloads])
        self.shape = np.array([shares @ shapes for shares, _ in self.world.kinds])  # (kinds, 3)
        self.load = np.stack([load_of(self.asked[t], *self.shape[self.kinds(t)].T) for t in range(moments)])
        self.usual = float(self.load.mean()) * machines / count
        self.capacity = np.bincount(self.fleet.first, self.fleet.sizes, count) + ROOM * self.fleet.sizes.sum() / count
        self.names = [pool_name(number) for number in range(count)]

    def kinds(self, moment: int) -> np.ndarray:
        return self.fleet.kinds[moment // A_WEEK]

    def slots(self, moment: int) -> np.ndarray:
        return self.fleet.slots[moment // A_WEEK]

    def used(self, pools: np.ndarray) -> np.ndarray:
        return np.bincount(pools, self.fleet.sizes, len(self.fleet.host))

    def latency(self, moment: int, pools: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the latency of each machine, ms, and the latency it would have had it alone lain on its first pool."""
        speeds, kinds = self.truth[moment // A_WEEK], self.kinds(moment)
        own, first = speeds[kinds, pools], speeds[kinds, self.fleet.first]
        asked = self.load[moment] / self.usual
        busy = np.bincount(pools, asked * np.exp(-own), len(self.fleet.host))
        there = busy[self.fleet.first] + np.where(pools == self.fleet.first, 0.0, asked * np.exp(-first))
        return self._takes(own, busy[pools]), self._takes(first, there)

    def _takes(self, speed: np.ndarray, busy: np.ndarray) -> np.ndarray:
        return np.asarray(BASE_MS * np.exp(-speed) * (1 - self.waiting + self.waiting * busy))

    def run(self, policy: str, runs: int, lot: int) -> _Life:
        """Run one policy through the weeks."""
        chance = np.random.default_rng([lot, POLICIES.index(policy)])
        life = _Life(int(self.fleet.slots.max()) + 1)
        size, count, moments = len(self.fleet.first), len(self.fleet.host), WEEKS * A_WEEK
        now = _Now(
            self.fleet.first.copy(), np.zeros((moments, size)), np.zeros((moments, count)), np.zeros((moments, count))
        )
        decide = self._decider(policy, runs, life, np.random.default_rng([lot, 1]))
        for moment in range(moments):
            week, is_new = moment // A_WEEK, np.zeros(size, bool)
            if moment % A_WEEK == 0:
                if week:
                    is_new = self.fleet.slots[week] != self.fleet.slots[week - 1]
                    self._look_back(now, week, is_new, chance)
                    now.pools[is_new] = self.fleet.first[is_new]
                now.moved = []
            slots, cost = self.slots(moment), np.zeros(size)
            for one, there in decide(now, moment, is_new) if week else ():
                here = int(now.pools[one])
                seconds = self.fleet.sizes[one] / self.rules.copy_rate
                cost[one] = np.log1p(-self.rules.slowdown * min(seconds / (86_400 / A_DAY), 1.0))
                if chance.random() < FAILS:
                    life.failed += 1
                    continue
                now.pools[one] = there
                now.moved.append((one, here, there))
                life.moved(int(slots[one]), here, there)
            seen, stayed = self.latency(moment, now.pools)
            now.latency[moment] = seen
            on = np.maximum(np.bincount(now.pools, minlength=count), 1)
            now.of_pool[moment] = np.bincount(now.pools, seen, count) / on
            now.outstanding[moment] = np.bincount(now.pools, self.asked[moment], count)
            if week:
                life.speed[slots] += cost - np.log(seen)
                life.stayed[slots] -= np.log(stayed)
                life.moments[slots] += 1
        return life

    def _look_back(self, now: _Now, week: int, is_new: np.ndarray, chance: np.random.Generator) -> None:
        """Keep what came of the last week's moves, of which something can be told."""
        begin = (week - 1) * A_WEEK
        for slot, here, there in now.moved:
            was_there = week > 1 and self.fleet.slots[week - 1, slot] == self.fleet.slots[week - 2, slot]
            if is_new[slot] or not was_there or chance.random() > TOLD:
                continue
            before, after = (now.latency[start : start + A_WEEK, slot] for start in (begin - A_WEEK, begin))
            speed = float(np.log(before.mean() / after.mean()) + SEEN * chance.normal())
            shares, guest = self.load_of_kind(int(self.fleet.kinds[week - 1, slot]))
            name = f"{self.fleet.slots[week - 1, slot]}"
            own = (len(now.outcomes) + 1, name, guest, shares, self.names[here], self.names[there], speed, SEEN**2)
            now.outcomes.append(Outcome(*own, days=7.0 * week))  # since the first week; told later as its age

    def load_of_kind(self, kind: int) -> tuple[dict[str, float], str]:
        shares, guest = self.world.kinds[kind]
        return {w: float(share) for w, share in zip(self.world.workloads, shares, strict=True) if share}, guest

    # Ways to decide: each returns, at a moment, the slots that move and where to.

    def _decider(
        self, policy: str, runs: int, life: _Life, rng: np.random.Generator
    ) -> Callable[[_Now, int, np.ndarray], Sequence[tuple[int, int]]]:
        if policy in (BASIL, STORAGE_DRS):
            rule = basil if policy == BASIL else storage_drs
            return lambda now, moment, is_new: self._balanced(rule, now, moment)
        if policy in (MEASURED, TRIALS, LEARNS):
            plans = _Plans(self, 0 if policy == TRIALS else runs, rng)
            life.runs = plans.runs
            return lambda now, moment, is_new: (
                []
                if moment % A_WEEK
                else plans.moves(now, moment // A_WEEK, life, learns=policy != MEASURED, tries=policy == TRIALS)
            )
        return lambda now, moment, is_new: [] if moment % A_WEEK else self._fixed(policy, now, moment, is_new, rng)

    def _balanced(
        self, rule: Callable[[Watched], tuple[int, int] | None], now: _Now, moment: int
    ) -> list[tuple[int, int]]:
        day, past = slice(moment - A_DAY, moment), slice(max(0, moment - 2 * A_WEEK), moment)
        watched = Watched(
            here=now.pools,
            load=self.load[day].mean(axis=0),
            sizes=self.fleet.sizes,
            may_move=~self.fleet.is_pinned,
            slope=np.array(
                [slope(now.outstanding[past, p], now.of_pool[past, p]) for p in range(len(self.fleet.host))]
            ),
            latency=np.quantile(now.of_pool[day], 0.9, axis=0),
            used=self.used(now.pools),
            capacity=self.capacity,
        )
        move = rule(watched)
        return [move] if move else []

    def _fixed(
        self, policy: str, now: _Now, moment: int, is_new: np.ndarray, rng: np.random.Generator
    ) -> list[tuple[int, int]]:
        size, count = len(now.pools), len(self.fleet.host)
        is_due = is_new if moment > A_WEEK else np.ones(size, bool)
        values = np.full((size, count), -np.inf)
        if policy == LIST:
            listed = self.world.listed[self.kinds(moment)]
            values = np.where(listed[:, self.fleet.host], 1.0, values)
            values[listed[np.arange(size), self.fleet.host[now.pools]]] = -np.inf
        elif policy == SPACE:
            values[is_due, int(np.argmin(self.used(now.pools) / self.capacity))] = 1.0
        elif policy == RANDOM:
            chosen = rng.integers(0, count, size)
            values[is_due, chosen[is_due]] = 1.0
        elif policy == ORACLE:
            return self._best(now, moment)
        return [] if policy == NEVER else self.assigned(values, now.pools, is_filling=True)

    def _best(self, now: _Now, moment: int) -> list[tuple[int, int]]:
        """Move one machine after another to where it is fastest, as who knows all speeds and loads to come would."""
        speeds = np.mean(self.truth[moment // A_WEEK :], axis=0)[self.kinds(moment)]
        weight = self.load[moment : moment + A_WEEK].mean(axis=0)[:, None] / self.usual * np.exp(-speeds)
        pools, count, costs = now.pools.copy(), len(self.fleet.host), self.costs()
        most = self.capacity - RESERVE * self.capacity / (1 + ROOM)
        ahead = speeds.max(axis=1) - speeds[np.arange(len(pools)), pools]
        for one in sorted(np.flatnonzero(~self.fleet.is_pinned), key=lambda one: -ahead[one]):
            here = pools[one]
            busy = np.bincount(pools, weight[np.arange(len(pools)), pools], count)
            busy = busy + np.where(np.arange(count) == here, 0.0, weight[one])
            takes = np.log(self._takes(speeds[one], busy))
            takes[self.used(pools) + self.fleet.sizes[one] > most] = np.inf
            there = int(np.argmin(takes))
            own = float(np.log(self._takes(speeds[one], busy))[here])
            if there != here and own - takes[there] > 0.02 + costs[one]:
                pools[one] = there
        return [(int(one), int(pools[one])) for one in np.flatnonzero(pools != now.pools)]

    def costs(self) -> np.ndarray:
        """Return the share of throughput over the horizon that copying each machine costs."""
        return self.rules.slowdown * self.fleet.sizes / self.rules.copy_rate / self.rules.horizon

    def assigned(self, values: np.ndarray, pools: np.ndarray, *, is_filling: bool) -> list[tuple[int, int]]:
        """Return the moves of the largest values within space, load, apart and pins. values : (n, P)"""
        values = values.copy()
        values[np.arange(len(pools)), pools] = -np.inf
        values[self.fleet.is_pinned] = -np.inf
        free = self.capacity - self.used(pools) - RESERVE * self.capacity / (1 + ROOM)
        loads = np.bincount(pools, self.fleet.loads, len(self.fleet.host))
        problem = Problem(
            values=values,
            here=pools,
            sizes=self.fleet.sizes,
            loads=self.fleet.loads,
            room=np.maximum(free, 0.0),
            headroom=np.maximum(self.fleet.most - loads, 0.0),
            apart=self.fleet.apart,
        )
        if is_filling:
            filling = Filling(problem)
            filling.improve()
            ends = filling.pools
        else:
            ends = assign(problem, self.names, 0.0, 0.01).pools
        return [(int(one), int(ends[one])) for one in np.flatnonzero(ends != pools)]


class _Plans:
    """The plans that KDB makes each week, all of whose moves are confirmed."""

    def __init__(self, site: _Site, runs: int, rng: np.random.Generator) -> None:
        self.site, world = site, site.world
        on = [world.hosts[place] for place in site.fleet.host]
        alone = site.healthy[0][: len(world.workloads) * len(world.guests)]  # the kinds of one workload come first
        by_workload = alone.reshape(len(world.workloads), len(world.guests), len(on))
        known, self.runs = measured_on_pools(world.learnt, world.guests, on, by_workload, runs, site.rules.margin, rng)
        self.before = [
            self._before(kind, {name: part.posterior for name, part in known.items()}, is_measured=runs > 0)
            for kind in range(len(world.kinds))
        ]

    def _before(self, kind: int, known: Mapping[str, Posterior], *, is_measured: bool) -> HostEvidence:
        shares, guest = self.site.load_of_kind(kind)
        parts = []
        for workload, share in shares.items():
            posterior = known[workload]
            at = [posterior.treatments.index(pair_key(guest, name)) for name in self.site.names]
            spread = posterior.covariances + posterior.extras
            whole = Machine(posterior.weights, posterior.means, spread)
            parts.append((share, machine.select_entries(whole, at)))
        return evidence_of_runs(parts, self.site.names, self.site.names if is_measured else (), self.runs)

    def moves(self, now: _Now, week: int, life: _Life, *, learns: bool, tries: bool) -> list[tuple[int, int]]:
        """Return the week's moves: those that the evidence carries, and trials where asked for."""
        site = self.site
        outcomes = [_aged(outcome, week) for outcome in now.outcomes] if learns else []
        size, kinds, slots = len(now.pools), site.fleet.kinds[week], site.fleet.slots[week]
        movers = {outcome.machine for outcome in outcomes}
        homes: dict[tuple[int, str], HostEvidence] = {}
        gains: dict[tuple[int, str, int], np.ndarray] = {}
        values, home_of = np.full((size, len(site.names)), -np.inf), {}
        for one in range(size):
            name = str(slots[one]) if str(slots[one]) in movers else ""
            key, here = (int(kinds[one]), name), int(now.pools[one])
            if key not in homes:
                shares, guest = site.load_of_kind(key[0])
                homes[key] = add_moves(self.before[key[0]], outcomes, Load(guest, shares), name)
            home_of[str(slots[one])] = homes[key]
            if (*key, here) not in gains:
                gains[*key, here] = self._gains(homes[key], key[0], here)
            values[one] = gains[*key, here]
        moves = site.assigned(values - site.costs()[:, None], now.pools, is_filling=False)
        if tries:
            gone = {one for one, _ in moves}
            trials = self._trials(now, week, values, home_of, gone)
            life.trials += len(trials)
            moves += trials
        return moves

    def _gains(self, home: HostEvidence, kind: int, here: int) -> np.ndarray:
        """Return the (P,) gains from a pool that carry a move, else -inf."""
        guest = self.site.world.kinds[kind][1]
        known, names = as_known(home, guest), [pair_key(guest, name) for name in self.site.names]
        gains = np.full(len(names), -np.inf)
        for there, name in enumerate(names):
            if there != here and known.joins(name, names[here]):
                ahead = difference(known.posterior, name, names[here])
                if are_sure(*chances(ahead, self.site.rules.margin), known.strength, self.site.rules):
                    gains[there] = expected_gain(ahead)
        return gains

    def _trials(
        self, now: _Now, week: int, values: np.ndarray, home_of: Mapping[str, HostEvidence], gone: set[int]
    ) -> list[tuple[int, int]]:
        """Return the trial moves that plans propose for machines of which too little is known."""
        site = self.site
        free = np.maximum(site.capacity - site.used(now.pools) - RESERVE * site.capacity / (1 + ROOM), 0.0)
        pools = [
            Pool(name, site.world.hosts[host], float(room))
            for name, host, room in zip(site.names, site.fleet.host, free, strict=True)
        ]
        machines, advice, slot_of = [], {}, {}
        for one, slot in enumerate(site.fleet.slots[week]):
            if one in gone or np.isfinite(values[one]).any():
                continue
            shares, guest = site.load_of_kind(int(site.fleet.kinds[week, one]))
            name, here = str(slot), site.names[now.pools[one]]
            pinned = bool(site.fleet.is_pinned[one])
            machines.append(
                Guest(name, here, guest, HYPERVISOR, shares, float(site.fleet.sizes[one]), is_pinned=pinned)
            )
            advice[name], slot_of[name] = Advice(name, here, here, NOT_KNOWN), one
        told: Sequence[Proposal] = proposals(
            machines,
            pools,
            advice,
            lambda guest: home_of[guest.name],
            site.rules,
            runnable=(),
            watched=(),
            least=site.rules.margin / 2,
        )
        places = {name: place for place, name in enumerate(site.names)}
        return [(slot_of[proposal.machine], places[proposal.pools[1]]) for proposal in told if proposal.kind == TRIAL]


def _aged(outcome: Outcome, week: int) -> Outcome:
    """Return the outcome with its age in that week; `days` as it is kept are since the first week."""
    return replace(outcome, days=7.0 * week - outcome.days)
