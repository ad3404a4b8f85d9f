"""Define the bodies that make a host, a plan or repetitions: the fields of the forms, with the types that JSON has.

The API and files of plans are held against these before a form sees them.
"""

from typing import Any

from rest_framework import serializers

from experiments.laboratory.targets import disks
from experiments.models import Campaign, Host
from kdb.api.bodies import TEXT_AREA, Fields, FormFields, OneOrSeveral

from .forms import CampaignForm, HostForm, NightlyForm, OperatorsForm, TopUpForm

FORMAT = "kdb-campaign-plan/1"


def disk_fields(**options: Any) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
    """Return a field for each option of the virtual disks."""
    # An enumeration would share the names of a configuration's.
    return {
        name: OneOrSeveral(
            help_text=f"{', '.join(known)}; the first is the usual one. A list: each is tried.", **options
        )
        for name, known in disks.CHOICES.items()
    }


class HostFieldsSerializer(FormFields):
    """The fields that a host is registered with."""

    form = HostForm
    names = tuple(name for name in HostForm.base_fields if not name.startswith("window_"))
    about = {"key_name": "Of a file in the worker's folder of keys."}

    port = serializers.IntegerField(min_value=1, max_value=65_535)
    hypervisor = serializers.CharField(required=False, help_text="Slug.")
    runs_on = serializers.CharField(required=False, help_text="Slug of the host whose virtual machine it is.")
    pools = serializers.ListField(
        child=serializers.CharField(), help_text='"/srv/kdb image", "/srv/xfs existing" or "local-lvm storage".'
    )
    stated = serializers.DictField(child=serializers.CharField(), required=False)


class PlanSerializer(FormFields):
    """A plan without its host: add `host` and `pool`, and it can be posted as a new campaign."""

    form = CampaignForm
    fills_in = True
    # Host and pool say where it runs.
    names = (*(name for name in CampaignForm.Meta.fields if name not in ("host", "pool")), *disks.CHOICES)
    about = {
        "precision_percent": "Left out: never stop early.",
        "follows_protocol": "Left out: true, but of a document with `format` false. Files are larger than the memory "
        "that may cache them, and the first run warms up.",
    }

    format = serializers.CharField(required=False, help_text=f"Of a plan's document: `{FORMAT}`.")
    driver = serializers.ChoiceField(choices=Host.Driver.choices)
    engine = serializers.ChoiceField(choices=Campaign.Engine.choices)
    personality = serializers.ChoiceField(choices=Campaign.Personality.choices, required=False)
    host_file_systems = serializers.ListField(
        child=serializers.CharField(), help_text='Slugs, or volumes ("raw", "lvm") in their place.'
    )
    vm_counts = serializers.ListField(child=serializers.IntegerField(min_value=1, max_value=999), required=False)
    pinned_cpus = serializers.ListField(
        child=serializers.IntegerField(min_value=0, max_value=9999),
        required=False,
        help_text="Of the host, one a vCPU; empty: any.",
    )

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        return super().get_fields() | disk_fields(required=False)


class CampaignFieldsSerializer(PlanSerializer):
    """A plan; what is left out is as on the form."""

    host = serializers.CharField(help_text="Slug.")
    pool = serializers.CharField(required=False, help_text="Path; not for attached machines.")


class FingerprintSerializer(Fields):
    fingerprint = serializers.CharField(help_text='"SHA256:...", or "AB:CD:..." of a certificate; as read on the host.')


class StatementSerializer(Fields):
    text = serializers.CharField(
        style=TEXT_AREA, help_text="All that kdb-facts-esxi.sh or kdb-facts-hyper-v.ps1 printed."
    )


class OperatorsSerializer(FormFields):
    """The group of a host beside its owner; who is left out is in it no longer."""

    form = OperatorsForm

    operators = serializers.ListField(child=serializers.CharField(max_length=150), max_length=100)


class NightlySerializer(FormFields):
    """The time that a campaign may take each night."""

    form = NightlyForm


class TopUpSerializer(FormFields):
    """More of what was planned."""

    form = TopUpForm
    about = {"repetitions": "How many more of every cell."}
