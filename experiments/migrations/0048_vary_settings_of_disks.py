"""A campaign may try several values of each setting of its virtual disks."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("experiments", "0047_keep_where_loaded_case_studies_came_from"),
        ('kdb', '0010_find_what_waits'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='campaignrun',
            name='experiments_campaignrun_is_run_once',
        ),
        migrations.AddField(
            model_name='campaign',
            name='disk_values',
            field=models.JSONField(blank=True, help_text='Option to its values; what is not in it: as the columns say.', null=True),
        ),
        migrations.AddField(
            model_name='campaignrun',
            name='disk',
            field=models.CharField(blank=True, db_default='', default='', help_text='Of what its campaign varies of the virtual disks: "cache_mode=writeback io_mode=native".', max_length=400),
        ),
        migrations.AddConstraint(
            model_name='campaignrun',
            constraint=models.UniqueConstraint(condition=models.Q(('repeats', None)), fields=('campaign', 'host_fs', 'guest_fs', 'workload', 'vm_count', 'disk', 'repetition'), name='experiments_campaignrun_is_run_once'),
        ),
    ]
