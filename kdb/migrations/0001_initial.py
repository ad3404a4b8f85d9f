import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('auth', '__first__'),
    ]

    operations = [
        migrations.CreateModel(
            name='ApiToken',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='api_tokens', to=settings.AUTH_USER_MODEL)),
                ('name', models.CharField(help_text='Where it is used.', max_length=80)),
                ('prefix', models.CharField(help_text='Its first characters, to tell it from others.', max_length=12)),
                ('digest', models.CharField(editable=False, max_length=64, unique=True)),
                ('scopes', models.JSONField(default=list)),
                ('laboratory', models.CharField(blank=True, db_default='', help_text='The only one it opens, by its short name: of the scope measure.', max_length=40)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('expires_at', models.DateTimeField(blank=True, help_text='Empty: never.', null=True)),
                ('last_used_at', models.DateTimeField(blank=True, help_text='To the minute; empty: never.', null=True)),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'verbose_name': 'API token',
                'ordering': ['-pk'],
                'constraints': [models.UniqueConstraint(condition=models.Q(('revoked_at__isnull', True)), fields=('user', 'name'), name='kdb_apitoken_name_is_unique')],
            },
        ),
        migrations.CreateModel(
            name='OidcIdentity',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='oidc_identities', to=settings.AUTH_USER_MODEL)),
                ('issuer', models.CharField(max_length=200)),
                ('subject', models.CharField(help_text='Its name for the person, which never changes.', max_length=255)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'verbose_name': 'OpenID Connect identity',
                'verbose_name_plural': 'OpenID Connect identities',
                'constraints': [models.UniqueConstraint(fields=('issuer', 'subject'), name='kdb_oidcidentity_is_of_one_account')],
            },
        ),
        migrations.CreateModel(
            name='SecondFactor',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='second_factor', to=settings.AUTH_USER_MODEL)),
                ('secret', models.CharField(editable=False, help_text='Encrypted by a key made of SECRET_KEY.', max_length=200)),
                ('recovery_digests', models.JSONField(default=list, editable=False, help_text='SHA-256 of each unused code.')),
                ('last_step', models.BigIntegerField(default=0, editable=False, help_text='Of the last password taken.')),
                ('confirmed_at', models.DateTimeField(blank=True, help_text='Empty: not set up yet, and not asked for.', null=True)),
            ],
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
                ('request_id', models.CharField(blank=True, db_default='', help_text='Of the request that asked; empty: none did.', max_length=36)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'ordering': ['-pk'],
                'indexes': [models.Index(fields=['state', 'queue', 'heartbeat_at'], name='kdb_job_by_state')],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('heartbeat_at__isnull', False), ('state', 'running'), models.Q(('owner', ''), _negated=True)), models.Q(('state', 'running'), _negated=True), _connector='OR'), name='kdb_job_running_has_an_owner_and_a_heartbeat'), models.CheckConstraint(condition=models.Q(models.Q(('finished_at__isnull', False), ('state__in', ['done', 'failed'])), models.Q(('finished_at__isnull', True), ('state__in', ['queued', 'running'])), _connector='OR'), name='kdb_job_ended_has_an_end')],
            },
        ),
        migrations.CreateModel(
            name='WorkerHeartbeat',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=120, unique=True)),
                ('seen_at', models.DateTimeField()),
            ],
            options={
                'ordering': ['name'],
            },
        ),
        migrations.CreateModel(
            name='LeftRequest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(help_text='SHA-256 of what is asked.', max_length=64, unique=True)),
                ('asked', models.JSONField(help_text='The request as its view reads it, by names of WSGI.')),
                ('kind', models.CharField(blank=True, db_default='', help_text='The view that answers it.', max_length=80)),
                ('address', models.CharField(db_index=True, help_text='Whose turn it takes.', max_length=45)),
                ('seconds', models.FloatField(db_default=0, default=0, help_text="What a worker's processor spent on it.")),
                ('polled_at', models.DateTimeField(help_text='When somebody last asked for it, to some seconds.')),
                ('attempts', models.PositiveSmallIntegerField(default=0)),
                ('answered_at', models.DateTimeField(blank=True, help_text='Empty: it waits.', null=True)),
                ('status', models.PositiveSmallIntegerField(default=0)),
                ('headers', models.JSONField(default=dict)),
                ('content', models.BinaryField(default=bytes)),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='Turn',
            fields=[
                ('address', models.CharField(max_length=45, primary_key=True, serialize=False)),
                ('served_at', models.DateTimeField()),
                ('seconds', models.FloatField(db_default=0, default=0, help_text='Owed at that moment; each minute halves it.')),
            ],
        ),
        migrations.CreateModel(
            name='Installation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('identity', models.UUIDField(default=uuid.uuid4, editable=False)),
            ],
        ),
    ]
