"""Recommend an entry for every question, because readers have to choose one. No Django.

A verdict (modelling.estimation.verdict) says what evidence shows; a recommendation says what to choose, and how sure
that is: the entry with the least expected loss on a machine that nobody measured.
Source: docs/models/recommendation.md; strong and conditional after GRADE (Andrews and others 2013,
10.1016/j.jclinepi.2013.02.003).
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from .bayes import Posterior
from .verdict import AVOID, LEADS, NO_DIFFERENCE, USE, WITHIN

FORCES = STRONG, CONDITIONAL, GUESS = "strong", "conditional", "a guess"
BASES = SEVERAL, ONE, LISTS, MAKERS, NEAREST, DEFAULT, NOTHING = (
    "measurements of several groups",
    "measurements of one group",
    "published order",
    "makers' advice",
    "nearest question",
    "default",
    "nothing",
)
ALIKE = 0.01  # difference of expected losses up to which durability, makers' advice or the default decides
DISCOURAGED, NEARLY = -2, 0.05  # advice from which on another is chosen, if its expected loss is at most this larger
TOSS = 0.02  # chance above a blind pick's up to which a choice is a coin's toss among those within NEARLY
MOST_TOSSED = 3  # entries of such a choice
TIE_BREAKS = DURABLE, ADVISED, BY_DEFAULT = "durability", "makers' advice", "the default"
RARELY = 0.9  # probability that the cost "one in ten" is not exceeded


@dataclass(frozen=True)
class Option:
    """One entry that may be recommended.

    groups : research groups with numbers of it; is_listed : whether a tier list names it
    verdict : of modelling.estimation.verdict.ENTRY_KINDS; place : in the order of the evidence
    is_durable : whether no number of it rests on an option that can lose acknowledged writes
    advised : strength of makers' advice for it minus that against it
    is_default : whether it is the product's default
    """

    key: str
    groups: int = 0
    is_listed: bool = False
    verdict: str = ""
    place: int = 0
    is_durable: bool = True
    advised: int = 0
    is_default: bool = False

    @property
    def tie_key(self) -> tuple[bool, int, bool]:
        """Return the sort key among options of like loss: by durability, makers' advice, default, as in TIE_BREAKS."""
        return not self.is_durable, -self.advised, not self.is_default


@dataclass(frozen=True)
class Recommended:
    """The recommended choice.

    choice : keys, any of which is fine; empty: nothing may be recommended
    rather_not : keys; is_sure_of_not : whether evidence says to avoid them
    force : of FORCES; basis : of BASES; by_lists : whether tier lists alone decided
    is_toss : whether nothing tells the entries of the choice apart; tie_break : of TIE_BREAKS, if it alone decided
    chance : that the choice (of a toss, its first) is the best on a new machine; blind : that of a blind pick
    cost, cost_one_in_ten : loss where it is not the best, expected and exceeded in one of ten cases, percent
    """

    choice: tuple[str, ...] = ()
    rather_not: tuple[str, ...] = ()
    is_sure_of_not: bool = False
    force: str = GUESS
    basis: str = NOTHING
    by_lists: bool = False
    is_toss: bool = False
    tie_break: str = ""
    chance: float | None = None
    blind: float | None = None
    cost: float | None = None
    cost_one_in_ten: float | None = None


def recommend(
    options: Sequence[Option], posterior: Posterior, kind: str, margin: float, worst: Collection[str] = ()
) -> Recommended:
    """Return what to choose among options.

    posterior : of the options, in their order; kind : of the verdict on them; margin : difference that matters, a share
    worst : keys that tier lists put last, where there are no numbers

    Where evidence shows several within the margin, any is fine; where it shows one, with two groups, it is strong. Else
    the option with the least expected loss is chosen, or with lists alone their first; of options alike in that, the
    durable one, then the one that makers advise more, then the default. Where nothing tells options apart, and the
    chance is no better than that of a blind pick, any of them is fine.
    """
    if not options:
        return Recommended()
    forecast = posterior.forecast(margin)
    of_lists = not any(option.groups for option in options)
    losses = dict(zip((option.key for option in options), forecast.loss.tolist(), strict=True))

    def order(option: Option) -> tuple[object, ...]:
        return (option.place if of_lists else 0), losses[option.key], option.key

    first = min(options, key=order)
    alike = [option for option in options if _is_alike(option, first, losses, of_lists=of_lists)]
    first = min(alike, key=lambda option: (*option.tie_key, *order(option)))
    if first.advised <= DISCOURAGED:
        nearly = [option for option in options if option.is_durable and option.key not in worst]
        nearly = [option for option in nearly if losses[option.key] - losses[first.key] <= NEARLY]
        first = max((first, *nearly), key=lambda option: option.advised)
    chosen: tuple[Option, ...] = (first,)
    force = CONDITIONAL
    if kind in (USE, NO_DIFFERENCE) and (shown := tuple(option for option in options if option.verdict == kind)):
        chosen = tuple(sorted(shown, key=lambda option: (*option.tie_key, *order(option))))
        is_strong = kind == USE or min(option.groups for option in shown) > 1
        force = STRONG if is_strong else CONDITIONAL
    chance = float(sum(forecast.best[options.index(option)] for option in chosen))
    blind = len(chosen) / len(options)
    rivals, tie_break = [], ""
    if chosen == (first,) and first.verdict != LEADS and chance - blind <= TOSS:
        near = [option for option in options if option is not first and option.verdict != AVOID]
        near = [option for option in near if not of_lists or option.place == first.place]
        near = [option for option in near if losses[option.key] - losses[first.key] <= NEARLY]
        rivals = sorted((option for option in near if option.tie_key == first.tie_key), key=order)[: MOST_TOSSED - 1]
        tie_break = "" if rivals else _tie_break(first, near)
    keys = {option.key for option in (*chosen, *rivals)}
    avoid = tuple(option.key for option in options if option.verdict == AVOID and option.key not in keys)
    last = {*worst} if of_lists else {_worst_option(losses, posterior, options.index(chosen[0]), margin)}
    rather_not = tuple(key for key in sorted(last - {""}) if key not in keys)
    groups = max(option.groups for option in chosen)
    cost = losses[chosen[0].key] / max(1 - chance, 1e-9) if chance < 1 else 0.0
    tells_cost = len(chosen) == 1 < len(options)
    return Recommended(
        tuple(option.key for option in (*chosen, *rivals)),
        avoid or rather_not,
        is_sure_of_not=bool(avoid),
        force=force,
        basis=SEVERAL if groups > 1 else ONE if groups else LISTS if first.is_listed else NEAREST,
        by_lists=of_lists and first.is_listed,
        is_toss=bool(rivals),
        tie_break=tie_break,
        chance=chance if len(options) > 1 else None,
        blind=blind if len(options) > 1 else None,
        cost=100 * min(cost, 1.0) if tells_cost else None,
        cost_one_in_ten=100 * posterior.loss_quantile(options.index(chosen[0]), RARELY) if tells_cost else None,
    )


def _is_alike(option: Option, first: Option, losses: Mapping[str, float], *, of_lists: bool) -> bool:
    return option.place == first.place if of_lists else losses[option.key] - losses[first.key] <= ALIKE


def _tie_break(first: Option, near: Sequence[Option]) -> str:
    """Return the first of TIE_BREAKS in which the first option beats its nearest rivals; "" where none does."""
    rival = min((option.tie_key for option in near), default=first.tie_key)
    return next((name for name, mine, its in zip(TIE_BREAKS, first.tie_key, rival, strict=True) if mine < its), "")


def _worst_option(losses: Mapping[str, float], posterior: Posterior, chosen: int, margin: float) -> str:
    """Return the key with the largest expected loss if it is probably slower than the chosen by the margin, else ""."""
    worst = max(losses, key=lambda key: (losses[key], key))
    place = posterior.treatments.index(worst)
    slower = posterior.contrast(place, chosen).below(math.log1p(-margin)) if place != chosen else 0.0
    return worst if slower >= WITHIN else ""
