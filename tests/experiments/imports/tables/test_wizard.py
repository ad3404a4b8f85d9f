"""The guided form of a published table: from paste to draft, step by step, and the same by its file."""

import re
from io import BytesIO

import pytest

from experiments.imports.tables import drafting, wizard
from experiments.imports.tables.conditions import conditions_of, read_conditions
from experiments.imports.tables.parsing import tables_in
from experiments.models import CaseStudy, Measurement, PastedTable
from tests.factories import make_user

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]

TABLE = """\
| Virtualizer | Pool | 4K rand read (kIOPS) | Seq read | Seq write |
|-------------|------|----------------------|----------|-----------|
| KVM         | ext4 | 145                  | 1.2 GB/s | 800 MB/s  |
| KVM         | bcachefs | 120-140          | 1.1 GB/s | 85 %      |
| Quokka VM   | ext4 | 98.5                 | n/a      | 600 MB/s  |
| Quokka VM   | bcachefs | 95               | 900 MB/s | +12 %     |
| total       |      | 463.5                |          |           |
"""
STEPS = {
    "columns": {
        "role-0": "hypervisor",
        "role-1": "host_fs",
        "role-2": "value",
        "unit-2": "kIOPS",
        "block_size_bytes-2": "4K",
        "operation-2": "random-read",
        "role-3": "value",
        "operation-3": "read",
        "role-4": "value",
        "operation-4": "write",
        "percent_of-4": ["Pool\text4"],
    },
    "everywhere": {
        "workload": "Burrow digging",
        "benchmark": "Marsupial Bench",
        "guest_fs": "ext4",
        "vm_count": "1",
        "parameters": "iodepth = 64",
        "decimal": ".",
    },
    "rows": {},
    "source": {
        "case_study-title": "Pools under Quokka VM",
        "case_study-slug": "quokka-pools",
        "storage-description": "Two NVMe disks",
        "storage-kind": "nvme",
        "source-title": "Which pool for quokkas?",
        "source-authors": "A. Quokka\nB. Wombat",
        "source-year": "2026",
        "source-address": "https://quokka.example/pools",
        "source-doi": "10.1000/182",
        "source-made_on": "2026-05-01",
        "source-read_on": "2026-11-25",
    },
}


@pytest.fixture(autouse=True)
def _catalogue(published_evidence):
    """The names that tables use."""


@pytest.fixture
def author(client):
    user = make_user("researchers", username="ada")
    client.force_login(user)
    return user


def paste(client, **given) -> PastedTable:
    response = client.post("/tables/new/", {"text": TABLE, **given})
    assert response.status_code == 302, response.content.decode()
    return PastedTable.objects.get()


def answer(client, kept: PastedTable, step: str, **changed) -> str:
    """Answer a step as a browser does: with what its page has, changed. Returns where it leads."""
    address = f"/tables/{kept.pk}/{step}/"
    form = client.get(address).context["form"]
    data = {name: form[name].value() or "" for name in form.fields} | changed
    response = client.post(address, data)
    assert response.status_code == 302, re.findall(
        r'field-error"[^>]*>([^<]*)|banner-bad"[^>]*>([^<]*)', response.content.decode()
    )
    kept.refresh_from_db()
    return response.url


def names(client, kept: PastedTable) -> dict[str, str]:
    """Return the answers to the step of names: everything that is not known is proposed."""
    form = client.get(f"/tables/{kept.pk}/names/").context["form"]
    answers = {}
    for row in form.name_rows:
        if not row["is_known"]:
            answers[row["field"].name] = "none" if row["word"] == "total" else "new"
            for field in row["new"]:
                wanted = {"kind": "type-2", "kernel_origin": "Linux", "virtual_device_origin": "its own"}
                answers[field.name] = field.value() or wanted.get(field.name.rpartition("-")[2], "")
    return answers


def walk(client, kept: PastedTable) -> None:
    answer(client, kept, "columns", **STEPS["columns"])
    answer(client, kept, "everywhere", **STEPS["everywhere"])
    answer(client, kept, "names", **names(client, kept))
    answer(client, kept, "source", **STEPS["source"])


def test_from_paste_to_draft(author, client):
    kept = paste(client)
    assert kept.conditions["columns"] == {"Virtualizer": "hypervisor", "Pool": "host_fs"}
    assert kept.conditions["values"]["4K rand read (kIOPS)"] == {
        "unit": "kIOPS",
        "block_size_bytes": "4K",
        "operation": "random-read",
    }
    walk(client, kept)
    page = client.get(f"/tables/{kept.pk}/").content.decode()
    assert "11 measurements would come in." in page
    file = client.get(f"/tables/{kept.pk}/conditions.toml").content
    response = client.post(f"/tables/{kept.pk}/", {"do": "draft"})
    assert response.status_code == 302, response.context["wrong"]
    draft = CaseStudy.objects.get(slug="quokka-pools")
    assert (draft.owner, draft.status, draft.storage.kind) == (author, "draft", "nvme")
    assert draft.publication.authors == ["A. Quokka", "B. Wombat"]
    assert draft.publication.is_draft
    measurements = Measurement.objects.filter(configuration__case_study=draft).order_by("pk")
    rates = [m for m in measurements if m.operation == "random-read"]
    assert [(m.line, m.value, m.unit, m.minimum, m.maximum) for m in rates] == [
        (3, 145_000, "ops/s", None, None),
        (4, 130_000, "ops/s", 120_000, 140_000),
        (5, 98_500, "ops/s", None, None),
        (6, 95_000, "ops/s", None, None),
    ]
    writes = [(m.configuration.hypervisor.slug, m.value) for m in measurements if m.operation == "write"]
    assert writes == [("kvm", 800), ("kvm", 680), ("quokka-vm", 600), ("quokka-vm", 672)]
    assert draft.raw_files.get().name == "pasted table.txt"
    assert client.get(f"/tables/{kept.pk}/").url == "/drafts/quokka-pools/"

    # The file says the same: with the table in place of answering, and to whoever reads it elsewhere.
    conditions = BytesIO(file.replace(b"quokka-pools", b"quokka-file"))
    again = PastedTable.objects.get(
        pk=int(client.post("/tables/new/", {"text": TABLE, "conditions": conditions}).url[8:-1])
    )
    assert client.post(f"/tables/{again.pk}/", {"do": "draft"}).url == "/drafts/quokka-file/"
    assert numbers("quokka-file") == numbers("quokka-pools")
    (table,) = tables_in(TABLE)
    assert (
        drafting.read_table(table, read_conditions(file.decode())).rows
        == drafting.read_table(table, conditions_of(kept.conditions)).rows
    )


def numbers(slug: str) -> list[tuple]:
    """Return everything that is filed of a case study's measurements."""
    fields = [
        field.name
        for field in Measurement._meta.concrete_fields
        if field.name not in ("id", "configuration", "raw_file")
    ]
    measurements = Measurement.objects.filter(configuration__case_study__slug=slug).order_by("pk")
    return list(measurements.values_list("configuration__slug", *fields))


@pytest.mark.nightly
def test_a_step_can_be_gone_back_to_and_says_what_was_said(author, client):
    kept = paste(client)
    walk(client, kept)
    conditions = kept.conditions
    for step in STEPS:
        answer(client, kept, step)
        assert kept.conditions == conditions, step
    answer(client, kept, "names")
    assert kept.conditions == conditions
    (again,) = client.get(f"/tables/{kept.pk}/rows/").context["form"].again
    answer(client, kept, "rows", **{again.name: "on"})
    assert "leave_out" not in wizard.document_of(wizard.toml_file(kept))
    assert "“total” is no hypervisor" not in str(kept.conditions)
    total = next(
        row["field"].name
        for row in client.get(f"/tables/{kept.pk}/names/").context["form"].name_rows
        if row["word"] == "total"
    )
    answer(client, kept, "names", **{total: "none"})
    assert kept.conditions["leave_out"] == [{"where": {"Virtualizer": "total"}, "reason": "“total” is no hypervisor."}]
    answer(client, kept, "columns", **{"role-1": "backend"})
    assert [entry["slug"] for entry in kept.conditions["new"]].count("bcachefs") == 1
