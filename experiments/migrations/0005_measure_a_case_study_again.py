"""A campaign may measure a published case study again, with the personalities that Filebench ships."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("experiments", "0004_measure_disks_by_protocol")]

    operations = [
        migrations.AddField('campaign', 'personality', models.CharField(choices=[('kdb', "KDB's own"), ('shipped', 'as Filebench ships them')], db_default='kdb', default='kdb', help_text='Of the workloads.', max_length=10)),
        migrations.AddField('campaign', 'replicates', models.ForeignKey(blank=True, help_text='The published case study that it measures again; empty: none.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='replications', to='experiments.casestudy')),
    ]
