"""Compare the software releases behind an answer with the newest known ones that the reader may see.

They are read when the current answer is shown, not stored with it: permanent addresses show none.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from django.core.cache import caches
from django.db.models import Min, Q, QuerySet

from experiments.models import CaseStudy, Configuration, Host, OperatingSystem
from kdb.disk_path import SETTINGS
from kdb.host_storage import host_storage_key
from modelling.evidence import names
from modelling.evidence.axes import AXES, KINDS, NATIVE, entry_parts
from modelling.evidence.question import Question
from modelling.models import Laboratory, Sitting

_KEY = "modelling.releases"
_SECONDS = 60  # cache lifetime: another process misses later publications for so long
_MOST_SITTINGS = 200  # the newest ones are read
_MOST_STUDIES = 20  # newest ones of an answer: their configurations are read whenever it is shown
# Kind of release to the column with the software that it is a release of; a kernel's is its operating system.
_SOFTWARE_OF = {
    "hypervisor_release": "hypervisor",
    "host_kernel": "host_os",
    "host_fs_release": "host_storage",
    "guest_kernel": "guest_os",
    "guest_fs_release": "guest_fs",
    "disk_driver_release": "disk_bus",
}
_FILE_SYSTEMS = {"e2fsprogs": "ext4", "xfsprogs": "xfs", "btrfs-progs": "btrfs", "zfs": "zfs"}  # by their tools
_FIELDS = (
    *("hypervisor__slug", "host_fs__slug", "backend", "guest_fs__slug"),
    *("host_os__family", "guest_os__family", "disk_bus", *_SOFTWARE_OF),
)
Software = tuple[str, str]  # kind of release, and the slug of the software or ""


class Seen(NamedTuple):
    """A release and where it was seen. number : orders releases; where : in words; case_study : its slug, or empty"""

    number: tuple[tuple[int, ...], bool, str]
    release: str
    where: str
    case_study: str = ""


Newest = Mapping[Software, Seen]


@dataclass(frozen=True)
class ReleaseThen:
    """One kind of release: those that the evidence states, beside the newest that is seen here."""

    component = "AnswerRelease"

    fact: Annotated[str, "Name of the filter: `host_kernel`."]
    of: Annotated[str, "Slug of what it is a release of; empty: of anything."]
    label: Annotated[str, "Both in words."]
    stated: Annotated[tuple[str, ...], "By the 20 newest case studies, oldest release first; empty: not stated."]
    not_stated_by: Annotated[int, "How many of these case studies state none."]
    newest: Annotated[str, "That is seen here: published, or measured where you may look; empty: none is."]
    seen_in: Annotated[str, "Where that is, in words."]
    case_study: Annotated[str, "Slug of the case study where that is; empty: it is in none."]
    is_behind: Annotated[bool, "Whether it is newer than all that are stated."]


def releases(question: Question, result: Mapping[str, Any], *further: Newest) -> list[ReleaseThen]:
    """Return the releases behind an answer, in one or two queries.

    result : the answer as JSON; further : releases that this reader may see beside those published
    """
    newest = _newest(seen for source in (_published(), *further) for seen in source.items())
    studies = _newest_studies({row["case_study"] for row in result["evidence"]})
    stated: dict[Software, dict[str, set[str]]] = {}
    for row in _configurations_behind(question, result, studies):
        for software, release in _releases_of_configuration(row):
            releases_there = stated.setdefault(software, {})
            if release:
                releases_there.setdefault(release, set()).add(row["case_study__slug"])
    lines = [
        _describe_release(software, stated[software], studies, newest.get(software))
        for software in sorted(stated, key=lambda one: (list(_SOFTWARE_OF).index(one[0]), one[1]))
    ]
    known = [line for line in lines if line.stated or line.newest]
    lacking = [
        fact for fact in _SOFTWARE_OF if fact not in {line.fact for line in known} and any(p[0] == fact for p in stated)
    ]
    return known + [_describe_release((fact, ""), {}, studies, None) for fact in lacking]


def stamp() -> str:
    """Return a digest of the newest published releases. Cached."""
    return hashlib.sha256(repr(sorted(_published().items())).encode()).hexdigest()[:12]


def newest_of_hosts(hosts: QuerySet[Host]) -> Newest:
    """Return the newest releases that the last checks of these hosts found, for their operators. One query."""
    return _newest(
        (software, seen)
        for name, facts in hosts.filter(archived_at=None).values_list("name", "facts")
        for software, release in _releases_of_host(facts)
        if (seen := _numbered_release(release, f"host {name}"))
    )


def newest_releases_in_laboratory(laboratory: Laboratory) -> Newest:
    """Return the newest releases in what `kdb measure` found in a laboratory, for its members. One query."""
    return _newest_of_sittings(laboratory.sittings.all())


def forget() -> None:
    """Clear the cache of published releases."""
    caches["worked-out"].delete(_KEY)


def _published() -> Newest:
    newest: Any = caches["worked-out"].get_or_set(_KEY, _read_published, _SECONDS)
    return dict(newest)


def _read_published() -> Newest:
    """Read the newest published release of each kind. Two queries."""
    states_one = Q(*(~Q(**{fact: ""}) for fact in _SOFTWARE_OF), _connector=Q.OR)
    rows = Configuration.objects.filter(states_one, case_study__status=CaseStudy.Status.PUBLISHED)
    distinct = rows.order_by().values(*_FIELDS).annotate(study=Min("case_study__slug"))  # however many configurations
    configured = _newest(
        (software, seen)
        for row in distinct
        for software, release in _releases_of_configuration(row)
        if (seen := _numbered_release(release, f"case study {row['study']}", row["study"]))
    )
    shared = _newest_of_sittings(Sitting.objects.filter(case_study__status=CaseStudy.Status.PUBLISHED))
    return _newest([*configured.items(), *shared.items()])


def _newest_studies(slugs: set[str]) -> set[str]:
    if len(slugs) <= _MOST_STUDIES:
        return slugs
    newest = CaseStudy.objects.filter(slug__in=slugs).order_by("-pk").values_list("slug", flat=True)
    return set(newest[:_MOST_STUDIES])


def _configurations_behind(
    question: Question, result: Mapping[str, Any], studies: Iterable[str]
) -> Iterator[dict[str, Any]]:
    """Yield the configurations of the case studies that match the question and one of the answer's entries."""
    if not studies:
        return
    required = {name: getattr(question, name) for name in ("hypervisor", "guest_fs", "host_fs")}
    entries = [entry_parts(AXES[question.axis], entry["key"]) for entry in result["entries"]]
    rows = Configuration.objects.filter(case_study__slug__in=studies).order_by("case_study__slug", "pk")
    for row in rows.values("case_study__slug", *_FIELDS):
        has = {name: row[f"{name}__slug"] or "" for name in required}
        has["hypervisor"] = has["hypervisor"] or NATIVE
        if any(value and has[name] != value for name, value in required.items()):
            continue
        if not entries or any(all(has.get(name, value) == value for name, value in parts.items()) for parts in entries):
            yield row


def _releases_of_configuration(row: Mapping[str, Any]) -> Iterator[tuple[Software, str]]:
    """Yield each release that this configuration has, "" where it does not state it."""
    has_guest = row["hypervisor__slug"] is not None
    owners = {
        "hypervisor": row["hypervisor__slug"] or "",
        "host_os": _family(row["host_os__family"]),
        "host_storage": host_storage_key(row["backend"], row["host_fs__slug"]) or "",
        "guest_os": _family(row["guest_os__family"]),
        "guest_fs": row["guest_fs__slug"] or "",
        "disk_bus": row["disk_bus"],
    }
    for fact, owner in _SOFTWARE_OF.items():
        if (has_guest or SETTINGS[fact].is_native) and (owners[owner] or fact.endswith("kernel")):
            yield (fact, owners[owner].removeprefix("dir-")), row[fact]


def _family(family: str | None) -> str:
    """Return the family of an operating system; "" for Linux, and where none is stated, which means Linux."""
    return "" if family in (None, OperatingSystem.Family.LINUX) else str(family)


def _releases_of_host(facts: Mapping[str, Any]) -> Iterator[tuple[Software, str]]:
    yield ("host_kernel", ""), str(facts.get("kernel", ""))
    yield ("hypervisor_release", "proxmox"), str(facts.get("pve", ""))
    yield ("hypervisor_release", "xen"), str(facts.get("xen", ""))
    yield ("hypervisor_release", "kvm"), str(facts.get("running", ""))
    yield ("guest_kernel", ""), str(facts.get("guest_image", {}).get("kernel", ""))


def _newest_of_sittings(sittings: Any) -> Newest:
    rows = sittings.filter(ended_at__isnull=False).order_by("-pk")[:_MOST_SITTINGS]
    return _newest(
        (software, seen)
        for name, facts, choices in rows.values_list("laboratory__name", "facts", "choices")
        for software, release in _releases_of_machine(facts, choices)
        if (seen := _numbered_release(release, f"laboratory {name}"))
    )


def _releases_of_machine(
    facts: Mapping[str, Any], choices: Iterable[Mapping[str, Any]]
) -> Iterator[tuple[Software, str]]:
    """Yield the releases that `kdb measure` found on a machine, and those that its choices name."""
    side = "guest" if facts.get("virtual") == "yes" else "host"
    yield (f"{side}_kernel", ""), str(facts.get("kernel", ""))
    for tools, file_system in _FILE_SYSTEMS.items():
        release = str(facts.get(tools, ""))
        yield (f"{side}_fs_release", file_system), release if tools == "zfs" else release and f"{tools} {release}"
    if side == "host":
        yield ("hypervisor_release", "kvm"), f"QEMU {facts['qemu']}" if facts.get("qemu") else ""
        yield ("hypervisor_release", "proxmox"), str(facts.get("proxmox", ""))
        yield ("host_fs_release", "zvol"), str(facts.get("zfs", ""))
    for choice in choices:
        settings = choice["settings"]
        for fact, owner in _SOFTWARE_OF.items():
            if fact in settings and (fact.endswith("kernel") or settings.get(owner)):
                yield (fact, "" if fact.endswith("kernel") else settings[owner]), str(settings[fact])


def _numbered_release(release: str, where: str, case_study: str = "") -> Seen | None:
    """Return a release with the number that orders it; None where it has none, as "VMkernel".

    QEMU's number is taken where it is named, else the first; "0.7.0-rc4" comes before "0.7.0".
    """
    of_qemu = re.search(r"qemu[^\d,;]{0,9}(\d{1,9}(?:\.\d{1,9}){1,9})", release, re.IGNORECASE)
    match = of_qemu or re.search(r"(\d{1,9}(?:\.\d{1,9}){1,9})", release) or re.search(r"(\d{1,9})", release)
    if match is None:
        return None
    is_final = re.match(r"[-~.]?(rc|beta|alpha|pre)", release[match.end() :], re.IGNORECASE) is None
    return Seen((tuple(map(int, match.group(1).split("."))), is_final, release), release, where, case_study)


def _newest(seen_releases: Iterable[tuple[Software, Seen]]) -> Newest:
    """Return the newest release of each software, of equal ones the last by the name of where it was seen."""
    newest: dict[Software, Seen] = {}
    for software, seen in seen_releases:
        if software not in newest or (seen.number, newest[software].where) > (newest[software].number, seen.where):
            newest[software] = seen
    return newest


def _describe_release(
    software: Software, stated: Mapping[str, Iterable[str]], studies: Iterable[str], newest: Seen | None
) -> ReleaseThen:
    fact, owner = software
    numbers = {release: _numbered_release(release, "") for release in stated}
    ordered = sorted(stated, key=lambda release: seen.number if (seen := numbers[release]) else ((), False, release))
    by = {slug for slugs in stated.values() for slug in slugs}
    known = [seen.number for seen in numbers.values() if seen]
    return ReleaseThen(
        fact=fact,
        of=owner,
        label=SETTINGS[fact].label + (f": {_name(_SOFTWARE_OF[fact], owner)}" if owner else ""),
        stated=tuple(ordered),
        not_stated_by=len(set(studies) - by),
        newest=newest.release if newest else "",
        seen_in=newest.where if newest else "",
        case_study=newest.case_study if newest else "",
        is_behind=bool(known and newest and newest.number[:2] > max(known)[:2]),
    )


def _name(owner: str, slug: str) -> str:
    if owner in ("host_os", "guest_os"):
        return str(OperatingSystem.Family(slug).label)
    known = names.names()
    return known[KINDS[owner]].get(slug) or known["file_system"].get(slug, slug)
