"""The next step from a change: old and new release measured side by side, where hosts of this KDB still have both."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

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
    """A campaign on a host that has one of the two releases. address : of its plan, filled in"""

    release: str
    host: str
    address: str


@dataclass(frozen=True)
class Bisection:
    """A bisection tells whether a fact is the cause, by a campaign on either side.

    sides : old and new; empty: no campaign can, and the sentence says what can
    """

    sentence: str
    sides: tuple[Side, ...]


def bisections(change: SeriesChange, *, may_operate: bool) -> list[Bisection]:
    """Return the next step for each release that changed with the speed. One query for operators, none for others.

    may_operate : whether the reader sees hosts and plans campaigns
    """
    facts = [fact for fact in (Fact(**told) for told in change.facts) if fact.before and fact.after]
    is_guest = change.sitting.facts.get("virtual") == "yes"
    seen = Host.objects.filter(archived_at=None, is_by_api=False).order_by("slug").values("pk", "name", "facts")
    hosts: Sequence[Mapping[str, Any]] = list(seen) if may_operate and facts else []
    told = []
    for fact in facts:
        sides = tuple(_sides(change.about, fact, hosts, is_guest=is_guest))
        told.append(Bisection(words.bisection(fact, change.about, change.laboratory.slug, len(sides) == 2), sides))
    return told


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
