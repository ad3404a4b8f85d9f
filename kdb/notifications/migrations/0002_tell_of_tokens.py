"""Whoever is told of anything is told, too, when a token of theirs comes from a new network, until they choose not to."""

from typing import Any

from django.db import migrations

TOPIC = "token"


def add_topic(apps: Any, schema_editor: Any) -> None:
    for subscription in apps.get_model("notifications", "Subscription").objects.exclude(topics=[]):
        if TOPIC not in subscription.topics:
            subscription.topics.append(TOPIC)
            subscription.save(update_fields=["topics"])


def remove_topic(apps: Any, schema_editor: Any) -> None:
    for subscription in apps.get_model("notifications", "Subscription").objects.all():
        if TOPIC in subscription.topics:
            subscription.topics.remove(TOPIC)
            subscription.save(update_fields=["topics"])


class Migration(migrations.Migration):
    dependencies = [("notifications", "0001_initial")]

    operations = [migrations.RunPython(add_topic, remove_topic)]
