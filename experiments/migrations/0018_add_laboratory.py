import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("experiments", "0017_keep_slugs_off_pages"),
    ]

    operations = [
        migrations.AddField(
            model_name="casestudy",
            name="laboratory",
            field=models.CharField(
                blank=True,
                default="",
                help_text="Short name of who measured; case studies of one laboratory are not independent of one "
                "another. Empty: the publication, or the case study by itself.",
                max_length=60,
                validators=[django.core.validators.validate_slug],
            ),
            preserve_default=False,
        ),
    ]
