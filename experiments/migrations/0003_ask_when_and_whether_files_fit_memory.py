"""What a case study says of when it was measured and of its files: asked for at every door, both may be left open."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("experiments", "0002_index_what_is_searched")]

    operations = [
        migrations.AddField('casestudy', 'fits_cache', models.CharField(blank=True, choices=[('yes', 'they fit: a cache can answer'), ('no', 'they do not fit'), ('', 'not stated')], db_default='', default='', help_text='Whether the files of its loads fit into the memory of machine or host; empty: not stated.', max_length=3)),
        migrations.AddField('casestudy', 'measured_year', models.PositiveSmallIntegerField(blank=True, help_text='Year in which it was measured; empty: that of its publication.', null=True)),
    ]
