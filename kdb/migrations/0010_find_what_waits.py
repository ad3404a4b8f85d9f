from django.db import migrations, models


class Migration(migrations.Migration):
    """Workers without Redis ask for what waits a few times a second; SQLite did not use the index that was there."""

    dependencies = [("kdb", "0009_add_installation")]

    operations = [
        migrations.AddIndex(
            model_name="job", index=models.Index(fields=["state", "queue", "heartbeat_at"], name="kdb_job_by_state")
        ),
        migrations.RemoveIndex(model_name="job", name="experiments_job_open"),
    ]
