import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("experiments", "0038_add_archives"),
    ]

    operations = [
        migrations.AddField(
            model_name="casestudy",
            name="research_group",
            field=models.CharField(
                blank=True,
                db_default="",
                help_text="Short name of the people behind the laboratory, whose laboratories are not independent of one "
                "another; a laboratory's name stands for its group. Empty: case studies that share an author are one "
                "group.",
                max_length=60,
                validators=[django.core.validators.validate_slug],
            ),
        ),
    ]
