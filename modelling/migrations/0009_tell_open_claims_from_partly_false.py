from django.db import migrations, models


def judge_again(apps, schema_editor):
    """A verdict of revision 0 is behind, so the next tick asks for it again."""
    apps.get_model("modelling", "ClaimVerdict").objects.update(revision=0)


class Migration(migrations.Migration):
    dependencies = [("modelling", "0008_equal_runs_have_spread_zero")]

    operations = [
        migrations.AlterField(
            model_name="claimverdict",
            name="verdict",
            field=models.CharField(
                choices=[
                    ("supported", "supported"),
                    ("open", "open"),
                    ("partly", "partly false"),
                    ("contradicted", "contradicted"),
                    ("untestable", "untestable"),
                ],
                max_length=15,
            ),
        ),
        migrations.RunPython(judge_again, judge_again, elidable=True),
    ]
