"""Asks a KDB server: `Client().ranking("fs-pair", "varmail", hypervisor="kvm")`."""

from .client import Client
from .configuration import Configuration
from .errors import KdbError, NotAllowedError, NotReadyError, ProblemError, TooManyRequestsError, UnreachableError

__all__ = [
    "Client",
    "Configuration",
    "KdbError",
    "NotAllowedError",
    "NotReadyError",
    "ProblemError",
    "TooManyRequestsError",
    "UnreachableError",
]
