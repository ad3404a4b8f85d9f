"""Which advice bears on a question, and what it comes to for each entry. No Django. Source: docs/models/guidance.md."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from kdb.host_storage import FILE, UNNAMED, host_storage_key, host_storage_parts
from modelling.evidence.axes import AXES, entry_parts
from modelling.evidence.families import RUNS

from .content import Advised, Asked, Disagreement, EntryAdvice, Statement, first_shown
from .words import FAMILIES_OF

# Axes of which an entry has parts, with the axes whose advice applies to these.
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
    """Return the axes whose advice bears on entries of this one."""
    return (axis, *PARTS.get(axis, ()))


def admits(row: Statement, asked: Asked) -> bool:
    """Tell whether nothing in the row's context contradicts the question; what either leaves open does not."""
    return all(not wanted or not named or not wanted.isdisjoint(named) for wanted, named in _pairs(row, asked))


def closest(rows: Iterable[Statement], asked: Asked) -> list[Statement]:
    """Return the statements that admit the question: closest first, then makers, then what holds always."""
    return sorted(
        (row for row in rows if admits(row, asked)),
        key=lambda row: (-closeness(row, asked), row.kind == "paper", bool(row.condition), -_strength(row)),
    )


def _strength(one: Statement) -> int:
    return STRENGTH.get(one.wording, 0)


def closeness(row: Statement, asked: Asked) -> int:
    """Count the parts of the question that the row names, the hypervisor itself twice, less what it names beyond."""
    named = [(bool(wanted), bool(names)) for wanted, names in _pairs(row, asked)]
    own = asked.hypervisor in row.hypervisors
    return sum(2 for pair in named if all(pair)) + own - sum(names > wanted for wanted, names in named)


def _pairs(row: Statement, asked: Asked) -> list[tuple[set[str], Sequence[str]]]:
    """Return what the question wants, with all that is as good, beside what the row names."""
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
    """Return the values that an entry stands for, each with its axis. Raises ValueError for no entry of the axis."""
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
    asked: Asked,
    statements: Iterable[Statement],
    disagreements: Iterable[Disagreement],
) -> Advised:
    """Weigh what is said of each entry. statements : of axes_of(axis), defaults among them"""
    closest_first = closest(statements, asked)
    near = [one for one in closest_first if not one.is_default]
    parts = {entry: parts_of(axis, entry) for entry in entries}
    advice_on = {entry: _of_entry(near, parts[entry], _under(parts[entry], asked)) for entry in entries}
    named = {one.code for entry in advice_on.values() for one in entry.recommending + entry.discouraging}
    relevant = tuple(one for one in near if one.code in named)
    products = _defaults(axis, closest_first, asked)
    values = {(axis, value) for one in products for value in one.recommended}
    meant = {entry for entry in entries if not values.isdisjoint(parts[entry])}
    codes = {one.code for one in first_shown(relevant)} | {one.code for one in products}
    by_score = sorted(entries, key=lambda entry: advice_on[entry].score)
    return Advised(
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


def _under(parts: set[tuple[str, str]], asked: Asked) -> Asked:
    """Return the question under the hypervisor that an entry names, if it names one and is more than that."""
    named = next((value for axis, value in parts if axis == "hypervisor" and len(parts) > 1), "")
    return replace(asked, hypervisor=named or asked.hypervisor)


def _of_entry(statements: Sequence[Statement], parts: set[tuple[str, str]], asked: Asked) -> EntryAdvice:
    statements = [one for one in statements if admits(one, asked)]
    pro = tuple(one for one in statements if any((one.axis, value) in parts for value in one.recommended))
    con = tuple(one for one in statements if any((one.axis, value) in parts for value in one.discouraged))
    return EntryAdvice(pro, con, sum(_by_publisher(pro, asked).values()) - sum(_by_publisher(con, asked).values()))


def _by_publisher(statements: Iterable[Statement], asked: Asked) -> dict[str, int]:
    """Return each publisher's strongest word. Papers have none: their numbers are evidence already.

    Under a condition that nobody judges, or on a storage that is not asked for, it is an option.
    """
    strongest: dict[str, int] = defaultdict(int)
    for one in statements:
        if one.kind != "paper":
            word = _strength(one) if _is_meant(one, asked) else min(_strength(one), STRENGTH["may"])
            strongest[one.publisher] = max(strongest[one.publisher], word)
    return strongest


def _is_meant(one: Statement, asked: Asked) -> bool:
    """Return whether the question alone decides that the statement holds: it names the product that it is about, and a
    condition beside the workload that is asked for narrows that, "InnoDB data files"."""
    families = {asked.workload, *FAMILIES_OF.get(asked.workload, ())}
    is_open = bool(one.condition) and one.condition != "nothing set" and families.isdisjoint(one.workloads)
    is_of_others = bool(one.hypervisors and not asked.hypervisor) or bool(one.host_storages and not asked.host_storage)
    return not is_open and not is_of_others


def _is_of_product(one: Statement, asked: Asked) -> bool:
    """Return whether the statement is of the hypervisor that the question names, or what that runs: KVM also has the
    storage of those that name none, such as ZFS."""
    alike = {asked.hypervisor, RUNS.get(asked.hypervisor, asked.hypervisor)}
    return not asked.hypervisor or not alike.isdisjoint(one.hypervisors or RUNS.values())


def _most_advised(advice_on: dict[str, EntryAdvice], asked: Asked) -> tuple[str, ...]:
    """Return the entry that most publishers endorse, or several alike that nobody advises against; where none is
    endorsed, the one that most speaks for, of those that three or more name."""
    ranked: dict[tuple[int, int, int], list[str]] = defaultdict(list)
    for entry, advice in advice_on.items():
        words = _by_publisher(advice.recommending, asked).values()
        ranked[sum(word >= ENDORSES for word in words), advice.score, len(words)].append(entry)
    number, score, publishers = most = max(ranked, default=(0, 0, 0))
    are_fine = len(ranked[most]) == 1 or (number and not any(advice_on[entry].discouraging for entry in ranked[most]))
    return tuple(sorted(ranked[most])) if score > 0 and are_fine and (number or publishers > 2) else ()


def _defaults(axis: str, statements: Iterable[Statement], asked: Asked) -> tuple[Statement, ...]:
    """Return the defaults of what the question names: of its hypervisor; if there are none, of what that runs."""
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
