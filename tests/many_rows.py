"""Tables filled by the database itself, case studies by the thousand, for tests of plans, which need rows to weigh.

The last case study alone has what is rare, and the later half what is late: so a walk through a table in the order
its rows came in passes all others before it finds either.
"""

from typing import Any

from django.db import connection, models

from experiments.models import CaseStudy, Configuration, FileSystem, Hypervisor
from tests import factories

CONFIGURATIONS, LOADS, REPETITIONS = 20, 5, 2
ROWS = CONFIGURATIONS * LOADS * REPETITIONS  # of a case study


def multiply(row: models.Model, rows: str, **expressions: str) -> None:
    """Insert what the SELECT `rows` gives, copies of `row` but for the columns with an SQL expression here."""
    table = row._meta.db_table
    columns = [
        field.column for field in row._meta.concrete_fields if not field.primary_key or field.name in expressions
    ]
    values = ", ".join(expressions.get(column, f"template.{column}") for column in columns)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} ({', '.join(columns)}) SELECT {values} "
            f"FROM {table} AS template, ({rows}) AS n WHERE template.id = {row.pk}"
        )


def numbers(count: int) -> str:
    """Return a SELECT of 0 to count - 1 as `i`, in either database."""
    return f"WITH RECURSIVE s(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM s WHERE i < {count - 1}) SELECT i FROM s"


def _key(model: type[models.Model], slug: str) -> int:
    return factories.entry(model, slug).pk


def fill(case_studies: int) -> dict[str, Any]:
    """Published case studies of `ROWS` measurements each. Returns the last one's slug and what is rare or late."""
    factories.revision(1)
    study = factories.make_case_study("study", status=CaseStudy.Status.PUBLISHED, published_revision_id=1)
    multiply(study, numbers(case_studies), slug="'study-' || i", title="'Study ' || i")
    last, late = f"study-{case_studies - 1}", case_studies // 2
    first = CaseStudy.objects.get(slug="study-0").pk
    factories.revision(2)
    CaseStudy.objects.filter(slug="study-7").update(
        status=CaseStudy.Status.RETRACTED, retracted_revision_id=2, retraction_reason="a mistake"
    )

    kvm, xen, esxi = (_key(Hypervisor, slug) for slug in ("kvm", "xen", "esxi"))
    ext4, xfs, btrfs = (_key(FileSystem, slug) for slug in ("ext4", "xfs", "btrfs"))
    one = factories.make_configuration(study)
    nth, of = f"(i % {CONFIGURATIONS})", f"(i / {CONFIGURATIONS})"
    is_last = f"{of} = {case_studies - 1}"
    late_or_last = (
        f"CASE WHEN {is_last} AND {nth} < 5 THEN {{rare}} WHEN {of} >= {late} THEN {{late}} ELSE {{usual}} END"
    )
    native = f"({is_last} AND {nth} = 19)"
    multiply(
        one,
        numbers(case_studies * CONFIGURATIONS),
        case_study_id=f"{first} + {of}",
        slug=f"'c' || {nth}",
        hypervisor_id=f"CASE WHEN {native} THEN NULL ELSE {late_or_last.format(rare=esxi, late=xen, usual=kvm)} END",
        virtualisation=f"CASE WHEN {native} THEN 'none' ELSE 'full' END",
        guest_fs_id=f"CASE WHEN {native} THEN NULL ELSE {late_or_last.format(rare=btrfs, late=xfs, usual=ext4)} END",
        host_fs_id=late_or_last.format(rare=btrfs, late=xfs, usual=ext4),
        backend=f"CASE WHEN {native} THEN '' WHEN {is_last} AND {nth} < 5 THEN 'nfs' ELSE 'file' END",
    )
    first_configuration = Configuration.objects.get(case_study_id=first, slug="c0").pk

    usual = [factories.make_variant("varmail", parameters={"number": n}) for n in range(LOADS)]
    late_ones = [factories.make_variant("webserver", parameters={"number": n}) for n in range(LOADS)]
    rare = factories.make_variant("fileserver", benchmark="fio")
    keys = [variant.pk for variant in (*usual, *late_ones)]
    assert keys == list(range(keys[0], keys[0] + len(keys)))
    count = case_studies * ROWS
    of = f"(i / {ROWS})"
    load = f"(i / {REPETITIONS} % {LOADS})"
    is_rare = f"({of} = {case_studies - 1} AND {load} = 0)"
    multiply(
        factories.make_measurement(configuration=one, variant=usual[0]),
        numbers(count),
        configuration_id=f"{first_configuration} + i / {LOADS * REPETITIONS}",
        variant_id=f"CASE WHEN {is_rare} THEN {rare.pk} WHEN {of} >= {late} THEN {keys[LOADS]} + {load} "
        f"ELSE {keys[0]} + {load} END",
        repetition=f"1 + i % {REPETITIONS}",
        metric=f"CASE WHEN {is_rare} THEN 'latency' ELSE 'throughput' END",
        unit=f"CASE WHEN {is_rare} THEN 'ms' ELSE 'MiB/s' END",
        operation=f"CASE WHEN {is_rare} THEN 'read' WHEN {of} >= {late} THEN 'write' ELSE 'mixed' END",
        vm_count=f"CASE WHEN {is_rare} THEN 3 WHEN {of} >= {late} THEN 2 ELSE 1 END",
        block_size_bytes=f"CASE WHEN {is_rare} THEN 4096 WHEN {of} >= {late} THEN 8192 ELSE NULL END",
        quality=f"CASE WHEN {is_rare} THEN 'digitised' ELSE 'exact' END",
        excluded_because=f"CASE WHEN {is_rare} THEN 'a burst' ELSE '' END",
        excluded_by=f"CASE WHEN {is_rare} THEN 'source' ELSE '' END",
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return {"case_study": last, "variant": rare.pk}
