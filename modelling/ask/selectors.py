"""Offer readings of texts and fits to other rooms."""

from collections.abc import Mapping
from typing import Any

from modelling.evidence import names

from .fit import Fit, fit
from .forms import MACHINE_FIELDS, machine_fields, parse_host_storage
from .gather import read_text
from .language.content import Reading, Said, Word
from .language.parsing import LONGEST as LONGEST_TEXT
from .machine import DISKS, FACTS_OF_MACHINE, Machine

__all__ = [
    "DISKS",
    "FACTS_OF_MACHINE",
    "LONGEST_TEXT",
    "MACHINE_FIELDS",
    "Fit",
    "Machine",
    "Reading",
    "Said",
    "Word",
    "facts_in_words",
    "fit",
    "machine_fields",
    "parse_host_storage",
    "read_text",
]


def facts_in_words(facts: Mapping[str, Any]) -> str:
    """Write the facts of a machine: "KVM, NVMe, 3 at once". facts : some of FACTS_OF_MACHINE"""
    known, images, count = names.names(), facts.get("images"), facts.get("vm_count")
    in_words = [
        known["hypervisor_or_native"].get(facts.get("hypervisor", "")),
        DISKS.get(facts.get("disks", "")),
        images and f"images on {known['images'].get(images) or known['file_system'].get(images)}",
        (family := known["guest_os_family"].get(facts.get("guest_os_family", ""))) and f"{family} guests",
        count and f"{count} at once",
    ]
    return ", ".join(filter(None, in_words))
