"""An index without the rows that it is never asked for: 7 MB less of a million measurements without block sizes.

Ten million rows keep writers waiting for some seconds.
"""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('experiments', '0048_vary_settings_of_disks'),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name='measurement',
            name='measured_by_block_size_bytes',
        ),
        migrations.AddIndex(
            model_name='measurement',
            index=models.Index(condition=models.Q(('block_size_bytes__isnull', False)), fields=['block_size_bytes', 'configuration'], name='measured_by_block_size'),
        ),
    ]
