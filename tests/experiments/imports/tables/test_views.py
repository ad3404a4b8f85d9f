"""Who may do what to a table on its way, and what is refused: by page and by the API."""

import io
import os
import socket
import time
import zipfile
from pathlib import Path

import openpyxl
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from experiments.imports.tables import wizard
from experiments.models import CaseStudy, PastedTable
from experiments.readers import reading_process
from tests.factories import make_token, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]

TABLE = "Cache mode,IOPS,Remark\nnone,145k,\nwriteback,many,slow\n"


@pytest.fixture
def author(client):
    user = make_user("researchers", username="ada")
    client.force_login(user)
    return user


def paste(client, text: str = TABLE, **given):
    return client.post("/tables/new/", {"text": text, **given})


def test_a_table_on_its_way_is_its_owners_alone(client, author):
    leads_to = paste(client).url
    kept = PastedTable.objects.get()
    assert leads_to == f"/tables/{kept.pk}/columns/"
    addresses = [f"/tables/{kept.pk}/{rest}" for rest in ("", "columns/", "table/", "conditions.toml")]
    assert [client.get(address).status_code for address in addresses] == [200] * 4
    assert "pasted table.txt" in client.get("/drafts/").content.decode()
    client.force_login(make_user("administrators"))
    assert [client.get(address).status_code for address in addresses] == [404] * 4
    assert client.post(f"/tables/{kept.pk}/", {"do": "forget"}).status_code == 404
    client.force_login(make_user(""))
    assert [client.get(address).status_code for address in (*addresses, "/tables/new/")] == [403] * 5
    client.logout()
    assert {client.get(address).status_code for address in (*addresses, "/tables/new/")} == {302}
    client.force_login(author)
    assert client.get(f"/tables/{kept.pk}/nothing/").status_code == 404
    client.post(f"/tables/{kept.pk}/", {"do": "forget"})
    assert not PastedTable.objects.exists()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"text": "no table"}, "There is no table in it"),
        ({"text": "a,b,c\n1,2,3\n1,2\n"}, "line 3: 2 cells, where the headings are 3."),
        ({"text": ""}, "Paste a table, or choose a file"),
        ({"conditions": io.BytesIO(b"[column]\na = 1")}, "found the key &#x27;column&#x27;"),
        ({"conditions": io.BytesIO(b"\xff")}, "It is no UTF-8 text."),
    ],
)
def test_what_is_refused_is_told_and_nothing_is_kept(client, author, given, told):
    response = paste(client, **{"text": TABLE, **given})
    assert response.status_code == 422
    assert told in response.content.decode()
    assert not PastedTable.objects.exists()


def test_of_several_tables_one_is_chosen_and_another_later(client, author):
    paste(client, f"First\n\n{TABLE}\nSecond\n\nFS,MiB/s\next4,5\n")
    kept = PastedTable.objects.get()
    address = f"/tables/{kept.pk}/table/"
    assert client.get(f"/tables/{kept.pk}/columns/").url == address
    assert client.post(address, {"number": "7"}).status_code == 422
    client.post(address, {"number": "0"})
    kept.refresh_from_db()
    assert kept.conditions["columns"] == {"Cache mode": "cache_mode", "Remark": "note"}
    client.post(address, {"number": "1"})
    kept.refresh_from_db()
    assert (kept.conditions["columns"], kept.number) == ({"FS": "host_fs"}, 1)


def test_errors_stand_at_their_row_and_nobody_keeps_more_than_some(client, author, monkeypatch):
    paste(client)
    kept = PastedTable.objects.get()
    page = client.get(f"/tables/{kept.pk}/rows/").context["page"]
    assert [(row.line, [error.field for error in row.errors]) for row in page.rows][1] == (3, ["IOPS"])
    assert client.post(f"/tables/{kept.pk}/", {"do": "draft"}).status_code == 422
    assert not CaseStudy.objects.exists()
    monkeypatch.setattr(wizard, "MAX_PENDING", 1)
    assert "finish or forget one of them" in paste(client).content.decode()


def test_the_step_of_columns_shows_the_table_with_what_cannot_be_read_marked(client, author):
    paste(client, "FS,1 thread,8 threads\next4,5,many\nxfs,6,9\n")
    address = f"/tables/{PastedTable.objects.get().pk}/columns/"
    sent = {"role-0": "host_fs", "role-1": "value", "unit-1": "MiB/s", "role-2": "value", "unit-2": "MiB/s"}

    refused = client.post(address, {**sent, "parameters-1": "threads"})
    assert "Like threads = 8" in refused.content.decode()
    client.post(address, {**sent, "parameters-1": "threads = 1", "parameters-2": "threads = 8", "do": "stay"})

    page = client.get(address)
    assert "many" in [cell for cell, why in page.context["rows"][0] if why]
    assert page.context["form"]["parameters-2"].value() == "threads = 8"
    assert '<td class="is-wrong" title="found many, allowed is a number' in page.content.decode()


def test_the_api_names_every_error_by_line_and_heading(client, author):
    conditions = '[case_study]\nslug = "a"\ntitle = "A"\n[columns]\n"Cache mode" = "cache_mode"\n'
    headers = {"authorization": f"Bearer {make_token(author, ('import',))}"}
    client.logout()

    def sent(**fields):
        return client.post("/api/v1/published-tables/", fields, headers=headers)

    response = sent(table=TABLE, conditions=conditions)
    assert response.status_code == 422
    errors = {(error["field"], error.get("line")) for error in response.json()["errors"]}
    assert {("IOPS", 3), ("storage.description", None)} <= errors
    assert sent(table=TABLE).json()["errors"][0]["field"] == "conditions"
    assert sent(table="no table", conditions=conditions).json()["errors"][0]["field"] == "table"
    assert sent(table=TABLE, conditions="[nothing]").json()["errors"][0]["field"] == "conditions"
    several = sent(table=f"{TABLE}\n\nFS,MiB/s\next4,5\n", conditions=conditions)
    assert several.json()["errors"][0]["field"] == "number"
    assert not CaseStudy.objects.exists()


# What costs much


def workbook(texts: int) -> SimpleUploadedFile:
    """Return a small file of a workbook with so many texts that its cells might share."""
    book, plain, packed = openpyxl.Workbook(), io.BytesIO(), io.BytesIO()
    for row in (("Cache mode", "IOPS"), ("none", 12)):
        book.active.append(row)
    book.save(plain)
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
    with zipfile.ZipFile(plain) as old, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            text = old.read(name).decode()
            if name == "[Content_Types].xml" and "sharedStrings" not in text:
                text = text.replace(
                    "</Types>", f'<Override PartName="/xl/sharedStrings.xml" ContentType="{kind}"/></Types>'
                )
            if name != "xl/sharedStrings.xml":
                new.writestr(name, text)
        main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
        new.writestr("xl/sharedStrings.xml", f'<sst xmlns="{main}">{"<si><t>a</t></si>" * texts}</sst>')
    return SimpleUploadedFile("a.xlsx", packed.getvalue())


def test_a_small_workbook_with_millions_of_texts_is_refused_unread(client, author):
    file = workbook(3_000_000)
    assert file.size < 300_000
    response = paste(client, text="", file=file)
    assert response.status_code == 422
    assert "3,000,000 shared texts, expected at most 1,000,000" in response.content.decode()
    assert not PastedTable.objects.exists()


def test_nothing_is_read_for_whoever_has_gone_away(client, author):
    ours, theirs = socket.socketpair()
    theirs.close()
    with ours:
        response = client.post("/tables/new/", {"file": workbook(900_000)}, **{"gunicorn.socket": ours})
    assert response.status_code == 400
    assert not PastedTable.objects.exists()
    server, _ = reading_process._servers[os.getpid()]
    children = Path(f"/proc/{server.pid}/task/{server.pid}/children")
    end = time.monotonic() + 30  # the server ends the reading; its child is gone soon after
    while children.read_text():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize("file", ["table", "conditions"])
def test_the_web_process_reads_none_of_it_itself(client, author, monkeypatch, file):
    def here(*given):
        pytest.fail("it was read in the web process")

    monkeypatch.setattr("experiments.imports.tables.parsing.tables_in", here)
    monkeypatch.setattr("tomllib.loads", here)
    leads_to = paste(client, conditions=io.BytesIO(b'[columns]\n"Cache mode" = "cache_mode"')).url
    assert client.get(leads_to).status_code == 200


def test_conditions_that_would_take_all_memory_are_refused(client, author, monkeypatch):
    monkeypatch.setattr(reading_process, "MEMORY_BYTES_OF_A_PAGE", 2**28)
    response = paste(client, conditions=io.BytesIO(b".".join([b"a"] * 30_000) + b"=1"))
    assert response.status_code == 422
    assert "found more than 256 MiB of memory, allowed is" in response.content.decode()
