"""The next step from a change: old and new release measured side by side, where hosts of this KDB still have both."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar
from urllib.parse import urlencode

from django.db.models import QuerySet

from experiments.models import Host
from kdb.disk_path import SETTINGS
from modelling.answers.next_runs import campaign_address
from modelling.evidence.axes import NATIVE
from modelling.evidence.question import Question
from modelling.models import SeriesChange

from . import words
from .content import Fact

# Facts of kdb measure whose release the last check of a host finds, and by which name.
_OF_HOST = {"kernel": "kernel", "proxmox": "pve", "libvirt": "libvirt", "qemu": "running"}


@dataclass(frozen=True)
class Side:
    """A campaign on a host that has one of the two releases."""

    component: ClassVar[str] = "ChangeBisectionSide"

    release: str
    host: str
    address: Annotated[str, "Of its plan, filled in."]


@dataclass(frozen=True)
class Bisection:
    """A bisection tells whether a fact is the cause, by a campaign on either side."""

    component: ClassVar[str] = "ChangeBisection"

    sentence: str
    sides: Annotated[tuple[Side, ...], "Old and new; empty: no campaign can, and the sentence says what can."]


def bisections(change: SeriesChange, hosts: QuerySet[Host]) -> list[Bisection]:
    """Return the next step for each release that changed with the speed. One query for operators, none for others.

    hosts : that the reader may plan campaigns on
    """
    facts = [fact for fact in (Fact(**fact) for fact in change.facts) if fact.before and fact.after]
    is_guest = change.sitting.facts.get("virtual") == "yes"
    in_use = hosts.filter(archived_at=None, is_by_api=False).order_by("slug").values("pk", "name", "facts")
    checked: Sequence[Mapping[str, Any]] = list(in_use) if facts else []
    steps = []
    for fact in facts:
        sides = tuple(_sides(change.about, fact, checked, is_guest=is_guest))
        steps.append(
            Bisection(words.bisection_sentence(fact, change.about, change.laboratory.slug, len(sides) == 2), sides)
        )
    return steps


def _sides(
    about: Mapping[str, Any], fact: Fact, hosts: Sequence[Mapping[str, Any]], *, is_guest: bool
) -> Iterator[Side]:
    """Yield a campaign on the first host of the old and of the new release; none unless both are there."""
    address = campaign_address(_question(about, is_guest=is_guest))
    having = [
        (release, [host for host in hosts if _has(host["facts"], fact.name, release, is_guest)])
        for release in (fact.before, fact.after)
    ]
    if address and all(with_release for _, with_release in having):
        for release, (host, *_) in having:
            yield Side(release, host["name"], f"{address}&{urlencode({'host': host['pk']})}")


def _has(facts: Mapping[str, Any], name: str, release: str, is_guest: bool) -> bool:
    """Tell whether a host, or the guests that campaigns make on it, had this release at its last check."""
    if is_guest:
        return name == "kernel" and facts.get("guest_image", {}).get("kernel") == release
    return name in _OF_HOST and release in str(facts.get(_OF_HOST[name], "")).replace(",", " ").split()


def _question(about: Mapping[str, Any], *, is_guest: bool) -> Question:
    """Return the question whose campaign has the load and the configuration of the series."""
    known = {"guest_fs", "host_fs", *SETTINGS}
    settings = {name: value for name, value in about["settings"].items() if name in known}
    filters: dict[str, Any] = settings if is_guest else {"host_fs": settings.get("host_fs"), "hypervisor": NATIVE}
    return Question("host-fs", about["load"], **filters)
