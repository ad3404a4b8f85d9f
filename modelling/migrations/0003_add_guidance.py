"""What makers advise, and where they contradict each other."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('modelling', '0002_add_confirming_sitting'),
    ]

    operations = [
        migrations.CreateModel(
            name='Advice',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('code', models.SlugField(max_length=40, unique=True)),
                ('axis', models.CharField(db_index=True, help_text="KDB's axis, or a further subject.", max_length=30)),
                ('hypervisors', models.JSONField(blank=True, default=list)),
                ('host_storages', models.JSONField(blank=True, default=list)),
                ('storages', models.JSONField(blank=True, default=list)),
                ('guest_oses', models.JSONField(blank=True, default=list)),
                ('workloads', models.JSONField(blank=True, default=list, help_text='Families of workloads.')),
                ('recommended', models.JSONField(blank=True, default=list, help_text='Values of the axis, any of them.')),
                ('discouraged', models.JSONField(blank=True, default=list, help_text='Values of the axis, each of them.')),
                ('condition', models.CharField(blank=True, help_text='When it holds; empty: no condition is stated.', max_length=200)),
                ('wording', models.CharField(help_text='As strong as the source says it.', max_length=20)),
                ('reason', models.CharField(blank=True, max_length=20)),
                ('statement', models.CharField(max_length=300)),
                ('title', models.CharField(help_text='Of the source; of a default the product with its release.', max_length=200)),
                ('publisher', models.CharField(db_index=True, max_length=80)),
                ('kind', models.CharField(help_text='Of the source.', max_length=30)),
                ('address', models.CharField(help_text='Of the source.', max_length=300)),
                ('version', models.CharField(blank=True, help_text='Version or date of the source.', max_length=80)),
                ('read', models.CharField(help_text='How much of the source was read.', max_length=10)),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='Contradiction',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveSmallIntegerField(unique=True)),
                ('subject', models.CharField(max_length=100)),
                ('one_view', models.CharField(max_length=100)),
                ('one_side', models.JSONField(default=list)),
                ('other_view', models.CharField(max_length=100)),
                ('other_side', models.JSONField(default=list)),
                ('why', models.CharField(help_text='What is likely to be behind it; inferred.', max_length=200)),
            ],
            options={
                'ordering': ['number'],
            },
        ),
    ]
