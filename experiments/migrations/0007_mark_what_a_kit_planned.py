"""Campaigns and case studies may be by the plan of a kit."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("experiments", "0006_name_contributors")]

    operations = [
        migrations.AddField('campaign', 'kit', models.CharField(blank=True, db_default='', default='', help_text='The kit that planned it: "cache-mode/1"; empty: none.', max_length=60)),
        migrations.AddField('casestudy', 'kit', models.CharField(blank=True, db_default='', default='', help_text='The kit by whose plan it was measured, with its version: "cache-mode/1"; empty: none.', max_length=60)),
    ]
