"""Needs and the settings of a disk's path are parameters of addresses, no names of entries: one that is called so is, with
-entry behind it, from now on."""

from django.db import migrations, models

CATALOGUE = ("Hypervisor", "FileSystem", "OperatingSystem", "Benchmark", "Workload")
CONSTRAINT = "experiments_{}_slug_fits_addresses_and_keys"
NEW = (
    *("needs", "cache_mode", "disk_bus", "image_format", "allocation", "io_mode", "discard", "iothread"),
    *("volume_block_bytes", "compression", "encryption", "snapshot", "pool_layout", "pool_devices"),
    *("hypervisor_release", "host_kernel", "host_fs_release", "guest_kernel", "guest_fs_release"),
)
RESERVED = (
    *("axis", "workload", "hypervisor", "guest_fs", "host_fs", "host_storage", "vm_count", "storage"),
    *("benchmark", "guest_os_family", "grade", "as_of", "entries", "weights", "format", "method", "metric"),
    *("evidence", "any", "native", "new", "none", "unknown"),
    *NEW,
)
FITS = (
    models.Q(slug__regex=r"\A[a-z0-9][a-z0-9_-]*\Z")
    & ~models.Q(slug__regex=r"(\A|-)on(-|\Z)")
    & ~models.Q(slug__in=RESERVED)
)


def rename(apps, schema_editor):
    for name in CATALOGUE:
        entries = apps.get_model("experiments", name).objects
        for slug in entries.filter(slug__in=NEW).values_list("slug", flat=True):
            entries.filter(slug=slug).update(slug=f"{slug}-entry")


class Migration(migrations.Migration):
    dependencies = [("experiments", "0041_add_addresses_of_sources")]

    operations = [
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
