from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('modelling', '0005_add_asked_at_to_snapshots'),
    ]

    operations = [
        migrations.AddField(
            model_name='rankingsnapshot',
            name='attempts',
            field=models.PositiveIntegerField(default=0, help_text='To answer again since it was superseded.'),
        ),
        migrations.AddField(
            model_name='rankingsnapshot',
            name='retry_at',
            field=models.DateTimeField(blank=True, help_text='Not tried again before; empty: at once.', null=True),
        ),
        migrations.AddField(
            model_name='rankingsnapshot',
            name='error',
            field=models.TextField(blank=True, help_text='Why the last attempt failed.'),
        ),
    ]
