"""Answers kept before addresses named a method (0018) were what the address of each revision gave until a publication
touched them: their pins stand for all of these."""

import hashlib

from django.db import migrations, models
from django.db.models import Max

BEFORE = 9  # the first method that addresses named


def tell_until_when(apps, schema_editor) -> None:
    kept = apps.get_model("modelling", "RankingSnapshot").objects.filter(revision__gt=0, method__lt=BEFORE)
    pinned = apps.get_model("modelling", "PinnedAnswer").objects
    latest = apps.get_model("experiments", "KnowledgeRevision").objects.aggregate(latest=Max("number"))["latest"]
    for question, revision, method, superseded_by in kept.values_list(
        "question", "revision", "method", "superseded_by"
    ):
        until = superseded_by - 1 if superseded_by else latest
        if until > revision:
            asked = hashlib.sha256(f"ranking|{question}".encode()).hexdigest()
            pinned.filter(asked=asked, revision=revision, method=method).update(until=until)


class Migration(migrations.Migration):

    dependencies = [
        ('modelling', '0018_pin_kept_answers'),
        ('experiments', '0001_initial'),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name='pinnedanswer',
            name='modelling_pinned_visitors',
        ),
        migrations.AddField(
            model_name='pinnedanswer',
            name='is_combined',
            field=models.BooleanField(db_default=False, default=False, help_text='A comparison or mix, which take a share of that room.'),
        ),
        migrations.AddField(
            model_name='pinnedanswer',
            name='until',
            field=models.PositiveIntegerField(blank=True, help_text='Last revision at which it was the answer; empty: at `revision` alone.', null=True),
        ),
        migrations.AddIndex(
            model_name='pinnedanswer',
            index=models.Index(fields=['is_visitors', 'is_combined'], name='modelling_pinned_room'),
        ),
        migrations.RunPython(tell_until_when, migrations.RunPython.noop),
    ]
