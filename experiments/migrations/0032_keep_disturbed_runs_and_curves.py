"""Runs that others disturbed are kept beside their repeats, with the curve of each run and what calibrations found."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("experiments", "0031_index_measurements"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="campaignrun",
            name="experiments_campaignrun_is_run_once",
        ),
        migrations.AddField(
            model_name="campaign",
            name="calibrations",
            field=models.JSONField(
                blank=True,
                help_text="A dict a repetition: what a reference load did before it; empty: none was run.",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="campaignrun",
            name="curves",
            field=models.JSONField(
                blank=True,
                help_text="A dict a machine: MiB/s of each interval, and where its warm-up ends; empty: not kept.",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="campaignrun",
            name="disturbed",
            field=models.TextField(
                blank=True, db_default="", help_text="What others did beyond the limits; empty: nothing."
            ),
        ),
        migrations.AddField(
            model_name="campaignrun",
            name="repeats",
            field=models.OneToOneField(
                blank=True,
                help_text="The disturbed run that this one is done for once more; the figures of this one count.",
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="repeated_by",
                to="experiments.campaignrun",
            ),
        ),
        migrations.AddConstraint(
            model_name="campaignrun",
            constraint=models.UniqueConstraint(
                condition=models.Q(("repeats", None)),
                fields=("campaign", "host_fs", "guest_fs", "workload", "vm_count", "repetition"),
                name="experiments_campaignrun_is_run_once",
            ),
        ),
    ]
