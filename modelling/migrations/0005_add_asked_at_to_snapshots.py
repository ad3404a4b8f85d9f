import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('modelling', '0004_add_publication_preview'),
    ]

    operations = [
        migrations.AddField(
            model_name='rankingsnapshot',
            name='asked_at',
            field=models.DateTimeField(default=django.utils.timezone.now, help_text='When somebody last asked for it, to the day.'),
        ),
    ]
