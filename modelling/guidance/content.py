"""Define makers' advice on the entries of an axis, and their disagreements. No Django."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from .words import AXIS_LABELS, CONTEXT, KINDS, WORDINGS, either, in_sentence, label

SHOWN = 5  # statements beside an answer


@dataclass(frozen=True)
class QuestionContext:
    """The context of a question, "" for parts that it leaves open. storage : kind of disk; guest_os : family"""

    workload: str = ""
    hypervisor: str = ""
    host_storage: str = ""
    storage: str = ""
    guest_os: str = ""


@dataclass(frozen=True)
class Statement:
    """One statement of a maker, in our words. An empty list of its context means any."""

    component = "Guidance"

    code: str
    axis: Annotated[str, "An axis of KDB, or `mount-options`, `guest-block-size`, `scheduler`, `other`."]
    hypervisors: tuple[str, ...]
    host_storages: tuple[str, ...]
    storages: Annotated[tuple[str, ...], "Kinds of disks, or `network`."]
    guest_oses: tuple[str, ...]
    workloads: Annotated[tuple[str, ...], "Families of workloads."]
    recommended: Annotated[tuple[str, ...], "Values of the axis, any of them; empty: the source names none."]
    discouraged: tuple[str, ...]
    condition: Annotated[str, "When it holds; empty: no condition is stated."]
    wording: Annotated[str, f"As strong as the source says it: {', '.join(WORDINGS)}."]
    reason: Annotated[str, "The main one; empty: none is stated."]
    statement: str
    title: Annotated[str, "Of the source; of a default the product with its release."]
    publisher: str
    kind: Annotated[str, f"Of the source: {', '.join(KINDS)}."]
    address: Annotated[str, "Of the source."]
    version: Annotated[str, "Version or date of the source."]
    read: Annotated[str, "How much of the source was read: `whole` or `excerpt`."]

    @property
    def is_default(self) -> bool:
        return self.wording == "product default"

    @property
    def source(self) -> str:
        """Return "Proxmox VE Admin Guide (2026)"."""
        year = re.search(r"\b(?:19|20)\d\d\b", self.version)
        edition = year[0] if year else "" if self.version.startswith(("commit", "undated")) else self.version
        return self.title if not edition or edition in self.title or self.is_default else f"{self.title} ({edition})"

    @property
    def recommends(self) -> str:
        return either(label(self.axis, value) for value in self.recommended) if self.recommended else ""

    @property
    def discourages(self) -> str:
        return either(label(self.axis, value) for value in self.discouraged) if self.discouraged else ""

    @property
    def subject(self) -> str:
        return AXIS_LABELS[self.axis]

    @property
    def topic(self) -> str:
        return in_sentence(self.axis)

    @property
    def holds_for(self) -> str:
        """Return the context in words: "Proxmox VE; ZFS volume or ZFS dataset; mail"; "" for any."""
        parts = ((getattr(self, name), labels) for name, labels in CONTEXT.values())
        return "; ".join(either(labels[slug] for slug in slugs) for slugs, labels in parts if slugs)

    @property
    def summary(self) -> str:
        """Return the statement in one line: "cache mode none, the default"; in full if it names no values."""
        if self.is_default or not (self.recommended or self.discouraged):
            return self.statement
        never = "never" if self.wording in ("must", "never") else "not"
        parts = [WORDINGS[self.wording].format(self.recommends)] if self.recommended else []
        parts += [f"{never} {self.discourages}"] if self.discouraged else []
        return f"{'' if self.axis == 'other' else self.topic + ' '}{', '.join(parts)}"


@dataclass(frozen=True)
class Disagreement:
    """A question with two views. one_side, other_side : codes of the statements with the view"""

    number: int
    subject: str
    one_view: str
    one_side: tuple[str, ...]
    other_view: str
    other_side: tuple[str, ...]
    why: str

    def touches(self, codes: set[str]) -> bool:
        return not codes.isdisjoint((*self.one_side, *self.other_side))


@dataclass(frozen=True)
class EntryAdvice:
    """The advice for and against one entry. score : sum of the strengths of publishers for it, less those against"""

    recommending: tuple[Statement, ...]
    discouraging: tuple[Statement, ...]
    score: int


@dataclass(frozen=True)
class AdviceSummary:
    """The advice of makers on the entries of a question.

    entries : key to the advice on it, for each entry of the question
    advised : entries that most publishers advise, equally good; empty where none stands out, or advice is on parts of
        entries
    discouraged : entries with clearly more advice against than for them, the worst first
    default : entry of the product's default; None where there is none or products differ
    statements : those that name an entry, the closest first; defaults : defaults of products
    is_meant : whether a statement is about the product that the question names
    """

    axis: str
    entries: Mapping[str, EntryAdvice]
    advised: tuple[str, ...]
    discouraged: tuple[str, ...]
    default: str | None
    defaults: tuple[Statement, ...]
    statements: tuple[Statement, ...]
    disagreements: tuple[Disagreement, ...]
    is_meant: bool = False

    @property
    def shown(self) -> tuple[Statement, ...]:
        return first_shown(self.statements)


def first_shown(statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """Return the statements that a page shows: the closest of each publisher, then further ones."""
    first: dict[str, Statement] = {}
    for one in statements:
        first.setdefault(one.publisher, one)
    return tuple(dict.fromkeys((*first.values(), *statements)))[:SHOWN]
