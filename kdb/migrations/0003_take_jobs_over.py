"""Jobs and workers' heartbeats are what both applications use, so kdb has them. Their tables stay as they are."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('kdb', '0002_delete_failed_login'),
        ('experiments', '0013_refuse_pools_of_the_system'),
    ]

    operations = [migrations.SeparateDatabaseAndState(state_operations=[
        migrations.CreateModel(
            name='WorkerHeartbeat',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=120, unique=True)),
                ('seen_at', models.DateTimeField()),
            ],
            options={
                'db_table': 'experiments_workerheartbeat',
                'ordering': ['name'],
            },
        ),
        migrations.CreateModel(
            name='Job',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(help_text='Which handler does it.', max_length=40)),
                ('queue', models.CharField(blank=True, help_text="Whose workers do it; empty: anybody's.", max_length=60)),
                ('arguments', models.JSONField(blank=True, default=dict, help_text='Keywords of the handler.')),
                ('state', models.CharField(choices=[('queued', 'waiting'), ('running', 'running'), ('done', 'done'), ('failed', 'failed')], default='queued', max_length=10)),
                ('attempt', models.PositiveIntegerField(default=1)),
                ('owner', models.CharField(blank=True, help_text='The worker that holds the lease.', max_length=120)),
                ('heartbeat_at', models.DateTimeField(blank=True, null=True)),
                ('progress', models.PositiveIntegerField(default=0, help_text='Steps done.')),
                ('total', models.PositiveIntegerField(blank=True, help_text='Steps in all; empty: not known yet.', null=True)),
                ('error', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'db_table': 'experiments_job',
                'ordering': ['-pk'],
                'indexes': [models.Index(condition=models.Q(('state__in', ['queued', 'running'])), fields=['state', 'heartbeat_at'], name='experiments_job_open')],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('heartbeat_at__isnull', False), ('state', 'running'), models.Q(('owner', ''), _negated=True)), models.Q(('state', 'running'), _negated=True), _connector='OR'), name='experiments_job_running_has_an_owner_and_a_heartbeat'), models.CheckConstraint(condition=models.Q(models.Q(('finished_at__isnull', False), ('state__in', ['done', 'failed'])), models.Q(('finished_at__isnull', True), ('state__in', ['queued', 'running'])), _connector='OR'), name='experiments_job_ended_has_an_end')],
            },
        ),
    ])]
