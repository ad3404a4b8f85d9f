"""The reading of a visitor's words and machine, for other features."""

from typing import Any
from urllib.parse import urlencode

from modelling.evidence import names
from modelling.models import KeptMachine

from .fit import ASSUMED, CHOSEN, DIFFERS, IN_PART, MATCHES, NOT_GIVEN, NOT_STATED, Fit, fit
from .forms import KEPT_FACTS, MACHINE_FIELDS, images_lie_on, machine_fields
from .gather import understood
from .language.content import Said, Word
from .language.parsing import LONGEST as LONGEST_TEXT
from .machine import BACKENDS, DISKS, Machine

__all__ = [
    "ASSUMED",
    "BACKENDS",
    "CHOSEN",
    "DIFFERS",
    "DISKS",
    "IN_PART",
    "KEPT_FACTS",
    "LONGEST_TEXT",
    "MACHINE_FIELDS",
    "MATCHES",
    "NOT_GIVEN",
    "NOT_STATED",
    "Fit",
    "Machine",
    "Said",
    "Word",
    "fit",
    "images_lie_on",
    "kept_machines",
    "machine_fields",
    "understood",
]


def kept_machines(owner: Any, workload: str = "") -> list[dict[str, Any]]:
    """List the machines that somebody keeps, each with its pk, name, facts in words, and the address that asks with it.

    workload : of the question that is asked, or ""
    """
    return [
        {"pk": row.pk, "name": row.name, "facts": _in_words(row), "address": address_of(row, workload)}
        for row in KeptMachine.objects.filter(owner=owner)
    ]


def address_of(machine: KeptMachine, workload: str = "") -> str:
    """Return the address of the first page with this machine filled in."""
    facts = {name: value for name in KEPT_FACTS if (value := getattr(machine, name))}
    return "/?" + urlencode({**({"workload": workload} if workload else {}), **facts})


def _in_words(machine: KeptMachine) -> str:
    known = names.names()
    words = [
        known["hypervisor"].get(machine.hypervisor, machine.hypervisor),
        DISKS.get(machine.disks, machine.disks),
        machine.images and f"images on {BACKENDS.get(machine.images) or known['file_system'].get(machine.images)}",
        machine.guest_os_family and f"{known['guest_os_family'].get(machine.guest_os_family)} guests",
        machine.vm_count and f"{machine.vm_count} at once",
    ]
    return ", ".join(str(word) for word in words if word)
