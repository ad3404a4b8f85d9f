"""A machine is one host: another one cannot be registered with its address and port."""

import django.db.models.functions.text
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("experiments", "0009_mark_what_drafts_brought")]

    operations = [
        migrations.AddConstraint(
            model_name="host",
            constraint=models.UniqueConstraint(
                django.db.models.functions.text.Lower("address"),
                models.F("port"),
                condition=models.Q(("address", ""), _negated=True),
                name="experiments_host_address_is_unique",
                violation_error_message="Another host is registered with this address and port.",
            ),
        ),
    ]
