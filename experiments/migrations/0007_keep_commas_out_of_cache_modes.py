"""A cache mode stands in keys of configurations, and a comma parts such keys."""

from django.db import migrations, models
from django.db.models import F, Q, Value
from django.db.models.functions import Replace


def write_semicolons(apps, schema_editor):
    rows = apps.get_model("experiments", "Configuration").objects.filter(cache_mode__contains=",")
    rows.update(cache_mode=Replace(F("cache_mode"), Value(","), Value(";")))


class Migration(migrations.Migration):
    dependencies = [("experiments", "0006_hold_names_and_lists_to_their_rules")]

    operations = [
        migrations.RunPython(write_semicolons, migrations.RunPython.noop, elidable=True),
        migrations.AddConstraint(
            model_name="configuration",
            constraint=models.CheckConstraint(
                condition=~Q(cache_mode__contains=","), name="experiments_configuration_cache_mode_has_no_comma"
            ),
        ),
    ]
