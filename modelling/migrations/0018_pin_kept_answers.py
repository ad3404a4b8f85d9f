"""Answers kept so far were shown with a permanent address, without a method: each is pinned, as the method of its time
gave it, beside the room for visitors."""

import hashlib
import json
import zlib

from django.db import migrations


def pin(apps, schema_editor) -> None:
    kept = apps.get_model("modelling", "RankingSnapshot").objects.filter(revision__gt=0)
    pinned = apps.get_model("modelling", "PinnedAnswer")
    rows = (
        pinned(
            asked=hashlib.sha256(f"ranking|{row.question}".encode()).hexdigest(),
            revision=row.revision,
            method=row.method,
            body=zlib.compress(json.dumps(row.result).encode()),
            given_at=row.computed_at,
            is_visitors=False,
        )
        for row in kept.iterator(chunk_size=100)
    )
    pinned.objects.bulk_create(rows, batch_size=100, ignore_conflicts=True)


class Migration(migrations.Migration):
    dependencies = [("modelling", "0017_add_pinned_answers")]

    operations = [migrations.RunPython(pin, migrations.RunPython.noop)]
