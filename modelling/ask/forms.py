"""Forms of a visitor's machine."""

from typing import Any

from django import forms

from modelling.evidence import names
from modelling.evidence.forms import CatalogueField

from .machine import DISKS, KEPT_FACTS

MACHINE_FIELDS = ("disks", "images")


def machine_fields() -> dict[str, forms.Field]:
    """Return the fields of modelling.ask.machine.Machine, by name."""
    return {
        "disks": _disks(),
        "images": forms.ChoiceField(
            required=False,
            label="VM disks are on",
            choices=lambda: [("", "Not said"), *names.names()["images"].items()],
            error_messages={
                "invalid_choice": f"Images cannot lie on %(value)r here; allowed are "
                f"{', '.join(names.names()['images'])}; a file system is given as host_fs."
            },
        ),
    }


def _disks() -> forms.ChoiceField:
    return forms.ChoiceField(
        required=False,
        label="Kind of disks",
        choices=lambda: [("", "Not said"), *DISKS.items()],
        error_messages={"invalid_choice": f"%(value)r is no kind of disks; allowed are {', '.join(DISKS)}."},
    )


def parse_host_storage(name: str) -> str:
    """Return the slug of a file system or host storage; "" for "". Raises ValidationError where it is unknown."""
    if not name or name in (known := names.names()["images"]):
        return name
    slug = names.slug_for("file_system", name)
    if slug is None:
        allowed = ", ".join([*names.names()["file_system"], *known])
        raise forms.ValidationError(f"Images cannot lie on {name!r} here; allowed are {allowed}.")
    return slug


class KeptMachineForm(forms.Form):
    """A machine to store: a name, and at least one fact."""

    name = forms.CharField(max_length=60, label="Name")
    hypervisor = CatalogueField("hypervisor_or_native", required=False)
    disks = _disks()
    images = forms.CharField(required=False, max_length=40)
    guest_os_family = CatalogueField("guest_os_family", required=False)
    vm_count = forms.IntegerField(required=False, min_value=1, max_value=32767)

    def clean_images(self) -> str:
        return parse_host_storage(self.cleaned_data["images"])

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if not self.errors and not any(data.get(name) for name in KEPT_FACTS):
            raise forms.ValidationError("Say something of the machine on the first page, then keep it.")
        return data

    @property
    def facts(self) -> dict[str, Any]:
        """Return the facts of a valid form, as KeptMachine has them."""
        facts = {name: self.cleaned_data[name] for name in KEPT_FACTS}
        return {name: value if name == "vm_count" else value or "" for name, value in facts.items()}
