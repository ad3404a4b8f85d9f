"""Tell whether the evidence is from a machine like the visitor's, from what is stated. No Django."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from kdb.content import Among
from kdb.host_storage import FILE, host_storage_key
from modelling.evidence.axes import AXES, NATIVE
from modelling.evidence.words import capital, listed

from .machine import DISKS, Machine

MATCHES, IN_PART, ASSUMED = "matches", "matches in part", "assumed equal"
DIFFERS, NOT_STATED, NOT_GIVEN, CHOSEN = "differs", "not stated", "not given", "what the answer chooses"

# What is compared: (fact of the evidence, label, kind of its names), in the order of the table.
_FACTS = {
    "hypervisor": ("Hypervisor", "hypervisor"),
    "storage": ("Kind of disks", "storage"),
    "host_storage": ("Where images lie", "host_storage"),
    "guest_fs": ("Guest file system", "file_system"),
    "guest_os_family": ("Guest system", "guest_os_family"),
    "vm_count": ("Machines at once", ""),
}
_OF_NATIVE = ("hypervisor", "storage", "host_storage")  # without guest and machines


@dataclass(frozen=True)
class Fact:
    """One fact of your machine against the same of the evidence."""

    name: str
    label: str
    yours: Annotated[str, "Empty: not given."]
    evidence: Annotated[tuple[str, ...], "The values that are stated."]
    state: Annotated[
        str,
        Among([MATCHES, IN_PART, ASSUMED, DIFFERS, NOT_STATED, NOT_GIVEN, CHOSEN]),
        "Assumed equal: some source does not state it. In part: other values are averaged in.",
    ]


@dataclass(frozen=True)
class Fit:
    """The fit of the evidence to a machine like yours: the filters, `disks` and `images`."""

    sentence: Annotated[str, "Empty: there is no evidence."]
    effect: Annotated[str, "What is known of the difference; empty: there is none."]
    facts: tuple[Fact, ...]

    @property
    def is_asked(self) -> bool:
        """Tell whether anything is given that the evidence can be compared with."""
        return any(fact.yours for fact in self.facts)

    @property
    def says_disks(self) -> bool:
        """Tell whether the sentence speaks of the kind of disks."""
        return any(fact.name == "storage" and fact.yours for fact in self.facts)


def fit(
    axis: str,
    asked: Mapping[str, Any],
    machine: Machine,
    stated: Mapping[str, Sequence[str]],
    names: Mapping[str, Mapping[str, str]],
) -> Fit:
    """Compare a visitor's machine, fact by fact, with what the evidence of an answer was measured on.

    asked : filter of the question to its value, those that are set
    stated : fact of the evidence to its values, "" among them where some source does not state it; empty: no evidence
    names : kind of name to slug to name
    "Matches" is said only where both sides are stated.
    """
    yours = {name: str(value) for name, value in asked.items()}
    if machine.disks:
        yours["storage"] = machine.disks
    if machine.images:
        yours["host_storage"] = machine.images
    elif host_fs := yours.get("host_fs"):
        yours["host_storage"] = host_storage_key(FILE, host_fs) or ""
    entry = AXES[axis].entry
    chosen = (*entry, "host_storage") if "host_fs" in entry else entry
    facts = tuple(
        Fact(
            name,
            label,
            _named(name, yours[name], names.get(kind, {})) if name in yours else "",
            tuple(_named(name, value, names.get(kind, {})) for value in stated.get(name, ()) if value),
            _state(yours.get(name), stated.get(name, ()), name in chosen),
        )
        for name, (label, kind) in _FACTS.items()
        if name in _OF_NATIVE or asked.get("hypervisor") != NATIVE
    )
    return Fit(*_sentences(facts), facts) if any(stated.values()) else Fit("", "", facts)


def _named(name: str, value: str, labels: Mapping[str, str]) -> str:
    if name == "storage":
        return DISKS.get(value) or labels.get(value, value)
    return labels.get(value, value)


def _state(yours: str | None, stated: Sequence[str], is_chosen: bool) -> str:
    if yours is None:
        return CHOSEN if is_chosen else NOT_GIVEN
    known = [value for value in stated if value]
    if not known:
        return NOT_STATED
    if yours not in known:
        return DIFFERS
    if len(known) > 1:
        return IN_PART
    return ASSUMED if len(stated) > 1 else MATCHES


def _sentences(facts: Sequence[Fact]) -> tuple[str, str]:
    """Return the sentence of the first screen and what is known of the difference."""
    by_state = {state: [fact for fact in facts if fact.state == state] for state in (DIFFERS, NOT_STATED, NOT_GIVEN)}
    given = [fact for fact in facts if fact.yours]
    if not given:
        return "Say what you have, and this line says whether the evidence is from a machine like yours.", ""
    if differing := by_state[DIFFERS]:
        clauses = [
            f"your {_mine(fact)} {_was(fact)} never measured here: all evidence is {_of(fact)}" for fact in differing
        ]
        return (
            f"{capital('; '.join(clauses))}.",
            "What that difference does is not known: nothing behind this answer measured both.",
        )
    if unstated := by_state[NOT_STATED]:
        mine = listed([_mine(fact) for fact in unstated])
        return f"Whether the evidence is from your {mine} is not known: its sources do not state that.", ""
    alike = listed([_mine(fact) for fact in given])
    assumed = [fact.label.lower() for fact in given if fact.state == ASSUMED]
    beside = [fact.label.lower() for fact in given if fact.state == IN_PART]
    sentence = f"As far as you say, this is your machine ({alike})"
    sentence += f"; {listed(assumed)}: assumed equal, some source does not state it" if assumed else ""
    sentence += f"; {listed(beside)}: others are averaged in" if beside else ""
    open_facts = [fact.label.lower() for fact in by_state[NOT_GIVEN] if fact.name in ("storage", "host_storage")]
    return f"{sentence}. {f'Not given: {listed(open_facts)}.' if open_facts else ''}".strip(), ""


def _mine(fact: Fact) -> str:
    return {
        "host_storage": f"images on {_place(fact.yours)}",
        "guest_fs": f"{fact.yours} in the guest",
        "guest_os_family": f"{fact.yours} guest",
        "vm_count": f"number of machines ({fact.yours})",
    }.get(fact.name, fact.yours)


def _was(fact: Fact) -> str:
    return "were" if fact.name == "host_storage" or fact.yours.endswith("s") else "was"


def _of(fact: Fact) -> str:
    if fact.name == "host_storage":
        return f"with images on {listed([_place(value) for value in fact.evidence])}"
    values = listed(fact.evidence)
    return f"of {values} machines" if fact.name == "vm_count" else f"from {values}"


def _place(label: str) -> str:
    """Name what images lie on, inside a sentence: "ext4", "LVM volume"."""
    label = label.removeprefix("Directory on ")
    return label[:1].lower() + label[1:] if label.startswith(("File", "Raw")) else label
