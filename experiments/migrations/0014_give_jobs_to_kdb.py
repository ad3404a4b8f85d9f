"""The other half of kdb 0003: what refers to a job refers to the same row of the same table."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('experiments', '0013_refuse_pools_of_the_system'),
        ('kdb', '0003_take_jobs_over'),
    ]

    operations = [migrations.SeparateDatabaseAndState(state_operations=[
        migrations.AlterField(
            model_name='campaignrun',
            name='job',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='kdb.job'),
        ),
        migrations.AlterField(
            model_name='host',
            name='job',
            field=models.ForeignKey(blank=True, help_text='The latest contact or check.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='kdb.job'),
        ),
        migrations.AlterField(
            model_name='importbatch',
            name='job',
            field=models.ForeignKey(blank=True, help_text='The latest.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='kdb.job'),
        ),
        migrations.DeleteModel(
            name='WorkerHeartbeat',
        ),
        migrations.DeleteModel(
            name='Job',
        ),
    ])]
