from django.db import migrations
from django.db.models import Q


def _used_by(apps, model, case_studies):
    """Rows of the model that these case studies, or what belongs to them, refer to."""
    of = {
        "Configuration": Q(case_study__in=case_studies),
        "PrintedRatio": Q(case_study__in=case_studies),
        "OrdinalFinding": Q(case_studies__in=case_studies),
        "Claim": Q(case_studies__in=case_studies),
    }
    rows = {name: apps.get_model("experiments", name).objects.filter(asked) for name, asked in of.items()}
    variants = Q(pk__in=rows["PrintedRatio"].values("variant")) | Q(pk__in=rows["OrdinalFinding"].values("variant"))
    for name in ("Measurement", "DerivedValue"):
        numbers = apps.get_model("experiments", name).objects.filter(configuration__in=rows["Configuration"])
        variants |= Q(pk__in=numbers.order_by().values("variant").distinct())
    variants = apps.get_model("experiments", "WorkloadVariant").objects.filter(variants)
    used = Q(pk__in=[])
    for found in (case_studies, *rows.values(), variants):
        for field in (*found.model._meta.concrete_fields, *found.model._meta.many_to_many):
            if field.related_model is model:
                used |= Q(pk__in=found.order_by().values(field.name))
    return model.objects.filter(used)


def mark(apps, schema_editor):
    """Mark what unpublished case studies use and no other does.

    That holds for an entry of the published evidence that only a draft uses, too; load_evidence takes its mark away.
    """
    CaseStudy = apps.get_model("experiments", "CaseStudy")
    drafts = CaseStudy.objects.filter(status__in=["draft", "submitted"])
    others = CaseStudy.objects.exclude(status__in=["draft", "submitted"])
    for name in ("Publication", "Hypervisor", "FileSystem", "OperatingSystem", "Benchmark", "Workload"):
        model = apps.get_model("experiments", name)
        seen = _used_by(apps, model, others)
        found = _used_by(apps, model, drafts).exclude(pk__in=seen.values("pk"))
        model.objects.filter(pk__in=list(found.values_list("pk", flat=True))).update(is_draft=True)


class Migration(migrations.Migration):
    dependencies = [
        ("experiments", "0008_add_is_draft"),
    ]

    operations = [
        migrations.RunPython(mark, migrations.RunPython.noop),
    ]
