"""What a visitor says of his machine, checked."""

from django import forms

from .machine import BACKENDS, DISKS

MACHINE_FIELDS = ("disks", "images")


def machine_fields() -> dict[str, forms.Field]:
    """The fields of modelling.ask.machine.Machine, by name."""
    return {
        "disks": forms.ChoiceField(
            required=False,
            label="Kind of disks",
            choices=[("", "Not said"), *DISKS.items()],
            error_messages={"invalid_choice": f"%(value)r is no kind of disks; allowed are {', '.join(DISKS)}."},
        ),
        "images": forms.ChoiceField(
            required=False,
            label="Images lie on",
            choices=[("", "Not said"), *BACKENDS.items()],
            error_messages={
                "invalid_choice": f"Images cannot lie on %(value)r here; allowed are {', '.join(BACKENDS)}; "
                "a file system is given as host_fs."
            },
        ),
    }
