"""Search over everything visible, and how a case study is cited."""

import pytest
from django.db import connection

from experiments.catalogue.search.find import KINDS, LONGEST, search
from experiments.models import FileSystem
from tests.factories import entry, make_case_study, make_publication, revision

pytestmark = [pytest.mark.both, pytest.mark.django_db]


def titles(text: str) -> list[str]:
    return [hit.title for hit in search(text)]


def kinds(text: str) -> set[str]:
    return {hit.kind for hit in search(text)}


def test_every_kind_is_found(published_evidence):
    assert kinds("ext4") >= {"File system", "Case study", "Claim"}
    assert "KVM" in titles("kvm")
    assert "Workload" in kinds("varmail")
    assert "Publication" in kinds("Đorđević")


def test_all_words_must_fit(published_evidence):
    both = [hit for hit in search("btrfs mail") if hit.kind != "Answer"]
    assert {hit.address for hit in both} <= {hit.address for hit in search("btrfs")}
    assert [hit for hit in search("btrfs quantumfoam") if hit.kind != "Answer"] == []


def test_a_hit_leads_to_its_page(published_evidence, client):
    for hit in search("xfs")[:30]:
        assert client.get(hit.address.partition("#")[0]).status_code == 200, hit


def test_nobody_finds_drafts():
    make_case_study("secret", title="A secret laboratory")
    assert titles("secret") == []


def test_a_retracted_case_study_is_found_and_marked(client):
    make_case_study(
        "old",
        **{"title": "An old laboratory", "status": "retracted", "retraction_reason": "wrong disk"},
        published_revision=revision(1),
        retracted_revision=revision(2),
    )
    hits = [(hit.title, hit.is_retracted) for hit in search("laboratory") if hit.kind == "Case study"]
    assert hits == [("An old laboratory", True)]
    assert "counts no longer</span>" in client.get("/search/?q=laboratory").content.decode()


def test_any_text_can_be_searched(published_evidence, client):
    for text in ["", "   ", "%", "'", '"', "\\", "a" * 5000, "\x00", "- - -", '"unclosed', "or or", "😀", ":*"]:
        search(text)
        assert client.get("/search/", {"q": text}).status_code == 200, text


# Held on SQLite and on PostgreSQL: the same rows, whichever searches. Counted by hand in fixtures/ where not told.
@pytest.mark.parametrize(
    ("text", "kind", "found"),
    [
        ("varmail", "Workload", ["Mail server"]),
        ("VARMAIL mail", "Workload", ["Mail server"]),
        ("filebench", "Benchmark", ["Filebench"]),
        ("fair-play group", "Glossary", ["Fair-play group"]),
        ("bare metal", "Workload", []),
    ],
)
def test_the_same_is_found_on_every_database(published_evidence, text, kind, found):
    assert [hit.title for hit in search(text) if hit.kind == kind] == found


def test_parts_of_words_phrases_and_exclusions():
    published = {"status": "published", "published_revision": revision(1)}
    for title in ("Mail servers under load", "Under a load of mail", "Đorđević’s disk"):
        make_case_study(f"study-{len(title)}", title=title, **published)
    assert titles("ail erver") == ["Mail servers under load"]
    assert titles('"under load"') == ["Mail servers under load"]
    assert titles("mail -servers") == ["Under a load of mail"]
    assert titles("đorđević") == titles("ĐORĐEVIĆ") == ["Đorđević’s disk"]
    assert titles("-mail") == []


def test_a_name_comes_before_a_mention():
    first = make_case_study("one", title="A", procedure="zonal", status="published", published_revision=revision(1))
    make_case_study("two", title="Zonal disks", status="published", published_revision=first.published_revision)
    assert titles("zonal") == ["Zonal disks", "A"]


def test_names_in_lists_are_found_with_any_letters():
    publication = make_publication("p9", title="T", authors=["Ada Đorđević"])
    make_case_study("lab", publication=publication, status="published", published_revision=revision(1))
    assert "T" in titles("Đorđević")


@pytest.mark.postgresql
@pytest.mark.parametrize("label", ["Case study", "Publication", "Claim"])
def test_postgresql_looks_into_its_index_for_a_word(label):
    """The planner may not read the whole of these empty tables, so the plan names the index if the query can use it."""
    kind = next(kind for kind in KINDS if kind.label == label)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_indexscan = off")
    plan = kind.model.objects.annotate(searched=kind.searched).filter(searched__icontains="varmail").explain()
    assert f"searched_{kind.model.__name__.lower()}" in plan


def test_signs_are_letters_here_and_not_patterns():
    entry(FileSystem, "ext4")
    assert titles("_xt4") == []
    assert titles("%") == []


def test_it_costs_a_query_a_kind_two_for_machines_and_ten_for_answers(
    published_evidence, client, django_assert_max_num_queries
):
    with django_assert_max_num_queries(8 + 2 + 10):
        client.get("/search/", {"q": "ext4"})


def test_only_the_query_that_depends_on_machines_is_written_anew(published_evidence, sql_written):
    search("ext4 -mail")
    sql_written.clear()
    search("varmail -xfs")
    assert sql_written == ["experiments_server", "experiments_storage", "experiments_casestudy"]


def test_what_is_shown_is_escaped(published_evidence, client):
    page = client.get("/search/", {"q": "<script>alert(1)</script>"}).content.decode()
    assert "<script>alert" not in page
    assert len(page) < 20_000 + LONGEST


# Citations


def test_a_case_study_is_cited_with_its_publication(client):
    publication = make_publication("p9", title="Disks & 100 % load", authors=["Ada L.", "Bob_C"], year=2026)
    make_case_study("lab", title="A {lab}", publication=publication, status="published", published_revision=revision(4))
    text = client.get("/case-studies/lab/citation.bib").content.decode()
    assert "@misc{kdb-lab," in text
    assert r"title = {A \{lab\}}," in text
    assert "url = {http://testserver/case-studies/lab/}," in text
    assert "note = {Knowledge revision 4}," in text
    assert r"author = {Ada L. and Bob\_C}," in text
    assert r"title = {Disks \& 100 \% load}," in text
    assert "howpublished = {}" not in text
    assert text.count("{") - text.count(r"\{") == text.count("}") - text.count(r"\}")


def test_a_draft_is_not_cited(client):
    make_case_study("lab")
    assert client.get("/case-studies/lab/citation.bib").status_code == 404
