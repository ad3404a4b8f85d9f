"""Indexes that lists of configurations and of case studies are found by, each filter's in the order of the list."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("experiments", "0029_add_source_to_signatures")]

    operations = [
        migrations.AlterField(
            model_name='configuration',
            name='case_study',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='configurations', to='experiments.casestudy'),
        ),
        migrations.AlterField(
            model_name='configuration',
            name='guest_fs',
            field=models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='as_guest', to='experiments.filesystem'),
        ),
        migrations.AlterField(
            model_name='configuration',
            name='host_fs',
            field=models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='as_host', to='experiments.filesystem'),
        ),
        migrations.AlterField(
            model_name='configuration',
            name='hypervisor',
            field=models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='configurations', to='experiments.hypervisor'),
        ),
        migrations.AlterField(
            model_name='configuration',
            name='slug',
            field=models.SlugField(db_index=False, help_text='Unique inside the case study.', max_length=80),
        ),
        migrations.AddIndex(
            model_name="configuration",
            index=models.Index(fields=["case_study", "id"], name="configurations_by_case_study"),
        ),
        migrations.AddIndex(
            model_name='configuration',
            index=models.Index(fields=['slug', 'id'], name='configurations_by_slug'),
        ),
        migrations.AddIndex(
            model_name='configuration',
            index=models.Index(fields=['hypervisor', 'id'], name='configurations_by_hypervisor'),
        ),
        migrations.AddIndex(
            model_name='configuration',
            index=models.Index(fields=['guest_fs', 'id'], name='configurations_by_guest_fs'),
        ),
        migrations.AddIndex(
            model_name='configuration',
            index=models.Index(fields=['host_fs', 'id'], name='configurations_by_host_fs'),
        ),
        migrations.AddIndex(
            model_name='configuration',
            index=models.Index(fields=['backend', 'id'], name='configurations_by_backend'),
        ),
        migrations.AddIndex(
            model_name='configuration',
            index=models.Index(fields=['hypervisor', 'case_study'], name='case_studies_by_hypervisor'),
        ),
        migrations.AddIndex(
            model_name='configuration',
            index=models.Index(fields=['guest_fs', 'case_study'], name='case_studies_by_guest_fs'),
        ),
        migrations.AddIndex(
            model_name='configuration',
            index=models.Index(fields=['host_fs', 'case_study'], name='case_studies_by_host_fs'),
        ),
        migrations.AddIndex(
            model_name='configuration',
            index=models.Index(condition=models.Q(('hypervisor__isnull', True)), fields=['id'], name='configurations_native'),
        ),
    ]
