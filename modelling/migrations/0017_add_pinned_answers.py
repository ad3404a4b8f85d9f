import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('modelling', '0014_add_what_verdicts_were_asked'),
    ]

    operations = [
        migrations.CreateModel(
            name='PinnedAnswer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('asked', models.CharField(help_text='SHA-256 of what was asked, as pins name it.', max_length=64)),
                ('revision', models.PositiveIntegerField(help_text='Knowledge revision in the address.')),
                ('method', models.PositiveSmallIntegerField(help_text='Version of the way to the answer (modelling.estimation.ranking.METHOD).')),
                ('body', models.BinaryField(help_text='The answer as the API gave it: JSON, compressed by zlib.')),
                ('given_at', models.DateTimeField(default=django.utils.timezone.now, help_text='When it was worked out.')),
                ('is_visitors', models.BooleanField(default=True, help_text='Whether it takes of the room for visitors (settings.KDB_PINNED_ANSWERS).')),
            ],
            options={
                'ordering': ['pk'],
                'indexes': [models.Index(fields=['is_visitors'], name='modelling_pinned_visitors')],
                'constraints': [models.UniqueConstraint(fields=('asked', 'revision', 'method'), name='modelling_pinnedanswer_one_each')],
            },
        ),
    ]
