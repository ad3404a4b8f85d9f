"""The page of an import: what is offered there, and what becomes of it only where somebody says so."""

import pytest
from django.utils.html import escape

from experiments.imports import pipeline
from experiments.models import ImportBatch, Workload
from tests.experiments.imports.test_pipeline import FILEBENCH, TABLE, draft, rows, upload, worked  # noqa: F401

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]
State = ImportBatch.State


@pytest.fixture(autouse=True)
def _catalogue(published_evidence):
    """The names that files use."""


@pytest.fixture
def receive(draft, client):  # noqa: F811
    """Receives files by name, has them read, and signs their author in."""
    client.force_login(draft.owner)

    def received(**contents: str | bytes) -> ImportBatch:
        files = [upload(content, name.replace("__", ".")) for name, content in contents.items()]
        return worked(pipeline.receive(draft, files, user=draft.owner, door="browser")[0])

    return received


def test_what_a_file_name_says_is_offered_and_used_only_where_it_is_chosen(receive, client):
    batch = receive(kvm_btrfs_raid10__txt=FILEBENCH)
    address = f"/imports/{batch.pk}/"
    page = client.get(address).content.decode()
    assert "the guest file system Btrfs" in page
    assert "raid10: disks are said once" in page
    assert batch.answers["files"] == {}
    said = {"do": "correct", "host_fs": "ext4", "vm_count": "1"}
    client.post(address, said)
    assert worked(batch).state == State.FAULTY  # no configuration: nothing was applied unasked
    client.post(address, said | {"hint-kvm": "hypervisor", "hint-btrfs": "guest_fs"})
    assert worked(batch).state == State.READY, batch.report
    assert batch.report["new_configurations"] == ["kvm-btrfs-on-ext4"]
    client.post(address, said | {"hint-kvm": "hypervisor"})
    (said_of_file,) = [file["context"] for file in worked(batch).answers["files"].values()]
    assert said_of_file == {"hypervisor": "kvm"}


def test_a_strangers_load_becomes_a_new_workload_by_one_choice(receive, client):
    batch = receive(results__csv=TABLE.replace(",mail,", ",Quokka Mix 2,"))
    address = f"/imports/{batch.pk}/"
    assert "a new workload, called so" in client.get(address).content.decode()
    client.post(address, {"do": "correct", "name-0": "new"})
    assert worked(batch).report["new_names"] == [{"kind": "workload", "slug": "quokka-mix-2", "name": "Quokka Mix 2"}]
    page = client.get(address).content.decode()
    assert '<option value="new" selected>' in page
    client.post(address, {"do": "confirm"})
    assert worked(batch).state == State.FILED
    assert Workload.objects.get(slug="quokka-mix-2").is_draft


def test_a_foreign_column_is_ignored_on_the_page(receive, client):
    lines = TABLE.splitlines()
    batch = receive(results__csv="\n".join([lines[0] + ",<CPU>", *(f"{line},9" for line in lines[1:])]))
    address = f"/imports/{batch.pk}/"
    assert f"The column “{escape('<CPU>')}” is" in client.get(address).content.decode()
    client.post(address, {"do": "correct", "column-0": "ignore"})
    assert (worked(batch).state, batch.answers["columns"]) == (State.READY, {"<CPU>": "ignore"})
    assert client.post(address, {"do": "correct", "column-0": "vm_disk2"}).status_code == 422
