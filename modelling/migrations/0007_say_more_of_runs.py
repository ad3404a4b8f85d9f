"""Runs have sizes and notes; a load of an observed machine is kept as numbers; nights are told from decisions."""

from django.db import migrations, models


def numbers_of(job):
    """Return the numbers of the fio job that a sitting under the load of a machine has kept until now."""
    options = dict(line.split("=", 1) for line in job.splitlines()[1:])
    sizes = (options.get("bs") or options["bssplit"]).split(",")  # "16384,8192", or "4096/60:8192/40,12288/100"
    (read_bytes, read_doubled), (write_bytes, write_doubled) = (
        (int(size.partition("/")[0]), int(size.rpartition("/")[2]) if ":" in size else 0) for size in sizes
    )
    return {
        "threads": int(options["numjobs"]),
        "files": 1,
        "file_bytes": int(options["filesize"]),
        "read_percent": {"randread": 100, "randwrite": 0}.get(options["rw"], int(options.get("rwmixread", 50))),
        "read_bytes": read_bytes,
        "read_doubled_percent": read_doubled,
        "write_bytes": write_bytes,
        "write_doubled_percent": write_doubled,
        "fsync_every": 0,
        "fdatasync_every": int(options.get("fdatasync", 0)),
        "overwrite": 1,
        "sequential": 0,
    }


def keep_numbers(apps, schema_editor):
    """Keep each load as numbers, too; the text stays, as series are told apart by it."""
    for sitting in apps.get_model("modelling", "Sitting").objects.filter(like__isnull=False).iterator():
        if "job" in sitting.like:
            sitting.like["load"] = numbers_of(sitting.like["job"])
            sitting.save(update_fields=["like"])


class Migration(migrations.Migration):

    dependencies = [
        ('modelling', '0006_share_series'),
    ]

    stops_older_code = "an older worker begins sittings under an observed load without its numbers"

    operations = [
        migrations.AddField("sitting", "set_mib", models.PositiveIntegerField(db_default=0, default=0, help_text="MiB of the files of a run; 0: as the load has them.")),
        migrations.AddField("sitting", "is_night", models.BooleanField(db_default=False, default=False, help_text="Whether its runs were planned beforehand: it decides nothing.")),
        migrations.AddField("sittingrun", "note", models.CharField(blank=True, db_default="", default="", help_text="What is to be said of it, on its page.", max_length=200)),
        migrations.RunPython(keep_numbers, migrations.RunPython.noop),
    ]
