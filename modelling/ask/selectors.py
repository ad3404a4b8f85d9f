"""What other features may ask of a visitor's words and machine."""

from .fit import Fit, fit
from .forms import MACHINE_FIELDS, machine_fields
from .machine import BACKENDS, DISKS, Machine
from .reading import Reading, reading

__all__ = ["BACKENDS", "DISKS", "MACHINE_FIELDS", "Fit", "Machine", "Reading", "fit", "machine_fields", "reading"]
