"""Campaigns by KDB's own protocol; those that were planned before measure as they were planned."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("experiments", "0003_ask_when_and_whether_files_fit_memory")]

    operations = [
        migrations.AddField('campaign', 'follows_protocol', models.BooleanField(db_default=False, default=False, help_text='Whether its files are larger than the memory that may cache them, and its first run does not count.')),
    ]
