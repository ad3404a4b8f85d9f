"""What other features may ask of a visitor's words and machine."""

from .fit import ASSUMED, CHOSEN, DIFFERS, IN_PART, MATCHES, NOT_GIVEN, NOT_STATED, Fit, fit
from .forms import MACHINE_FIELDS, machine_fields
from .machine import BACKENDS, DISKS, Machine
from .reading import Reading, reading

__all__ = [
    "ASSUMED",
    "BACKENDS",
    "CHOSEN",
    "DIFFERS",
    "DISKS",
    "IN_PART",
    "MACHINE_FIELDS",
    "MATCHES",
    "NOT_GIVEN",
    "NOT_STATED",
    "Fit",
    "Machine",
    "Reading",
    "fit",
    "machine_fields",
    "reading",
]
