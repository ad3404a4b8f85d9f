"""Compare a visitor's machine with those that the evidence is from. No Django."""

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

# Fact of the evidence to its label and kind of name, in the order of the table.
_FACTS = {
    "hypervisor": ("Hypervisor", "hypervisor"),
    "storage": ("Kind of disks", "storage"),
    "host_storage": ("Where images lie", "host_storage"),
    "guest_fs": ("Guest file system", "file_system"),
    "guest_os_family": ("Guest system", "guest_os_family"),
    "vm_count": ("Machines at once", ""),
}
_NATIVE_FACTS = ("hypervisor", "storage", "host_storage")  # without guest and machines


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
    facts: tuple[Fact, ...]

    @property
    def is_asked(self) -> bool:
        """Return whether any fact of the machine is given."""
        return any(fact.yours for fact in self.facts)

    @property
    def says_disks(self) -> bool:
        """Return whether the sentence mentions the kind of disks."""
        return any(fact.name == "storage" and fact.yours for fact in self.facts)


def fit(
    axis: str,
    asked: Mapping[str, Any],
    machine: Machine,
    stated: Mapping[str, Sequence[str]],
    names: Mapping[str, Mapping[str, str]],
) -> Fit:
    """Compare a visitor's machine with those that the evidence of an answer is from, fact by fact.

    asked : filter of the question to its value, if set
    stated : fact of the evidence to its values, with "" where some source does not state it; empty: no evidence
    names : kind of name to slug to name
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
            _display_value(name, yours[name], names.get(kind, {})) if name in yours else "",
            tuple(_display_value(name, value, names.get(kind, {})) for value in stated.get(name, ()) if value),
            _state(yours.get(name), stated.get(name, ()), name in chosen),
        )
        for name, (label, kind) in _FACTS.items()
        if name in _NATIVE_FACTS or asked.get("hypervisor") != NATIVE
    )
    return Fit(_sentence(facts) if any(stated.values()) else "", facts)


def _display_value(name: str, value: str, labels: Mapping[str, str]) -> str:
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


def _sentence(facts: Sequence[Fact]) -> str:
    """Return the sentence above the tabs."""
    by_state = {state: [fact for fact in facts if fact.state == state] for state in (DIFFERS, NOT_STATED, NOT_GIVEN)}
    given = [fact for fact in facts if fact.yours]
    if not given:
        return "Say what you have, and this line says whether the evidence is from a machine like yours."
    if differing := by_state[DIFFERS]:
        clauses = [
            f"your {_describe_own(fact)} {_verb(fact)} never measured here: all evidence is {_evidence(fact)}"
            for fact in differing
        ]
        return f"{capital('; '.join(clauses))}."
    if unstated := by_state[NOT_STATED]:
        mine = listed([_describe_own(fact) for fact in unstated])
        return f"Whether the evidence is from your {mine} is not known: its sources do not state that."
    assumed = [fact.label.lower() for fact in given if fact.state == ASSUMED]
    beside = [fact.label.lower() for fact in given if fact.state == IN_PART]
    not_given = [fact.label.lower() for fact in by_state[NOT_GIVEN] if fact.name in ("storage", "host_storage")]
    clauses = [
        f"{listed(assumed)}: assumed equal, some source does not state it" if assumed else "",
        f"{listed(beside)}: others are averaged in" if beside else "",
        f"not given: {listed(not_given)}" if not_given else "",
    ]
    return f"{capital('; '.join(filter(None, clauses)) or 'measured on machines like yours')}."


def _describe_own(fact: Fact) -> str:
    return {
        "host_storage": f"images on {_storage_in_sentence(fact.yours)}",
        "guest_fs": f"{fact.yours} in the guest",
        "guest_os_family": f"{fact.yours} guest",
        "vm_count": f"number of machines ({fact.yours})",
    }.get(fact.name, fact.yours)


def _verb(fact: Fact) -> str:
    return "were" if fact.name == "host_storage" or fact.yours.endswith("s") else "was"


def _evidence(fact: Fact) -> str:
    if fact.name == "host_storage":
        return f"with images on {listed([_storage_in_sentence(value) for value in fact.evidence])}"
    values = listed(fact.evidence)
    return f"of {values} machines" if fact.name == "vm_count" else f"from {values}"


def _storage_in_sentence(label: str) -> str:
    """Write a host storage inside a sentence: "ext4", "LVM volume"."""
    label = label.removeprefix("Directory on ")
    return label[:1].lower() + label[1:] if label.startswith(("File", "Raw")) else label
