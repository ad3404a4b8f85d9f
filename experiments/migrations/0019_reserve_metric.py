"""The word metric is a parameter of questions, no name of an entry: one that has it is metric-entry from now on."""

from django.db import migrations, models


CATALOGUE = ("Hypervisor", "FileSystem", "OperatingSystem", "Benchmark", "Workload")


def rename(apps, schema_editor):
    for name in CATALOGUE:
        apps.get_model("experiments", name).objects.filter(slug="metric").update(slug="metric-entry")


class Migration(migrations.Migration):
    dependencies = [
        ("experiments", "0018_add_laboratory"),
    ]

    operations = [
        migrations.RunPython(rename, migrations.RunPython.noop, elidable=True),
        migrations.RemoveConstraint(
            model_name="benchmark",
            name="experiments_benchmark_slug_fits_addresses_and_keys",
        ),
        migrations.RemoveConstraint(
            model_name="filesystem",
            name="experiments_filesystem_slug_fits_addresses_and_keys",
        ),
        migrations.RemoveConstraint(
            model_name="hypervisor",
            name="experiments_hypervisor_slug_fits_addresses_and_keys",
        ),
        migrations.RemoveConstraint(
            model_name="operatingsystem",
            name="experiments_operatingsystem_slug_fits_addresses_and_keys",
        ),
        migrations.RemoveConstraint(
            model_name="workload",
            name="experiments_workload_slug_fits_addresses_and_keys",
        ),
        migrations.AddConstraint(
            model_name="benchmark",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("slug__regex", "\\A[a-z0-9][a-z0-9_-]*\\Z"),
                    models.Q(("slug__regex", "(\\A|-)on(-|\\Z)"), _negated=True),
                    models.Q(
                        (
                            "slug__in",
                            (
                                "axis",
                                "workload",
                                "hypervisor",
                                "guest_fs",
                                "host_fs",
                                "vm_count",
                                "storage",
                                "benchmark",
                                "guest_os_family",
                                "grade",
                                "as_of",
                                "entries",
                                "weights",
                                "format",
                                "metric",
                                "any",
                                "native",
                                "new",
                                "none",
                                "unknown",
                            ),
                        ),
                        _negated=True,
                    ),
                ),
                name="experiments_benchmark_slug_fits_addresses_and_keys",
            ),
        ),
        migrations.AddConstraint(
            model_name="filesystem",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("slug__regex", "\\A[a-z0-9][a-z0-9_-]*\\Z"),
                    models.Q(("slug__regex", "(\\A|-)on(-|\\Z)"), _negated=True),
                    models.Q(
                        (
                            "slug__in",
                            (
                                "axis",
                                "workload",
                                "hypervisor",
                                "guest_fs",
                                "host_fs",
                                "vm_count",
                                "storage",
                                "benchmark",
                                "guest_os_family",
                                "grade",
                                "as_of",
                                "entries",
                                "weights",
                                "format",
                                "metric",
                                "any",
                                "native",
                                "new",
                                "none",
                                "unknown",
                            ),
                        ),
                        _negated=True,
                    ),
                ),
                name="experiments_filesystem_slug_fits_addresses_and_keys",
            ),
        ),
        migrations.AddConstraint(
            model_name="hypervisor",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("slug__regex", "\\A[a-z0-9][a-z0-9_-]*\\Z"),
                    models.Q(("slug__regex", "(\\A|-)on(-|\\Z)"), _negated=True),
                    models.Q(
                        (
                            "slug__in",
                            (
                                "axis",
                                "workload",
                                "hypervisor",
                                "guest_fs",
                                "host_fs",
                                "vm_count",
                                "storage",
                                "benchmark",
                                "guest_os_family",
                                "grade",
                                "as_of",
                                "entries",
                                "weights",
                                "format",
                                "metric",
                                "any",
                                "native",
                                "new",
                                "none",
                                "unknown",
                            ),
                        ),
                        _negated=True,
                    ),
                ),
                name="experiments_hypervisor_slug_fits_addresses_and_keys",
            ),
        ),
        migrations.AddConstraint(
            model_name="operatingsystem",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("slug__regex", "\\A[a-z0-9][a-z0-9_-]*\\Z"),
                    models.Q(("slug__regex", "(\\A|-)on(-|\\Z)"), _negated=True),
                    models.Q(
                        (
                            "slug__in",
                            (
                                "axis",
                                "workload",
                                "hypervisor",
                                "guest_fs",
                                "host_fs",
                                "vm_count",
                                "storage",
                                "benchmark",
                                "guest_os_family",
                                "grade",
                                "as_of",
                                "entries",
                                "weights",
                                "format",
                                "metric",
                                "any",
                                "native",
                                "new",
                                "none",
                                "unknown",
                            ),
                        ),
                        _negated=True,
                    ),
                ),
                name="experiments_operatingsystem_slug_fits_addresses_and_keys",
            ),
        ),
        migrations.AddConstraint(
            model_name="workload",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("slug__regex", "\\A[a-z0-9][a-z0-9_-]*\\Z"),
                    models.Q(("slug__regex", "(\\A|-)on(-|\\Z)"), _negated=True),
                    models.Q(
                        (
                            "slug__in",
                            (
                                "axis",
                                "workload",
                                "hypervisor",
                                "guest_fs",
                                "host_fs",
                                "vm_count",
                                "storage",
                                "benchmark",
                                "guest_os_family",
                                "grade",
                                "as_of",
                                "entries",
                                "weights",
                                "format",
                                "metric",
                                "any",
                                "native",
                                "new",
                                "none",
                                "unknown",
                            ),
                        ),
                        _negated=True,
                    ),
                ),
                name="experiments_workload_slug_fits_addresses_and_keys",
            ),
        ),
    ]
