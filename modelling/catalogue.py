"""Names a question may use: slugs, labels and aliases, kept in memory for a few seconds.

Every ranking request needs them to check its filters, and they change a few times a year.
"""

from django.core.cache import cache

from experiments import visible
from experiments.models import Benchmark, CaseStudy, FileSystem, Hypervisor, OperatingSystem, Storage, Workload

_SECONDS = 10
_KEY = "modelling.catalogue"
_NAMED = {
    "workload": Workload,
    "hypervisor": Hypervisor,
    "file_system": FileSystem,
    "benchmark": Benchmark,
}


def names() -> dict[str, dict[str, str]]:
    """Kind of name to {slug: label}, in the catalogue's order."""
    return _catalogue()["names"]


def vm_counts() -> list[int]:
    """Every VM count that a published case study ran, ascending; native (0) is not among them."""
    return _catalogue()["vm_counts"]


def slug_for(kind: str, name: str) -> str | None:
    """The slug that a slug or an alias stands for, in any case; None where nothing fits."""
    return _catalogue()["aliases"][kind].get(name.strip().lower())


def forget() -> None:
    """Read the catalogue anew at the next question."""
    cache.delete(_KEY)


def _catalogue() -> dict:
    found = cache.get(_KEY)
    if found is None:
        found = _read()
        cache.set(_KEY, found, _SECONDS)
    return found


def _read() -> dict:
    labels, aliases = {}, {}
    for kind, model in _NAMED.items():
        rows = list(visible.entries(model).values_list("slug", "name", "aliases"))
        labels[kind] = {slug: name for slug, name, _ in rows}
        aliases[kind] = {alias.lower(): slug for slug, _, others in rows for alias in [slug, *others]}
    for kind, choices in (("storage", Storage.Kind), ("guest_os_family", OperatingSystem.Family)):
        labels[kind] = {value: label for value, label in choices.choices if value}
        aliases[kind] = {value: value for value in labels[kind]}
    counts = CaseStudy.objects.published().values_list("vm_counts", flat=True)
    return {"names": labels, "aliases": aliases, "vm_counts": sorted({n for row in counts for n in row if n})}
