"""The sources of the published evidence: called by words, dated, and to be found, or it is said why not."""

import io
from datetime import date

import pytest
from django.core.validators import URLValidator
from django.urls import reverse

from experiments.case_studies import bundles
from experiments.models import ImportBatch, Publication
from experiments.published_evidence import load as evidence
from experiments.published_evidence import studies
from experiments.published_evidence.files import read_json
from tests.factories import make_case_study, make_publication, publish

PAPERS = read_json(evidence.DIRECTORY / "case_studies.json", [*evidence.SOURCES, "case_studies"])
OTHERS = studies.read(evidence.DIRECTORY / "outside", evidence.DIRECTORY).sources
PUBLICATIONS = [entry.fields for source in (PAPERS, OTHERS) for entry in source["publications"]]
CASE_STUDIES = [entry.fields for source in (PAPERS, OTHERS) for entry in source["case_studies"]]


def test_all_are_looked_at():
    assert (len(PUBLICATIONS), len(CASE_STUDIES)) == (5 + 61, 7 + 62)


def test_a_title_is_words_and_no_slug():
    for fields in [*PUBLICATIONS, *CASE_STUDIES]:
        slug, title = fields["slug"], fields["title"].lower()
        assert not title.startswith((slug, slug.replace("_", " ")))
        assert "_" not in title
        assert "stored" not in title


def test_each_source_has_a_year_or_the_reason_why_none_is_known():
    for publication in PUBLICATIONS:
        assert publication.get("year") or "year" in publication["note"].lower(), publication["slug"]


def test_an_address_can_be_followed_or_it_is_said_why_not():
    for publication in PUBLICATIONS:
        if address := publication.get("address"):
            URLValidator(schemes=["https", "http"])(address)
        else:
            assert "No address" in publication["note"], publication["slug"]
        assert "github:" not in str(publication)


def test_what_was_measured_again_says_so():
    (notes,) = [fields["notes"] for fields in CASE_STUDIES if fields["slug"] == "ibm_roks_kubevirt"]
    assert any("measured again in May 2026" in note for note in notes)


@pytest.mark.django_db
def test_the_page_of_knowledge_and_the_api_say_where_a_source_is(client):
    paper = make_publication(
        "paper",
        title="A paper on disks",
        doi="10.1000/182",
        address="https://example.org/paper",
        archive_address="https://archive.example.org/1",
        read_on="2026-11-20",
        note="The year is not in the text.",
    )
    publish(make_case_study("lab", publication=paper))

    page = client.get(reverse("knowledge")).content.decode()

    for address in ("https://doi.org/10.1000/182", "https://example.org/paper", "https://archive.example.org/1"):
        assert f'<a href="{address}" rel="noopener noreferrer">' in page
    assert "Read on 2026-11-20." in page
    assert "The year is not in the text." in page
    row = client.get("/api/v1/publications/paper/").json()
    told = {name: row[name] for name in ("doi", "address", "archive_address", "read_on", "year")}
    assert told == {
        "doi": "10.1000/182",
        "address": "https://example.org/paper",
        "archive_address": "https://archive.example.org/1",
        "read_on": "2026-11-20",
        "year": None,
    }
    cited = client.get("/case-studies/lab/citation.bib").content.decode()
    assert "doi = {10.1000/182}," in cited
    assert "url = {https://example.org/paper}," in cited


@pytest.mark.django_db
def test_a_bundle_brings_where_a_source_is():
    told = {"address": "https://example.org/paper", "doi": "10.1000/182", "read_on": date(2026, 11, 20)}
    study = make_case_study("lab", publication=make_publication("paper", authors=["Ada"], **told))
    bundle = io.BytesIO()
    bundles.export(study, bundle)
    study.delete()
    Publication.objects.all().delete()

    brought, _ = bundles.import_bundle(bundle.getvalue(), user=None, door=ImportBatch.Door.COMMAND)

    assert Publication.objects.values(*told).get(case_studies=brought) == told
