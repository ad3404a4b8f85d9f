"""Forms of a visitor's machine."""

from django import forms

from modelling.evidence import names

from .machine import DISKS

MACHINE_FIELDS = ("disks", "images")


def machine_fields() -> dict[str, forms.Field]:
    """Return the fields of modelling.ask.machine.Machine, by name."""
    return {
        "disks": forms.ChoiceField(
            required=False,
            label="Kind of disks",
            choices=lambda: [("", "Not said"), *DISKS.items()],
            error_messages={"invalid_choice": f"%(value)r is no kind of disks; allowed are {', '.join(DISKS)}."},
        ),
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


def parse_host_storage(name: str) -> str:
    """Return the slug of a file system or host storage; "" for "". Raises ValidationError where it is unknown."""
    if not name or name in (known := names.names()["images"]):
        return name
    slug = names.slug_for("file_system", name)
    if slug is None:
        allowed = ", ".join([*names.names()["file_system"], *known])
        raise forms.ValidationError(f"Images cannot lie on {name!r} here; allowed are {allowed}.")
    return slug
