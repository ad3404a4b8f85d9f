"""Indexes that lists of measurements are found by, each filter's in the order of the list.

Ten million rows keep writers waiting for some two minutes.
"""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("experiments", "0030_index_configurations")]

    operations = [
        migrations.AlterField(
            model_name='measurement',
            name='variant',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, to='experiments.workloadvariant'),
        ),
        migrations.AddIndex(
            model_name='measurement',
            index=models.Index(fields=['variant', 'configuration'], name='measured_by_variant'),
        ),
        migrations.AddIndex(
            model_name='measurement',
            index=models.Index(fields=['metric', 'configuration'], name='measured_by_metric'),
        ),
        migrations.AddIndex(
            model_name='measurement',
            index=models.Index(fields=['operation', 'configuration'], name='measured_by_operation'),
        ),
        migrations.AddIndex(
            model_name='measurement',
            index=models.Index(fields=['vm_count', 'configuration'], name='measured_by_vm_count'),
        ),
        migrations.AddIndex(
            model_name='measurement',
            index=models.Index(fields=['block_size_bytes', 'configuration'], name='measured_by_block_size_bytes'),
        ),
        migrations.AddIndex(
            model_name='measurement',
            index=models.Index(condition=models.Q(('quality', 'exact'), _negated=True), fields=['configuration'], name='measured_not_exactly'),
        ),
        migrations.AddIndex(
            model_name='measurement',
            index=models.Index(condition=models.Q(('excluded_because', ''), _negated=True), fields=['configuration'], name='measured_but_excluded'),
        ),
    ]
