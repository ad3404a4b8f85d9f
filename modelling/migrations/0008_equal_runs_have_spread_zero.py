"""Arms whose repetitions were equal had no spread; now they have one of zero, which is pooled with the others."""

from django.db import migrations


def to_zero(apps, schema_editor) -> None:
    arms = apps.get_model("modelling", "Arm").objects
    arms.filter(origin="measured", measurements__gt=1, variance__isnull=True).update(variance=0.0)


def to_none(apps, schema_editor) -> None:
    apps.get_model("modelling", "Arm").objects.filter(variance=0.0).update(variance=None)


class Migration(migrations.Migration):
    dependencies = [("modelling", "0007_let_equal_runs_have_no_spread")]

    operations = [migrations.RunPython(to_zero, to_none)]
