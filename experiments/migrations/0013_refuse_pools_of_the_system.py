import django.core.validators
from django.db import migrations, models

import experiments.models.laboratory


class Migration(migrations.Migration):

    dependencies = [
        ('experiments', '0012_bind_private_keys'),
    ]

    operations = [
        migrations.AlterField(
            model_name='storagepool',
            name='path',
            field=models.CharField(max_length=200, validators=[django.core.validators.RegexValidator('^(/[A-Za-z0-9_][A-Za-z0-9_.+-]*)+$', 'An absolute path of letters, digits, . _ + and -.'), experiments.models.laboratory.check_pool]),
        ),
    ]
