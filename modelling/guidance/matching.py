"""Select and weigh the advice that applies to a question. No Django. Source: docs/models/guidance.md."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from kdb.host_storage import FILE, UNNAMED, host_storage_key, host_storage_parts
from modelling.evidence.axes import AXES, entry_parts
from modelling.evidence.families import RUNS

from .content import AdviceSummary, Disagreement, EntryAdvice, QuestionContext, Statement, first_shown
from .words import FAMILIES_OF

# Axes whose entries consist of parts, with the axes whose advice applies to these.
PARTS = {
    "fs-pair": ("guest-fs", "host-fs", "host-storage"),
    "configuration": ("hypervisor", "fs-pair", "guest-fs", "host-fs", "host-storage", "cache-mode"),
    "host-fs": ("host-storage",),
    "host-storage": ("host-fs",),
}
STRENGTH = {"must": 4, "never": 4, "should": 3, "avoid": 3, "default": 2, "may": 1}  # others: 0
ENDORSES = 2  # a `may` is an option, not an endorsement
DISCOURAGES = -2


def axes_of(axis: str) -> tuple[str, ...]:
    """Return the axes whose advice applies to entries of this one."""
    return (axis, *PARTS.get(axis, ()))


def admits(row: Statement, asked: QuestionContext) -> bool:
    """Tell whether the context of the statement is compatible with the question; open parts are."""
    return all(not wanted or not named or not wanted.isdisjoint(named) for wanted, named in _context_pairs(row, asked))


def closest(rows: Iterable[Statement], asked: QuestionContext) -> list[Statement]:
    """Return the compatible statements: the closest first, then makers before papers, then unconditional ones first."""
    return sorted(
        (row for row in rows if admits(row, asked)),
        key=lambda row: (-closeness(row, asked), row.kind == "paper", bool(row.condition), -_strength(row)),
    )


def _strength(one: Statement) -> int:
    return STRENGTH.get(one.wording, 0)


def closeness(row: Statement, asked: QuestionContext) -> int:
    """Score a statement: 2 for each part that both name, 1 for the hypervisor itself, -1 for each it names alone."""
    named = [(bool(wanted), bool(names)) for wanted, names in _context_pairs(row, asked)]
    own = asked.hypervisor in row.hypervisors
    return sum(2 for pair in named if all(pair)) + own - sum(names > wanted for wanted, names in named)


def _context_pairs(row: Statement, asked: QuestionContext) -> list[tuple[set[str], Sequence[str]]]:
    """Return for each part of the context the values that fit the question, and those that the row names."""
    hypervisor, storage, place = asked.hypervisor, asked.storage, asked.host_storage
    is_file = host_storage_parts(place)[0] == FILE
    return [
        ({*FAMILIES_OF.get(asked.workload, (asked.workload,))} - {""}, row.workloads),
        ({hypervisor, RUNS.get(hypervisor, "")} - {""}, row.hypervisors),
        ({place, UNNAMED if is_file and place else ""} - {""}, row.host_storages),
        ({storage, "ssd" if storage == "nvme" else ""} - {"", "mixed"}, row.storages),
        ({asked.guest_os} - {""}, row.guest_oses),
    ]


def parts_of(axis: str, entry: str) -> set[tuple[str, str]]:
    """Return axis and value of each part of an entry. Raises ValueError for a key that is no entry of the axis."""
    parts = {(axis, entry)}
    if axis not in PARTS:
        return parts
    named = entry_parts(AXES[axis], entry)
    if axis == "host-storage":
        backend, host_fs = host_storage_parts(entry)
        return parts | ({("host-storage", UNNAMED), ("host-fs", host_fs)} if backend == FILE else set())
    columns = {"hypervisor": "hypervisor", "guest_fs": "guest-fs", "host_fs": "host-fs", "cache_mode": "cache-mode"}
    parts |= {(columns[column], value) for column, value in named.items() if value}
    parts |= {("host-storage", host_storage_key(FILE, named["host_fs"]) or "")}
    return parts | ({("fs-pair", f"{named['guest_fs']}-on-{named['host_fs']}")} if "guest_fs" in named else set())


def advise(
    axis: str,
    entries: Sequence[str],
    asked: QuestionContext,
    statements: Iterable[Statement],
    disagreements: Iterable[Disagreement],
) -> AdviceSummary:
    """Weigh the advice on each entry. statements : of axes_of(axis), with defaults"""
    closest_first = closest(statements, asked)
    near = [one for one in closest_first if not one.is_default]
    parts = {entry: parts_of(axis, entry) for entry in entries}
    advice_on = {entry: _weigh_entry(near, parts[entry], asked) for entry in entries}
    named = {one.code for entry in advice_on.values() for one in entry.recommending + entry.discouraging}
    relevant = tuple(one for one in near if one.code in named)
    products = _defaults(axis, closest_first, asked)
    values = {(axis, value) for one in products for value in one.recommended}
    meant = {entry for entry in entries if not values.isdisjoint(parts[entry])}
    codes = {one.code for one in first_shown(relevant)} | {one.code for one in products}
    by_score = sorted(entries, key=lambda entry: advice_on[entry].score)
    return AdviceSummary(
        axis=axis,
        entries=advice_on,
        advised=_most_advised(advice_on, asked) if len(AXES[axis].entry) == 1 else (),
        discouraged=tuple(entry for entry in by_score if advice_on[entry].score <= DISCOURAGES),
        default=meant.pop() if len(meant) == len(values) == 1 else None,
        defaults=products,
        statements=relevant,
        disagreements=tuple(one for one in disagreements if one.touches(codes)),
        is_meant=any(_is_of_product(one, asked) for one in relevant),
    )


def _weigh_entry(statements: Sequence[Statement], parts: set[tuple[str, str]], asked: QuestionContext) -> EntryAdvice:
    if len(parts) > 1:  # a configuration applies to its own hypervisor
        asked = replace(asked, hypervisor=dict(parts).get("hypervisor", asked.hypervisor))
    statements = [one for one in statements if admits(one, asked)]
    pro = tuple(one for one in statements if any((one.axis, value) in parts for value in one.recommended))
    con = tuple(one for one in statements if any((one.axis, value) in parts for value in one.discouraged))
    for_it, against = (sum(_strength_by_publisher(side, asked).values()) for side in (pro, con))
    return EntryAdvice(pro, con, for_it - against)


def _strength_by_publisher(statements: Iterable[Statement], asked: QuestionContext) -> dict[str, int]:
    """Return publisher to the strength of its strongest advice, without papers: their numbers are evidence already.

    Advice under a condition, or for a product that the question does not name, counts at most as an option.
    """
    strongest: dict[str, int] = defaultdict(int)
    for one in statements:
        if one.kind != "paper":
            word = _strength(one) if _applies_fully(one, asked) else min(_strength(one), STRENGTH["may"])
            strongest[one.publisher] = max(strongest[one.publisher], word)
    return strongest


def _applies_fully(one: Statement, asked: QuestionContext) -> bool:
    """Tell whether the statement holds for every reader with this question.

    The question names its product, and its condition, if any, only narrows the workload: "InnoDB data files".
    """
    families = {asked.workload, *FAMILIES_OF.get(asked.workload, ())}
    is_open = bool(one.condition) and one.condition != "nothing set" and families.isdisjoint(one.workloads)
    is_of_others = bool(one.hypervisors and not asked.hypervisor) or bool(one.host_storages and not asked.host_storage)
    return not is_open and not is_of_others


def _is_of_product(one: Statement, asked: QuestionContext) -> bool:
    """Tell whether the statement is about the question's hypervisor or the one that it runs.

    Statements without hypervisor, such as on ZFS, count for KVM.
    """
    alike = {asked.hypervisor, RUNS.get(asked.hypervisor, asked.hypervisor)}
    return not asked.hypervisor or not alike.isdisjoint(one.hypervisors or RUNS.values())


def _most_advised(advice_on: dict[str, EntryAdvice], asked: QuestionContext) -> tuple[str, ...]:
    """Return the entry that most publishers endorse, or several equal ones without advice against them.

    Where none is endorsed, return the one with the highest score of those that three or more publishers name.
    """
    ranked: dict[tuple[int, int, int], list[str]] = defaultdict(list)
    for entry, advice in advice_on.items():
        words = _strength_by_publisher(advice.recommending, asked).values()
        ranked[sum(word >= ENDORSES for word in words), advice.score, len(words)].append(entry)
    number, score, publishers = most = max(ranked, default=(0, 0, 0))
    are_fine = len(ranked[most]) == 1 or (number and not any(advice_on[entry].discouraging for entry in ranked[most]))
    return tuple(sorted(ranked[most])) if score > 0 and are_fine and (number or publishers > 2) else ()


def _defaults(axis: str, statements: Iterable[Statement], asked: QuestionContext) -> tuple[Statement, ...]:
    """Return the defaults for the question's products: of its hypervisor, or else of the one that it runs."""
    fitting = [
        one
        for one in statements
        if one.is_default
        and one.axis == axis
        and (asked.hypervisor or not one.hypervisors)
        and (asked.host_storage or not one.host_storages)
    ]
    own = [one for one in fitting if asked.hypervisor in one.hypervisors]
    return tuple(own or fitting)
