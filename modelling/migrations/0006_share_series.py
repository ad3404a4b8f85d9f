"""A series has a page for others; numbers of tests and levels of p meant nothing once p had one level."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("modelling", "0005_visitors")]
    stops_older_code = "older code reads changes with their test, so its pages of series fail; a worker finds a suspicion again"

    operations = [
        migrations.RemoveConstraint(model_name="serieschange", name="modelling_serieschange_one_a_test"),
        *(migrations.RemoveField(model_name="serieschange", name=name) for name in ("month", "test", "level")),
        migrations.DeleteModel(name="MonthOfTests"),
        migrations.CreateModel(
            name="SharedSeries",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("series", models.CharField(help_text="Digest of what makes it one series.", max_length=32)),
                ("about", models.JSONField(help_text="The series in words: of modelling.own_lab.changes.content.Series.")),
                ("address", models.SlugField(help_text="Of its page: it cannot be guessed.", max_length=40, unique=True)),
                ("laboratory", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="shared_series", to="modelling.laboratory")),
            ],
            options={
                "verbose_name_plural": "shared series",
                "ordering": ["-pk"],
                "constraints": [models.UniqueConstraint(fields=("laboratory", "series"), name="modelling_sharedseries_has_one_address")],
            },
        ),
    ]
