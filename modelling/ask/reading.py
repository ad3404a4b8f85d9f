"""A visitor's own words as parts of a question: what each was read as, and what is left for him to choose."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from experiments.entry_names import fold
from modelling.evidence import names
from modelling.evidence.words import capital, listed

from .machine import BACKENDS, DISKS
from .wording import understood

# Kind of name: field of the question that it fills, and what the field is called.
_FIELDS = {
    "workload": ("workload", "workload"),
    "hypervisor_or_native": ("hypervisor", "hypervisor"),
    "storage": ("disks", "kind of disks"),
    "disks": ("disks", "kind of disks"),
    "images": ("images", "where images lie"),
    "guest_os_family": ("guest_os_family", "guest system"),
    "benchmark": ("benchmark", "benchmark"),
}

_ELSEWHERE = (("describe the load to the advisor", "/advisor/"), ("mix it from several workloads", "/mix/"))


@dataclass(frozen=True)
class Unsettled:
    """Words that fill no field by themselves: why, and what may be chosen as (label, address)."""

    sentence: str
    choices: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Reading:
    """A visitor's words as they were read.

    read : words as they were written, and what they were read as
    values : field of the question to the slug that the words give it
    """

    read: tuple[tuple[str, str], ...]
    values: Mapping[str, str]
    unsettled: tuple[Unsettled, ...]


def reading(text: str, given: Mapping[str, Any]) -> Reading:
    """Read what a text says beside the given fields of a question; those stand, whatever the text says.

    Nothing is guessed: of several names of a kind none is taken, and a word that is no name is told with what it
    may mean.
    """
    query = understood(text)
    known = {**names.names(), "disks": DISKS, "images": BACKENDS}
    read, unsettled = [], []
    slugs_of: dict[str, list[str]] = {}
    for written, kind, slug in query.read:
        field, label = _FIELDS.get(kind, ("", "file system"))
        stands = f", but the {label} is chosen below" if field and given.get(field) not in (None, "", slug) else ""
        read.append((written, f"{label} {known[kind][slug]}{stands}"))
        if field and slug not in slugs_of.setdefault(field, []):
            slugs_of[field].append(slug)
    values = {field: slugs[0] for field, slugs in slugs_of.items() if len(slugs) == 1 and not given.get(field)}
    if len(query.pairs) == 1:
        pair = zip(("guest_fs", "host_fs"), query.pairs[0], strict=True)
        values |= {name: slug for name, slug in pair if not given.get(name)}
    settled = {"text": text, **{name: value for name, value in given.items() if value}, **values}
    for field, slugs in slugs_of.items():
        if len(slugs) > 1 and not given.get(field):
            unsettled.append(_several(field, slugs, known, settled))
    if query.all("file_system") and len(query.pairs) != 1 and not (given.get("guest_fs") or given.get("host_fs")):
        unsettled.append(_file_systems(query.all("file_system"), known["file_system"], settled))
    unsettled += [_unknown(word, known["workload"], settled) for word in query.unknown]
    return Reading(tuple(read), values, tuple(unsettled))


def _address(settled: Mapping[str, Any], **chosen: str) -> str:
    return "/?" + urlencode({**settled, **chosen})


def _several(field: str, slugs: list[str], known: Mapping[str, Mapping[str, str]], settled: Any) -> Unsettled:
    label, kind = next((label, kind) for kind, (name, label) in _FIELDS.items() if name == field)
    named = {slug: known[kind].get(slug) or known["disks"].get(slug, slug) for slug in slugs}
    choices = [(name, _address(settled, **{field: slug})) for slug, name in named.items()]
    if field == "workload":
        choices.append(("all of them, as a mix", "/mix/?" + urlencode(dict.fromkeys(slugs, 100 // len(slugs)))))
    return Unsettled(f"{capital(listed(named.values()))}: the answer is for one {label}.", tuple(choices))


def _file_systems(slugs: tuple[str, ...], known: Mapping[str, str], settled: Any) -> Unsettled:
    choices = []
    for slug in slugs:
        choices.append((f"{known[slug]} in the guest", _address(settled, guest_fs=slug)))
        choices.append((f"images on {known[slug]}", _address(settled, images=slug)))
    named = listed([known[slug] for slug in slugs])
    return Unsettled(f"{named}: the words do not say whether in the guest or on the host.", tuple(choices))


def _unknown(word: str, workloads: Mapping[str, str], settled: Any) -> Unsettled:
    """Explain a word that no name accounts for, with the workloads whose description has it, all if none is settled."""
    folded = fold(word)
    near = [slug for slug, text in names.described().items() if folded in {fold(part) for part in text.split()}]
    if near:
        sentence = f"“{word}” is no name here and is not counted. It stands in the description of:"
    elif "workload" in settled:
        return Unsettled(f"“{word}” is no name here and is not counted. To count it:", _ELSEWHERE)
    else:
        sentence, near = f"“{word}” is no name here and is not counted. Workloads with evidence of their own:", []
    choices = [(workloads[slug], _address(settled, workload=slug)) for slug in near or workloads if slug in workloads]
    return Unsettled(sentence, tuple(choices))
