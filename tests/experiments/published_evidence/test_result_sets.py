"""Public result sets that are known and not in yet, each with the reason, and linked from where people
look for more evidence."""

import pytest

from experiments.published_evidence import load as evidence
from experiments.published_evidence import studies
from experiments.published_evidence.result_sets import result_sets
from tests.factories import make_user


def test_each_has_an_address_of_its_own_and_a_reason():
    addresses = [result_set.address for result_set in result_sets()]
    assert len(set(addresses)) == len(addresses) > 15
    for result_set in result_sets():
        assert result_set.address.startswith("https://")
        assert result_set.title.strip()
        assert result_set.would_answer.strip()
        assert result_set.why_not.endswith(".")
        assert not result_set.numbers or result_set.numbers.isdecimal()


def test_one_of_a_source_that_is_in_says_what_is_in():
    """Else the same source would be offered though a case study holds it."""
    sources = studies.read(evidence.DIRECTORY / "outside", evidence.DIRECTORY).sources["publications"]
    known = {source.fields.get("address") for source in sources}
    again = [result_set for result_set in result_sets() if result_set.address in known]
    assert again
    assert all(" in" in result_set.why_not or "has the rest" in result_set.why_not for result_set in again)


@pytest.mark.django_db
def test_the_page_lists_them_and_is_linked_where_evidence_is_brought(client):
    text = client.get("/result-sets/").content.decode()
    assert all(f'href="{result_set.address}"' in text for result_set in result_sets())
    assert "not stated" in text  # a licence
    client.force_login(make_user("researchers"))
    for address in ("/drafts/", "/tables/new/", "/sources/"):
        assert 'href="/result-sets/"' in client.get(address).content.decode(), address
