"""Every door refuses names that no entry of the catalogue may have; one broken row takes no page down."""

import io
import json
import shutil
import zipfile

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from hypothesis import given
from hypothesis import strategies as st

from experiments.case_studies import bundles
from experiments.catalogue import services
from experiments.models import CaseStudy, FileSystem, Publication, Workload
from experiments.published_evidence.load import DIRECTORY
from experiments.rules import entry_names
from kdb.pairs import pair_key, pair_parts
from modelling.answer_pages.forms import MixForm
from modelling.evidence import names as names_of_questions
from modelling.evidence.forms import AskForm
from tests.factories import make_user

BAD_SLUGS = (
    "a-on-b",
    "on",
    "ext4-on",
    "on-ext4",
    "axis",
    "vm_count",
    "as_of",
    "native",
    "Ext4",
    "a:b",
    "a,b",
    "-a",
    "",
)
SPELLINGS = ("varmail", "VARMAIL", "Mail server", "mail_server", "mail", "Mail-Server")
SLUGS = st.text("ano-_1", min_size=1, max_size=8)


@pytest.mark.parametrize("slug", BAD_SLUGS)
def test_a_slug_that_addresses_or_keys_would_misread_is_refused(slug):
    assert "slug" in entry_names.faults(slug, "A name", (), {})


@given(SLUGS, SLUGS)
def test_a_pair_of_slugs_that_are_allowed_has_one_spelling(guest_fs, host_fs):
    if not any(entry_names.faults(slug, "A name", (), {}) for slug in (guest_fs, host_fs)):
        assert pair_parts(pair_key(guest_fs, host_fs)) == (guest_fs, host_fs)


def test_what_a_question_puts_beside_slugs_is_reserved(db):
    fields = AskForm().fields
    assert {name for name in fields if len(name) > 1} | {"as_of", "format", "native"} <= set(entry_names.RESERVED)


def test_a_name_that_another_entry_has_is_refused_at_every_door(published_evidence, client):
    client.force_login(make_user("", username="root", is_superuser=True, is_staff=True))
    for alias in (*SPELLINGS, "native", "--"):
        for aliases, name in (([alias], "Quiet"), ([], alias)):
            with pytest.raises(ValidationError, match=r"spelling of|hypervisor|letter"):
                Workload.objects.create(slug="quiet", name=name, aliases=aliases)
        with pytest.raises(services.EntryError):
            services.new_entry("workload", alias, {"slug": "quiet", "name": "Quiet"}, source="test")
        fields = {"slug": "quiet", "name": "Quiet", "aliases": json.dumps([alias])}
        answer = client.post("/admin/experiments/workload/add/", fields)
        assert answer.status_code == 200, alias
        assert not Workload.objects.filter(slug="quiet").exists(), alias
    Workload(slug="quiet", name="Quiet", aliases=["axis-"]).check_names()


def test_a_bad_slug_is_refused_at_every_door(published_evidence):
    for slug in BAD_SLUGS:
        with pytest.raises(ValidationError):
            FileSystem.objects.create(slug=slug, name="A file system")
        with pytest.raises(services.EntryError, match="slug"):
            services.new_entry("file_system", "A file system", {"slug": slug, "name": "A file system"}, source="test")


def test_aliases_of_another_shape_are_never_written(published_evidence):
    for value in [[5], "varmail", {"a": 1}, None, [""], ["x" * 81], ["a"] * 501]:
        entry = Workload.objects.get(slug="varmail")
        entry.aliases = value
        with pytest.raises(ValidationError), transaction.atomic():
            entry.save()
        with pytest.raises(ValidationError), transaction.atomic():
            Workload.objects.update(aliases=value)
        with pytest.raises(ValidationError), transaction.atomic():
            Workload.objects.bulk_create([Workload(slug="quiet", name="Quiet", aliases=value)])
        if value is not None:  # of an empty one no form asks more
            with pytest.raises(ValidationError):
                entry.full_clean()


def changed_bundle(content: io.BytesIO, change) -> bytes:
    changed = io.BytesIO()
    with zipfile.ZipFile(content) as before, zipfile.ZipFile(changed, "w") as after:
        for name in before.namelist():
            data = before.read(name)
            if name == "case-study.json":
                document = json.loads(data)
                document["case_study"]["slug"] = "p1-again"
                change(document)
                data = json.dumps(document).encode()
            after.writestr(name, data)
    return changed.getvalue()


def _nested(depth: int) -> dict:
    inner: dict = {}
    for _ in range(depth):
        inner = {"all": [inner]}
    return inner


NEW = {"slug": "quiet", "name": "Quiet"}
BUNDLES = {
    "aliases": lambda d: d["catalogue"]["workloads"].append({**NEW, "aliases": [5]}),
    "authors": lambda d: d["publications"][0].update(slug="p1-again", authors=[1]),
    "vm_counts": lambda d: d["case_study"].update(vm_counts=["two"]),
    "notes": lambda d: d["case_study"].update(notes=[[]]),
    "axis": lambda d: d["catalogue"]["workloads"].append({**NEW, "slug": "axis"}),
    "a-on-b": lambda d: d["catalogue"]["file_systems"].append({**NEW, "slug": "a-on-b"}),
    "varmail": lambda d: d["catalogue"]["workloads"].append({**NEW, "aliases": ["varmail"]}),
    "Mail server": lambda d: d["catalogue"]["workloads"].append({**NEW, "name": "Mail server"}),
    "gone": lambda d: d["claims"][0].update(code="X.1", workloads=["gone"]),
    r"U\+0000": lambda d: d["case_study"].update(title="\0"),
    "surrogates": lambda d: d["case_study"].update(title="\ud800"),
    "NaN": lambda d: d["storage"].update(sequential_read_limit=float("nan")),
    "308 digits": lambda d: d["storage"].update(sequential_read_limit=10**399),
    "nested more than": lambda d: d["claims"][0].update(checks=_nested(300)),
}


def test_a_bundle_with_what_a_page_could_not_show_is_refused_with_a_sentence(published_evidence):
    content = io.BytesIO()
    bundles.export(CaseStudy.objects.get(slug="p1"), content)
    for words, change in BUNDLES.items():
        with pytest.raises(bundles.BundleError, match=words):
            bundles.import_bundle(changed_bundle(content, change), user=None, door="command")


@pytest.mark.parametrize(
    ("section", "change", "words"),
    [
        ("workloads", {"aliases": [5]}, "a list of at most 500 texts"),
        ("workloads", {"slug": "axis"}, "'axis' is a word"),
        ("file_systems", {"slug": "a-on-b"}, "joins two file systems"),
        ("workloads", {"aliases": ["varmail"]}, "'varmail' is a spelling of"),
    ],
)
def test_load_evidence_refuses_it_with_its_place(db, tmp_path, section, change, words):
    shutil.copytree(DIRECTORY, tmp_path, dirs_exist_ok=True)
    catalogue = json.loads((tmp_path / "catalogue.json").read_text())
    catalogue[section].append({"slug": "quiet", "name": "Quiet", **change})
    (tmp_path / "catalogue.json").write_text(json.dumps(catalogue))
    with pytest.raises(CommandError, match=words):
        call_command("load_evidence", str(tmp_path), verbosity=0)


def test_one_row_that_is_broken_in_the_database_takes_no_page_down(published_evidence, client, caplog):
    with connection.cursor() as cursor:
        cursor.execute("UPDATE experiments_workload SET aliases = '[5]' WHERE slug = 'fileserver'")
        cursor.execute("UPDATE experiments_workload SET aliases = 'null' WHERE slug = 'atto'")
        cursor.execute("""UPDATE experiments_workload SET aliases = '["varmail"]' WHERE slug = 'webserver'""")
        cursor.execute("UPDATE experiments_publication SET authors = '[1]'")
    names_of_questions.clear_cache()
    for address in ("/", "/?axis=hypervisor&workload=varmail", "/knowledge/", "/case-studies/p1/", "/search/?q=zfs"):
        assert client.get(address, follow=True).status_code == 200, address
    assert client.get("/api/v1/rankings/hypervisor/?workload=varmail").json()["entries"]
    assert client.get("/api/v1/publications/").json()["results"][0]["authors"] == []
    assert "Workload.aliases has a shape that is not allowed: [5]" in caplog.text
    assert Publication.objects.first().authors == []


def test_questions_filters_and_imports_read_a_name_alike(published_evidence, client):
    names = entry_names.Names(services.spellings(CaseStudy.objects.first()))
    for written in SPELLINGS:
        assert names.find("workload", written) == "varmail", written
        assert names_of_questions.slug_for("workload", written) == "varmail", written
    written = "Mail-Server"
    ranking = client.get("/api/v1/rankings/hypervisor/", {"workload": written, "guest_fs": "XFS"})
    assert ranking.json()["question"]["workload"] == "varmail"
    page = client.get("/", {"axis": "hypervisor", "workload": written}, follow=True)
    assert page.request["QUERY_STRING"] == "axis=hypervisor&workload=varmail"
    assert client.get("/api/v1/findings/", {"workload": written}).json()["results"]
    listed = client.get("/case-studies/", {"workload": written})
    assert 'value="varmail" selected' in listed.content.decode()
    assert client.get("/api/v1/mixes/", {"axis": "hypervisor", "weights": f"{written}:1"}).json()["weights"]


def test_an_entry_made_from_the_mix_page_never_hides_a_field(published_evidence):
    of_a_question = set(AskForm().fields) - {"workload"}
    workloads = set(names_of_questions.names()["workload"])
    assert set(MixForm().fields) == of_a_question | workloads
    assert not of_a_question & workloads
