"""The keys that hosts name already: each is its first host's operator's."""

from django.db import migrations


def bind(apps, schema_editor):
    Host, PrivateKey = (apps.get_model("experiments", name) for name in ("Host", "PrivateKey"))
    owners = {}
    for name, owner in Host.objects.exclude(address="").order_by("pk").values_list("key_name", "registered_by"):
        owners.setdefault(name, owner)
    PrivateKey.objects.bulk_create(PrivateKey(name=name, owner_id=owner) for name, owner in owners.items())


class Migration(migrations.Migration):
    dependencies = [("experiments", "0011_add_private_keys")]

    operations = [migrations.RunPython(bind, migrations.RunPython.noop)]
