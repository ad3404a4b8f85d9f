"""A change is a suspicion until a later sitting confirmed it; what was found before this migration is one, too."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("modelling", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="serieschange",
            name="confirmed_by",
            field=models.ForeignKey(
                blank=True,
                help_text="The later one that confirmed it, in blocks of both sides; empty: it is a suspicion.",
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="modelling.sitting",
            ),
        ),
    ]
