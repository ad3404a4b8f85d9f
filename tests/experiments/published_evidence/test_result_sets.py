"""Public result sets that are known and not in yet: read strictly, each with the reason, and linked from where people
look for more evidence."""

import json
from pathlib import Path

import pytest

from experiments.published_evidence import load as evidence
from experiments.published_evidence import studies
from experiments.published_evidence.files import EvidenceError
from experiments.published_evidence.result_sets import result_sets
from tests.factories import make_user

HEADING = "title,address,numbers,licence,would_answer,why_not\n"


def test_each_has_an_address_of_its_own_and_a_reason():
    addresses = [result_set.address for result_set in result_sets()]
    assert len(set(addresses)) == len(addresses) > 15
    assert all(result_set.why_not.endswith(".") for result_set in result_sets())


def test_one_of_a_source_that_is_in_says_what_is_in():
    """Else the same source would be offered though a case study holds it."""
    sources = studies.read(evidence.DIRECTORY / "outside", evidence.DIRECTORY).sources["publications"]
    known = {source.fields.get("address") for source in sources}
    again = [result_set for result_set in result_sets() if result_set.address in known]
    assert again
    assert all(" in" in result_set.why_not or "has the rest" in result_set.why_not for result_set in again)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (",https://example.org,1,,x,y", 'line 2, title: found ""'),
        ("x,http://example.org,1,,x,y", 'line 2, address: found "http://example.org", allowed is an address'),
        ("x,https://example.org,some,,x,y", 'line 2, numbers: found "some", allowed is a whole number'),
        ("x,https://example.org,1,,x,", 'line 2, why_not: found ""'),
    ],
)
def test_a_wrong_field_is_named_with_its_line(tmp_path: Path, line, message):
    path = tmp_path / "result_sets.csv"
    path.write_text(HEADING + line + "\n")
    with pytest.raises(EvidenceError) as error:
        result_sets(path)
    assert message in json.loads(json.dumps(str(error.value)))


@pytest.mark.django_db
def test_the_page_lists_them_and_is_linked_where_evidence_is_brought(client):
    text = client.get("/result-sets/").content.decode()
    assert all(f'href="{result_set.address}"' in text for result_set in result_sets())
    assert "not stated" in text  # a licence
    client.force_login(make_user("researchers"))
    for address in ("/drafts/", "/tables/new/", "/sources/"):
        assert 'href="/result-sets/"' in client.get(address).content.decode(), address
