"""The word method is a parameter of addresses, no name of an entry: one that has it is method-entry from now on."""

from django.db import migrations, models

CATALOGUE = ("Hypervisor", "FileSystem", "OperatingSystem", "Benchmark", "Workload")
CONSTRAINT = "experiments_{}_slug_fits_addresses_and_keys"
RESERVED = (
    *("axis", "workload", "hypervisor", "guest_fs", "host_fs", "host_storage", "vm_count", "storage", "benchmark"),
    *("guest_os_family", "grade", "as_of", "entries", "weights", "format", "method", "metric", "evidence", "any"),
    *("native", "new", "none", "unknown"),
)
FITS = (
    models.Q(slug__regex=r"\A[a-z0-9][a-z0-9_-]*\Z")
    & ~models.Q(slug__regex=r"(\A|-)on(-|\Z)")
    & ~models.Q(slug__in=RESERVED)
)


def rename(apps, schema_editor):
    for name in CATALOGUE:
        apps.get_model("experiments", name).objects.filter(slug="method").update(slug="method-entry")


class Migration(migrations.Migration):
    dependencies = [("experiments", "0034_add_xen")]

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
