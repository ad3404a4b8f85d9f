"""Names that the next migration forbids become allowed ones; what is changed is printed.

Slugs that no page could be asked for (`axis`, `a-on-b`, capitals) get others, lists that hold something else than
they may lose it, and an alias that belongs to another entry goes.
"""

import re

from django.db import migrations

# As experiments.entry_names had them when this was written.
RESERVED = (
    *("axis", "workload", "hypervisor", "guest_fs", "host_fs", "vm_count", "storage", "benchmark"),
    *("guest_os_family", "grade", "as_of", "entries", "weights", "format"),
    *("any", "native", "new", "none", "unknown"),
)
CATALOGUE = ("Hypervisor", "FileSystem", "OperatingSystem", "Benchmark", "Workload")
TEXTS = (("Publication", "authors", 200), ("CaseStudy", "notes", 4_000))
WHOLE_NUMBERS = (("CaseStudy", "vm_counts"), ("PrintedRatio", "vm_counts"))


def repair(apps, schema_editor):
    for name in CATALOGUE:
        model = apps.get_model("experiments", name)
        for row in model.objects.order_by("pk"):
            change(row, slug=free_slug(model, row), aliases=texts_of(row.aliases, 80))
        rows = list(model.objects.order_by("pk"))
        for row in rows:
            taken = {fold(text) for other in rows if other.pk != row.pk for text in (other.slug, other.name)}
            taken |= {fold(text) for other in rows if other.pk < row.pk for text in other.aliases}
            change(row, aliases=[text for text in row.aliases if fold(text) and fold(text) not in taken])
    for name, field, longest in TEXTS:
        for row in apps.get_model("experiments", name).objects.order_by("pk"):
            change(row, **{field: texts_of(getattr(row, field), longest)})
    for name, field in WHOLE_NUMBERS:
        for row in apps.get_model("experiments", name).objects.order_by("pk"):
            change(row, **{field: whole_numbers_of(getattr(row, field))})


def change(row, **values):
    changed = {name: value for name, value in values.items() if getattr(row, name) != value}
    for name, value in changed.items():
        print(f"  {type(row).__name__} {row.pk}, {name}: {getattr(row, name)!r} becomes {value!r}")
        setattr(row, name, value)
    if changed:
        row.save(update_fields=list(changed))


def fold(name):
    return re.sub(r"[\s_.\-/()]+", "", name.casefold())


def free_slug(model, row):
    words = [word for word in re.sub("[^a-z0-9_-]", "-", row.slug.lower()).split("-") if word not in ("", "on")]
    stem = "-".join(words).lstrip("_") or "entry"
    if stem in RESERVED:
        stem = f"{stem}-entry"
    if row.slug == stem or is_allowed(row.slug):
        return row.slug
    slug, number = stem[:40], 1
    while model.objects.exclude(pk=row.pk).filter(slug=slug).exists():
        number += 1
        slug = f"{stem[:35]}-{number}"
    return slug


def is_allowed(slug):
    return bool(re.search(r"\A[a-z0-9][a-z0-9_-]*\Z", slug)) and "on" not in slug.split("-") and slug not in RESERVED


def texts_of(value, longest):
    texts = value if isinstance(value, list) else []
    return [text[:longest] for text in texts if isinstance(text, str) and text][:500]


def whole_numbers_of(value):
    numbers = value if isinstance(value, list) else []
    return [n for n in numbers if isinstance(n, int) and not isinstance(n, bool) and 0 <= n <= 32_767]


class Migration(migrations.Migration):
    dependencies = [("experiments", "0004_add_hosts_and_campaigns")]

    operations = [migrations.RunPython(repair, migrations.RunPython.noop, elidable=True)]
