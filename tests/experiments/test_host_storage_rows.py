"""The catalogue's rows of host storage: what the migration makes of a filled database."""

from importlib import import_module

import pytest
from django.apps import apps

from experiments.models import HostStorage, Hypervisor
from tests.factories import STORAGES, make_configuration, publish

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]
migration = import_module("experiments.migrations.0008_keep_host_storage")


def test_a_filled_database_gets_the_known_words_and_keeps_the_proposed_ones():
    make_configuration(hypervisor="docker", backend="lvm", host_fs=None)
    make_configuration(backend="quokka", host_fs=None)
    publish(make_configuration(backend="mayastor", host_fs="ext4").case_study)
    HostStorage.objects.all().delete()

    migration.fill(apps, None)

    rows = {row.slug: row for row in HostStorage.objects.all()}
    assert rows.keys() == {"quokka", "mayastor", *(row["slug"] for row in STORAGES)}
    assert (rows["lvm"].name, rows["lvm"].kind, rows["lvm"].is_draft) == ("LVM volume", "volume", False)
    assert (rows["quokka"].name, rows["quokka"].kind, rows["quokka"].is_draft) == ("quokka", "", True)
    assert (rows["mayastor"].kind, rows["mayastor"].is_draft) == ("managed", False)  # it has a file system
    assert rows["openebs-mayastor"].aliases == []  # a spelling means one entry
    assert Hypervisor.objects.get(slug="docker").family == "containers"
    for row in rows.values():
        row.full_clean()


def test_a_new_database_gets_its_words_with_the_catalogue():
    migration.fill(apps, None)
    assert not HostStorage.objects.exists()


def test_the_words_of_the_migration_are_those_of_the_catalogue():
    in_file = {
        row["slug"]: (row["name"], *(row.get(name, "") for name in ("kind", "reach", "family")), row["aliases"])
        for row in STORAGES
    }
    assert {slug: tuple(row) for slug, *row in migration.ROWS} == in_file
