"""The release of the disk's driver is a fact of its own, and a parameter of addresses: an entry that is called so is, with
-entry behind it, from now on."""

from django.db import migrations, models

CATALOGUE = ("Hypervisor", "FileSystem", "OperatingSystem", "Benchmark", "Workload")
CONSTRAINT = "experiments_{}_slug_fits_addresses_and_keys"
NEW = "disk_driver_release"
RESERVED = (
    *("axis", "workload", "hypervisor", "guest_fs", "host_fs", "host_storage", "vm_count", "storage"),
    *("benchmark", "guest_os_family", "grade", "as_of", "entries", "weights", "format", "method", "metric"),
    *("evidence", "any", "native", "new", "none", "unknown", "needs"),
    *("cache_mode", "disk_bus", "image_format", "allocation", "io_mode", "discard", "iothread"),
    *("volume_block_bytes", "compression", "encryption", "snapshot", "pool_layout", "pool_devices"),
    *("hypervisor_release", "host_kernel", "host_fs_release", "guest_kernel", "guest_fs_release", NEW),
)
FITS = (
    models.Q(slug__regex=r"\A[a-z0-9][a-z0-9_-]*\Z")
    & ~models.Q(slug__regex=r"(\A|-)on(-|\Z)")
    & ~models.Q(slug__in=RESERVED)
)


def rename(apps, schema_editor):
    for name in CATALOGUE:
        apps.get_model("experiments", name).objects.filter(slug=NEW).update(slug=f"{NEW}-entry")


class Migration(migrations.Migration):
    dependencies = [("experiments", "0053_tell_of_slow_disks")]

    operations = [
        migrations.AddField(
            model_name="configuration",
            name=NEW,
            field=models.CharField(
                blank=True,
                default="",
                db_default="",
                max_length=80,
                help_text="Of the virtual disk in the guest, with its name, where it has its own.",
            ),
        ),
        migrations.RunPython(rename, migrations.RunPython.noop, elidable=True),
        *(
            migrations.RemoveConstraint(model_name=name.lower(), name=CONSTRAINT.format(name.lower()))
            for name in sorted(CATALOGUE)
        ),
        *(
            migrations.AddConstraint(
                model_name=name.lower(),
                constraint=models.CheckConstraint(condition=FITS, name=CONSTRAINT.format(name.lower())),
            )
            for name in sorted(CATALOGUE)
        ),
    ]
