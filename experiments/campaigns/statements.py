"""The statements of the scripts of host_scripts on a hypervisor that no worker can ask, kept in the host's record.

    kdb-facts: 1
    hypervisor: esxi
    image_format: vmdk

The scripts are run by an operator on ESXi or Hyper-V. What they ask there is documented at
https://developer.broadcom.com/xapis/esxcli-command-reference/latest/ (system version get, vm process list),
https://sanbarrow.com/vmdk/disktypes.html (descriptors of disks), and
https://learn.microsoft.com/powershell/module/hyper-v/ (Get-VM, Get-VMHardDiskDrive, Get-VHD).
"""

from pathlib import Path

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Field, Model

from experiments.imports import normalise
from experiments.models import Configuration, Host, Hypervisor
from experiments.records import visible

from . import hosts
from .hosts import HostError

SCRIPTS = {path.name: path for path in sorted(Path(__file__).with_name("host_scripts").iterdir())}
FIELDS = tuple(name for name in normalise.CONFIGURATION if name not in ("configuration", "hypervisor"))
MOST_BYTES = 2**16
_FIRST = "kdb-facts: 1"


def decode(content: bytes) -> str:
    """Return the text of a file, as PowerShell and others write it. Raises HostError."""
    if len(content) > MOST_BYTES:
        raise HostError(f"A statement has at most {MOST_BYTES:,} bytes.")
    try:
        return content.decode("utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise HostError("The file is no text in UTF-8 or UTF-16.") from error


def parse(text: str) -> tuple[str, dict[str, str]]:
    """Return the hypervisor's slug, and a configuration's fields with their text. Raises HostError with the line."""
    if len(text.encode()) > MOST_BYTES:
        raise HostError(f"A statement has at most {MOST_BYTES:,} bytes.")
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    if not lines or lines[0][1] != _FIRST:
        raise HostError(f"It begins with {_FIRST!r}: paste all that the script printed, and nothing before it.")
    stated: dict[str, str] = {}
    for number, line in lines[1:]:
        name, colon, value = line.partition(":")
        name, value = name.strip(), value.strip()
        if not colon or not value or name not in ("hypervisor", *FIELDS):
            raise HostError(f"Line {number}: {line[:80]!r} is not a field with its text; is it all of the script's?")
        if name in stated:
            raise HostError(f"Line {number}: {name} is said twice.")
        if name != "hypervisor" and (why := _why_not(name, value)):
            raise HostError(f"Line {number}: {name}: {why}")
        stated[name] = value
    if "hypervisor" not in stated:
        raise HostError("It does not say whose host it is (hypervisor).")
    return stated.pop("hypervisor"), stated


def _why_not(name: str, value: str) -> str:
    """Return why a configuration cannot have this; empty where it can, or its name is that of a catalogue entry."""
    field = Configuration._meta.get_field(name)
    if not isinstance(field, Field) or field.is_relation:
        return "" if len(value) <= 80 else "at most 80 characters."
    try:
        field.clean(field.to_python(value), None)
    except ValidationError as error:
        return " ".join(error.messages)
    return ""


def keep_statement(host: Host, text: str) -> None:
    """Keep a script's output as the host's stated facts; it replaces what was stated in the same fields.

    Raises HostError, also where the record names another hypervisor.
    """
    slug, stated = parse(text)
    entry = visible.entries(Hypervisor).filter(slug=slug).first()
    if entry is None:
        raise HostError(f"{slug[:80]!r} is no hypervisor of the catalogue.")
    with transaction.atomic():
        host = hosts.locked(host.pk)
        if host.hypervisor_id not in (None, entry.pk):
            raise HostError(f"The record says {host.hypervisor}, and {entry} said this. Correct the record first.")
        host.hypervisor = entry
        host.stated = host.stated | stated
        Model.save(host, update_fields=["hypervisor", "stated"])
