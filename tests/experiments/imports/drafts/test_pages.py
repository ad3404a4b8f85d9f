"""The page of an import: what is offered there, and what becomes of it only where somebody says so."""

from pathlib import Path

import pytest
from django.utils.html import escape
from django.utils.timezone import now

from experiments.imports import pipeline
from experiments.models import ImportBatch, Workload
from kdb.models import Job
from tests.experiments.imports.test_pipeline import FILEBENCH, SYSBENCH, TABLE, draft, rows, upload, worked  # noqa: F401
from tests.factories import make_case_study, make_user

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
    assert "raid10: disks are stated once" in page
    assert batch.answers["files"] == {}
    fields = {"do": "correct", "host_fs": "ext4", "vm_count": "1"}
    client.post(address, fields)
    assert worked(batch).state == State.FAULTY  # no configuration: nothing was applied unasked
    client.post(address, fields | {"hint-kvm": "hypervisor", "hint-btrfs": "guest_fs"})
    assert worked(batch).state == State.READY, batch.report
    assert batch.report["new_configurations"] == ["kvm-btrfs-on-ext4"]
    client.post(address, fields | {"hint-kvm": "hypervisor"})
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


def test_what_a_file_says_of_its_machine_is_listed_and_fills_the_form(receive, client):
    qm, settings = (
        (Path(__file__).parents[3] / f"data/facts/{name}.txt").read_text() for name in ("qm", "kdb-settings")
    )
    page = client.get(f"/imports/{receive(qm__txt=qm, settings__txt=settings).pk}/").content.decode()
    assert "facts of the machine" in page
    assert "scsi0: cache mode writeback" in page
    assert 'value="writeback"' in page
    assert "Not seen on the machine: lvs, because the program is not here." in page
    assert '<option value="zvol" selected>' in page


def test_the_parts_of_a_file_are_described_on_the_page(receive, client):
    batch = receive(runs__txt=f"### ext4\n{SYSBENCH}### XFS\n{SYSBENCH}")
    address, (file,) = f"/imports/{batch.pk}/", batch.report["files"]
    part = f"part-{file['sha256'][:16]}"
    page = client.get(address).content.decode()
    assert "in runs.txt, from line 11: 1 run<" in page
    fields = {"do": "correct", "hypervisor": "kvm", "host_fs": "ext4", "vm_count": "1", "workload": "fileserver"}
    assert client.post(address, fields | {f"{part}-0-hypervisor": "nobody's"}).status_code == 422
    client.post(address, fields | {f"{part}-0-guest_fs": "ext4", f"{part}-1-leave_out": "on"})
    assert worked(batch).report["new_configurations"] == ["kvm-ext4-on-ext4"]
    client.post(address, fields | {f"{part}-0-guest_fs": "ext4", f"{part}-1-guest_fs": "xfs"})
    assert worked(batch).report["new_configurations"] == ["kvm-ext4-on-ext4", "kvm-xfs-on-ext4"]


def test_single_runs_of_a_file_are_told_apart_on_the_page(receive, client):
    batch = receive(runs__txt=SYSBENCH * 2)
    address, (file,) = f"/imports/{batch.pk}/", batch.report["files"]
    first, second = (f"run-{file['sha256'][:16]}-{run['line']}" for run in file["runs"])
    assert "Single runs of runs.txt" in client.get(address).content.decode()
    fields = {"do": "correct", "hypervisor": "kvm", "host_fs": "ext4", "guest_fs": "ext4", "vm_count": "1"}
    fields |= {"workload": "fileserver", f"{second}-guest_fs": "btrfs", f"{second}-operation": "random-read"}
    client.post(address, fields)
    assert worked(batch).report["new_configurations"] == ["kvm-ext4-on-ext4", "kvm-btrfs-on-ext4"]
    page = client.get(address).content.decode()
    assert f'name="{second}-guest_fs" value="btrfs"' in page
    assert client.post(address, fields | {f"{first}-vm_count": "123456"}).status_code == 422


def test_several_imports_are_confirmed_together_or_none_is(receive, draft, client):  # noqa: F811
    one, other = receive(a__csv=TABLE), receive(b__csv=TABLE.replace("10.5", "11"))
    wrong = receive(c__csv=TABLE.replace("XFS", "ZFS"))
    address, all_of_them = f"/drafts/{draft.slug}/imports/", [batch.pk for batch in (one, other, wrong)]
    answer = client.post(address, {"do": "confirm", "imports": all_of_them})
    assert answer.status_code == 409
    assert f"Import {wrong.pk} has errors to correct. Nothing was done." in answer.content.decode()
    assert client.post(address, {"do": "confirm"}).status_code == 422
    assert set(draft.imports.values_list("state", flat=True)) == {State.READY, State.FAULTY}
    client.post(address, {"do": "confirm-ready"})
    assert (worked(one).state, worked(other).state, len(rows(draft))) == (State.FILED, State.FILED, 10)
    client.post(address, {"do": "discard", "imports": [wrong.pk]})
    wrong.refresh_from_db()
    assert wrong.state == State.DISCARDED


def test_imports_of_other_drafts_are_not_reached_from_here(receive, client):
    theirs = receive(a__csv=TABLE)
    mine = make_case_study("mine", owner=make_user("researchers", username="bob"))
    client.force_login(mine.owner)
    answer = client.post("/drafts/mine/imports/", {"do": "discard", "imports": [theirs.pk]})
    assert answer.status_code == 422
    assert client.post("/drafts/lab/imports/", {"do": "discard", "imports": [theirs.pk]}).status_code == 404
    theirs.refresh_from_db()
    assert theirs.state == State.READY


def test_all_that_keeps_a_draft_from_being_submitted_is_listed_with_links(receive, draft, client):  # noqa: F811
    ready, faulty = receive(a__csv=TABLE), receive(b__csv=TABLE.replace("XFS", "ZFS"))
    page = client.get(f"/drafts/{draft.slug}/").content.decode()
    assert "Before it can be submitted" in page
    assert "no results are in the case study" in page
    for batch in (ready, faulty):
        assert f'<a href="/imports/{batch.pk}/">Open import {batch.pk}</a>' in page
    assert "Submit for review" not in page
    answer = client.post(f"/case-studies/{draft.slug}/submit/")
    assert answer.status_code == 409
    assert f"Import {ready.pk} is not finished: confirm it" in answer.content.decode()


def test_what_is_being_read_says_how_far_it_is(receive, draft, client):  # noqa: F811
    batch = receive(a__csv=TABLE)
    Job.objects.filter(pk=batch.job_id).update(state="running", finished_at=None, owner="w", heartbeat_at=now())
    Job.objects.filter(pk=batch.job_id).update(progress=3, total=12)
    ImportBatch.objects.filter(pk=batch.pk).update(state=State.READING)
    assert "3 of 12 files are read." in client.get(f"/imports/{batch.pk}/").content.decode()
    assert "1 of 1 imports is being read" in client.get(f"/drafts/{draft.slug}/").content.decode()
    Job.objects.filter(pk=batch.job_id).update(progress=5_000, total=0)
    assert "The files are read; 5,000 rows so far." in client.get(f"/imports/{batch.pk}/").content.decode()
