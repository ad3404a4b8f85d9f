"""Offer readings of texts, fits and stored machines to other rooms."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from modelling.evidence import names
from modelling.models import KeptMachine

from .fit import Fit, fit
from .forms import MACHINE_FIELDS, machine_fields, parse_host_storage
from .gather import read_text
from .language.content import Reading, Said, Word
from .language.parsing import LONGEST as LONGEST_TEXT
from .machine import DISKS, KEPT_FACTS, Machine

__all__ = [
    "DISKS",
    "KEPT_FACTS",
    "LONGEST_TEXT",
    "MACHINE_FIELDS",
    "Fit",
    "Machine",
    "Reading",
    "Said",
    "Word",
    "facts_in_words",
    "fit",
    "kept_machines",
    "machine_fields",
    "parse_host_storage",
    "read_text",
]


def kept_machines(owner: Any, workload: str = "") -> list[dict[str, Any]]:
    """Return pk, name, facts in words and address of the owner's machines. workload : for the address, or "" """
    return [
        {"pk": row.pk, "name": row.name, "facts": facts_in_words(vars(row)), "address": address_of(row, workload)}
        for row in KeptMachine.objects.filter(owner=owner)
    ]


def address_of(machine: KeptMachine, workload: str = "") -> str:
    """Return the address of the first page with this machine filled in."""
    facts = {name: value for name in KEPT_FACTS if (value := getattr(machine, name))}
    return "/?" + urlencode({**({"workload": workload} if workload else {}), **facts})


def facts_in_words(facts: Mapping[str, Any]) -> str:
    """Write the facts of a machine: "KVM, NVMe, 3 at once". facts : some of KEPT_FACTS"""
    known, images, count = names.names(), facts.get("images"), facts.get("vm_count")
    in_words = [
        known["hypervisor_or_native"].get(facts.get("hypervisor", "")),
        DISKS.get(facts.get("disks", "")),
        images and f"images on {known['images'].get(images) or known['file_system'].get(images)}",
        (family := known["guest_os_family"].get(facts.get("guest_os_family", ""))) and f"{family} guests",
        count and f"{count} at once",
    ]
    return ", ".join(filter(None, in_words))
