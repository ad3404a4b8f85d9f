"""Look up the names that a question may use: slugs, labels and aliases, cached for some seconds.

Every request checks its filters against them, and they change a few times a year.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd
from django.core.cache import cache

from experiments.models import (
    Benchmark,
    CaseStudy,
    Configuration,
    FileSystem,
    HostStorage,
    Hypervisor,
    OperatingSystem,
    Publication,
    Storage,
    Workload,
)
from experiments.models.catalogue import CatalogueEntry
from experiments.models.testbed import setting_keys
from experiments.records import visible
from experiments.rules import entry_names
from experiments.rules.names import spelled
from kdb.disk_path import SETTINGS, bytes_of
from kdb.host_storage import host_storage_key, host_storages

from . import counts
from .axes import KINDS, NATIVE, RUNTIME, Axis, entry_label
from .words import listed

_SECONDS = 10
_SETTINGS_SECONDS = 3600
_KEY = "modelling.evidence.names"
_unpickled: tuple[str, dict[str, Any]] = ("", {})  # stamp and catalogue
_revision = 0  # of the latest answer
_NAMED: dict[str, type[CatalogueEntry]] = {
    "workload": Workload,
    "hypervisor": Hypervisor,
    "file_system": FileSystem,
    "benchmark": Benchmark,
}
# Kind of name to its places in a row of _stated_settings.
_PLACES = (("hypervisor", (0,)), ("host_storage", (1,)), ("file_system", (2, 3)))
WORDS_OF_LOADS = {"sync", "synchronous", "async", "asynchronous"}  # of writes in questions; in tables also I/O modes
# Folded spellings of native in questions: those of imports except "none", which is ambiguous among other words.
_NATIVELY = entry_names.NATIVE - {"none"} | {"natively"}


def names() -> dict[str, dict[str, str]]:
    """Return kind of name to {slug: label}, in the catalogue's order.

    Besides the kinds of `spellings`: host storage by its slug ("backend"), of it the volumes ("volume"), and what a
    visitor's images can lie on besides file systems ("images").
    """
    return _catalogue()["names"]


def described() -> dict[str, str]:
    """Return workload to its description in the catalogue."""
    return _catalogue()["described"]


def hypervisor_families() -> dict[str, str]:
    """Return hypervisor to its family, else to itself."""
    return _catalogue()["runtimes"]


def storage_reaches() -> dict[str, str]:
    """Return host storage to its reach, of HostStorage.Reach."""
    return _catalogue()["reaches"]


def measured_slugs() -> dict[str, list[str]]:
    """Return kind of name to the hypervisors, file systems or backends that some public configuration has."""
    return _catalogue()["measured"]


def same_family(axis: Axis, hypervisor: str) -> list[str]:
    """Return the hypervisors that a question about this one admits: its family, where the axis holds that equal."""
    known = hypervisor_families()
    if RUNTIME not in axis.held or hypervisor not in known:
        return [hypervisor]
    return [slug for slug, runtime in known.items() if runtime == known[hypervisor]]


def vm_counts() -> list[int]:
    """Return every VM count that a published case study ran, ascending; native (0) is not among them."""
    return _catalogue()["vm_counts"]


def slug_for(kind: str, name: str) -> str | None:
    """Return the slug of a slug, name or alias in any spelling that imports accept; None where it is unknown."""
    if name in _catalogue()["names"][kind]:
        return name  # exact, as two releases may fold to the same text
    if kind in SETTINGS and SETTINGS[kind].is_bytes and (size := bytes_of(name)):
        return str(size)
    return _catalogue()["spellings"][kind].get(entry_names.fold(name))


def spellings() -> dict[str, dict[str, str]]:
    """Return kind of name to folded spelling to slug: everything that `slug_for` accepts."""
    return _catalogue()["spellings"]


def label(axis: Axis, key: str) -> str:
    """Return an entry's key as a reader would write it: "Btrfs on ext4"."""
    return entry_label(axis, key, names())


def in_sentence(axis: Axis, key: str) -> str:
    """Return an entry as a sentence names it: "Btrfs on ext4", "cache mode none"."""
    named = label(axis, key)
    return named if axis.setting is None or axis.setting.in_sentence in named else f"{axis.setting.in_sentence} {named}"


def studies(slugs: Iterable[str]) -> dict[str, str]:
    """Return each case study's title in quotation marks. One query."""
    rows = CaseStudy.objects.filter(slug__in=list(slugs)).values_list("slug", "title")
    return {slug: f"“{title}”" for slug, title in rows}


def publications(slugs: Iterable[str]) -> dict[str, str]:
    """Return how a sentence names each publication: by authors and year, else by title. One query."""
    rows = Publication.objects.filter(slug__in=list(slugs)).values_list("slug", "authors", "year", "title")
    return {slug: _format_citation(authors, year) or f"“{title}”" for slug, authors, year, title in rows}


def _format_citation(authors: Sequence[str], year: int | None) -> str:
    """Write "Djordjevic and others (2022)"; "" where no author is stated."""
    families = [author.split()[-1] for author in authors]
    named = listed(families) if len(families) < 3 else f"{families[0]} and others"
    return f"{named} ({year})" if families and year else named if families else ""


def arm_label(row: Any) -> str:
    """Return the configuration of an arm in words: "XFS on ext4 under KVM"."""
    known = names()
    file_system, hypervisor = known["file_system"], known["hypervisor"]
    if row.hypervisor == NATIVE:
        return f"{'an unknown file system' if pd.isna(row.host_fs) else file_system[row.host_fs]} natively"
    host_fs = "an unknown host" if pd.isna(row.host_fs) else file_system.get(row.host_fs, row.host_fs)
    guest_fs = "an unknown file system" if pd.isna(row.guest_fs) else file_system.get(row.guest_fs, row.guest_fs)
    pair = f"{guest_fs} on {host_fs}"
    return f"{pair} under {hypervisor.get(row.hypervisor, row.hypervisor)}"


def stamp() -> str:
    """Return a digest that changes with the names."""
    _catalogue()
    return _unpickled[0]


def clear_cache() -> None:
    """Clear the cached catalogue."""
    cache.delete(_KEY)


def read_again_after(revision: int) -> None:
    """Clear the cached catalogue at the first call with another knowledge revision, which may have published names."""
    global _revision
    if revision != _revision:
        clear_cache()
        _revision = revision


def _catalogue() -> dict[str, Any]:
    """Return the cached catalogue, unpickled once for each process and stamp: a page asks forty times."""
    global _unpickled
    stamp = cache.get(_KEY)
    if stamp == _unpickled[0]:
        return _unpickled[1]
    catalogue = cache.get(f"{_KEY}.{stamp}")
    if catalogue is None:
        catalogue = _read()
        stamp = hashlib.sha256(repr(catalogue).encode()).hexdigest()
        cache.set(f"{_KEY}.{stamp}", catalogue, 2 * _SECONDS)  # outlives the stamp that refers to it
        cache.set(_KEY, stamp, _SECONDS)
    _unpickled = (stamp, catalogue)
    return catalogue


def _setting_labels(labels: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """Return each setting's column to its values with labels: well-known ones, then others in visible case studies.

    For releases of software also the axis to its entries with labels. labels : kind to slug to label
    """
    values: dict[str, set[str]] = {column: set() for column in SETTINGS}
    entries: dict[str, set[tuple[str, str]]] = {setting.axis: set() for setting in SETTINGS.values() if setting.of}
    for hypervisor, backend, host_fs, guest_fs, *stated in _cached_settings():
        owner_of = {
            **{"hypervisor": hypervisor, "host_storage": host_storage_key(backend, host_fs), "guest_fs": guest_fs},
            **dict(zip(SETTINGS, stated, strict=True)),
        }
        for setting, value in zip(SETTINGS.values(), stated, strict=True):
            values[setting.column].add(value)
            if setting.of and value and (owner := owner_of[setting.of]):
                entries[setting.axis].add((owner, value))
    named = {}
    for setting in SETTINGS.values():
        known = {value.name: value.label for value in setting.values}
        others = sorted(values[setting.column] - {"", *known}, key=lambda value: (len(value) * setting.is_bytes, value))
        named[setting.column] = known | {value: setting.value_label(value) for value in others}
        if setting.of:
            owned = labels[KINDS[setting.of]] if KINDS[setting.of] in labels else named[setting.of]
            named[setting.axis] = {
                f"{owner}:{value}": f"{owned.get(owner, owner)} {value}"
                for owner, value in sorted(entries[setting.axis])
            }
    return named


def _cached_settings() -> list[tuple[Any, ...]]:
    """Return _stated_settings, cached by revision and number of settings."""
    key = f"modelling.evidence.settings:{len(SETTINGS)}:{counts.revision()}"
    return cache.get_or_set(key, _stated_settings, _SETTINGS_SECONDS) or []


def _stated_settings() -> list[tuple[Any, ...]]:
    """Return the distinct hypervisor, backend, file systems and settings of all public configurations."""
    columns = [f"{column}_as_key" for column in SETTINGS]
    owners = ("hypervisor__slug", "backend", "host_fs__slug", "guest_fs__slug")
    rows = Configuration.objects.filter(case_study__in=CaseStudy.objects.visible()).annotate(**setting_keys())
    return list(rows.order_by().values_list(*owners, *columns).distinct())


def _read() -> dict[str, Any]:
    labels, spellings, described = {}, {}, {}
    for kind, model in _NAMED.items():
        rows = list(visible.entries(model).values_list("slug", "name", "aliases", "description"))
        labels[kind] = {slug: name for slug, name, *_ in rows}
        spellings[kind] = spelled(kind, ((slug, name, aliases) for slug, name, aliases, _ in rows), in_question=True)
        if model is Workload:
            described = {slug: description for slug, *_, description in rows}
    choices = {"storage": Storage.Kind.choices, "guest_os_family": OperatingSystem.Family.choices}
    storages = {row.slug: row for row in visible.entries(HostStorage)}
    labels["backend"] = {slug: row.name for slug, row in storages.items()}
    of_kind = HostStorage.Kind
    for name, kinds in (("volume", [of_kind.VOLUME]), ("images", [of_kind.VOLUME, of_kind.SHARED, of_kind.NOT_STATED])):
        labels[name] = {slug: row.name for slug, row in storages.items() if row.kind in kinds}
    keys = host_storages(labels["file_system"], labels["backend"])
    for kind, named in {**choices, "host_storage": keys.items()}.items():
        labels[kind] = {value: label for value, label in named if value}
        aliases = {slug: row.aliases for slug, row in storages.items()} if kind == "host_storage" else {}
        entries = ((value, label, aliases.get(value, ())) for value, label in labels[kind].items())
        spellings[kind] = spelled(kind, entries, in_question=True)
    # For questions only; entries of the axis are hypervisors of the catalogue.
    labels["hypervisor_or_native"] = {**labels["hypervisor"], NATIVE: "Native, no hypervisor"}
    spellings["hypervisor_or_native"] = {**spellings["hypervisor"], **dict.fromkeys(_NATIVELY, NATIVE)}
    for kind, of_setting in _setting_labels(labels).items():
        words = {value.name: value.words for value in SETTINGS[kind].values} if kind in SETTINGS else {}
        labels[kind] = of_setting
        spelled_values = entry_names.spellings(
            (value, label, words.get(value, ())) for value, label in of_setting.items()
        )
        spellings[kind] = {word: value for word, value in spelled_values.items() if word not in WORDS_OF_LOADS}
    families = visible.entries(Hypervisor).values_list("slug", "family")
    stated = _cached_settings()
    lists = CaseStudy.objects.published().order_by().values_list("vm_counts", flat=True).distinct()
    vm_counts = sorted({n for row in lists for n in row if n})
    return {
        **{"names": labels, "spellings": spellings, "described": described, "vm_counts": vm_counts},
        "measured": {kind: sorted({row[at] or "" for row in stated for at in places}) for kind, places in _PLACES},
        "reaches": {slug: row.reach for slug, row in storages.items()},
        "runtimes": {slug: family or slug for slug, family in families},
    }
