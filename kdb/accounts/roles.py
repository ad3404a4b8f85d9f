"""Define the roles, which are Django groups that every migration updates. Reading needs no account."""

from typing import Any

from django.contrib.auth.models import Group, Permission
from django.db.models import Q

_CATALOGUE = ("hypervisor", "filesystem", "operatingsystem", "benchmark", "workload")
_RESEARCHER = ("experiments.add_casestudy",)
_REVIEWER = ("experiments.publish_casestudy", "experiments.retract_casestudy")
_OPERATOR = ("experiments.add_host", "experiments.add_campaign")

# Group: permissions. experiments.permissions combines them with the state and the owner of a case study.
ROLES: dict[str, tuple[str, ...]] = {
    "researchers": _RESEARCHER,
    "reviewers": _REVIEWER,
    "operators": (*_OPERATOR, *_RESEARCHER),  # because a campaign is filed as a draft of its owner
    "administrators": (
        *_RESEARCHER,
        *_REVIEWER,
        *_OPERATOR,
        *("experiments.change_host", "experiments.change_campaign"),
        *("experiments.change_casestudy", "experiments.delete_casestudy"),
        *(f"experiments.{verb}_{name}" for name in _CATALOGUE for verb in ("add", "change", "view")),
        *("experiments.view_auditentry", "modelling.view_laboratoryauditentry"),
        "admin.view_logentry",
        *("auth.add_user", "auth.change_user", "auth.view_user", "auth.view_group"),
    ),
}


def update_groups(**kwargs: Any) -> None:
    """Create the groups of ROLES and set their permissions. Other groups stay as they are."""
    for name, labels in ROLES.items():
        group, _ = Group.objects.get_or_create(name=name)
        wanted = Q(pk__in=[])
        for label in labels:
            app, codename = label.split(".")
            wanted |= Q(content_type__app_label=app, codename=codename)
        permissions = set(Permission.objects.filter(wanted))
        if permissions != set(group.permissions.all()):
            group.permissions.set(permissions)
