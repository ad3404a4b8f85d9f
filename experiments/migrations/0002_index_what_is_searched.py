"""An index of what the search reads of case studies, publications and claims: parts of words, by their trigrams.

PostgreSQL only, and only where its extension pg_trgm is to be had: without it the search reads every row. The
expressions are those of experiments.catalogue.search.find; a test holds the plan of a search against them.
"""

from django.contrib.postgres.indexes import GinIndex, OpClass
from django.db import migrations
from django.db.models import OrderBy, TextField, Value
from django.db.models.functions import Cast, Collate, Concat, Upper
from django.db.models.indexes import IndexExpression

SEARCHED = {
    "CaseStudy": ("title", "slug", "procedure", Cast("notes", TextField())),
    "Publication": ("title", "slug", Cast("authors", TextField()), "venue"),
    "Claim": ("code", "statement", "scope", "location"),
}


def _indexes(apps):
    for name, texts in SEARCHED.items():
        parts = [part for text in texts for part in (text, Value(" "))]
        searched = Upper(Concat(*parts, output_field=TextField()))
        yield (
            apps.get_model("experiments", name),
            GinIndex(OpClass(searched, name="gin_trgm_ops"), name=f"searched_{name.lower()}"),
        )


def add(apps, schema_editor):
    if schema_editor.connection.vendor != "postgresql":
        return
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'pg_trgm'")
        if cursor.fetchone() is None:
            return
        cursor.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
    IndexExpression.register_wrappers(OrderBy, OpClass, Collate)  # as the application django.contrib.postgres does
    for model, index in _indexes(apps):
        schema_editor.add_index(model, index)


def remove(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        for _, index in _indexes(apps):
            schema_editor.execute(f'DROP INDEX IF EXISTS "{index.name}"')


class Migration(migrations.Migration):
    dependencies = [("experiments", "0001_initial")]

    operations = [migrations.RunPython(add, remove)]
