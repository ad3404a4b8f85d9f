"""Publishing and retracting hung on the scope `import`: tokens that could do it keep it, by the scope `review`."""

from typing import Any

from django.conf import settings
from django.db import migrations
from django.db.models import Q


def give(apps: Any, schema_editor: Any) -> None:
    permission = apps.get_model("auth", "Permission")
    reviewing = permission.objects.filter(
        content_type__app_label="experiments", codename__in=["publish_casestudy", "retract_casestudy"]
    )
    reviewers = Q(user__is_superuser=True)
    reviewers |= Q(user__groups__permissions__in=reviewing) | Q(user__user_permissions__in=reviewing)
    for token in apps.get_model("kdb", "ApiToken").objects.filter(reviewers).distinct():
        if "import" in token.scopes and "review" not in token.scopes:
            token.scopes = sorted([*token.scopes, "review"])
            token.save(update_fields=["scopes"])


def take(apps: Any, schema_editor: Any) -> None:
    for token in apps.get_model("kdb", "ApiToken").objects.all():
        if "review" in token.scopes:
            token.scopes = [scope for scope in token.scopes if scope != "review"]
            token.save(update_fields=["scopes"])


class Migration(migrations.Migration):
    dependencies = [
        ("kdb", "0005_add_identities_and_second_factors"),
        ("auth", "0012_alter_user_first_name_max_length"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [migrations.RunPython(give, take)]
