"""Follow a question: a feed that says when its answer changed, and nothing else."""

from xml.etree import ElementTree

import pytest

from experiments.case_studies import lifecycle
from modelling.answer_store import snapshots
from modelling.estimation.ranking import METHOD
from modelling.models import RankingSnapshot
from tests import factories

QUESTION = "axis=fs-pair&workload=fileserver"
ATOM = {"a": "http://www.w3.org/2005/Atom"}
pytestmark = pytest.mark.sqlite


def entries(client) -> list[tuple[str, str]]:
    """Address and title of each entry, in their order."""
    response = client.get(f"/feed/?{QUESTION}")
    assert response.status_code == 200
    assert response["Content-Type"].startswith("application/atom+xml")
    elements = ElementTree.fromstring(response.content).findall("a:entry", ATOM)
    return [(entry.find("a:id", ATOM).text, entry.find("a:title", ATOM).text) for entry in elements]


def publish(slug: str, ext4: float, xfs: float, workload: str = "fileserver") -> None:
    study = factories.make_case_study(slug, publication=factories.make_publication(slug))
    for guest_fs, value in (("ext4", ext4), ("xfs", xfs)):
        factories.make_measurement(value, case_study=study, guest_fs=guest_fs, workload=workload)
    lifecycle.publish([study], reason="new")
    snapshots.answer_waiting_questions(lambda done, total: None)


def test_an_entry_for_each_publication_that_changed_the_answer_newest_first(client, db):
    publish("first", 300.0, 100.0)
    before = entries(client)
    publish("elsewhere", 300.0, 100.0, workload="webserver")  # agrees
    assert RankingSnapshot.objects.filter(workload="fileserver", revision=2).exists()  # and nothing else is said
    assert entries(client) == before
    publish("second", 100.0, 3000.0)
    after = entries(client)
    assert [address for address, _ in after] == [
        f"http://testserver/?{QUESTION}&as_of=3&method={METHOD}",
        f"http://testserver/?{QUESTION}&as_of=1&method={METHOD}",
    ]
    assert after[0][1] != after[1][1]
    page = client.get(f"/?{QUESTION}&tab=history").content.decode()
    listed = page.partition("Earlier answers")[2].partition("</ul>")[0]
    assert (listed.count("<li>"), "as_of=1&amp;" in listed, after[1][1] in listed) == (1, True, True)
    assert "Earlier answers" not in client.get(f"/?{QUESTION}&tab=history&as_of=1&method={METHOD}").content.decode()
    for address, title in after:  # each entry is what its permanent address says
        assert title in client.get(address.removeprefix("http://testserver")).content.decode()


def test_a_reader_that_has_the_feed_gets_304_until_the_answer_changes(client, db):
    publish("first", 300.0, 100.0)
    tag = client.get(f"/feed/?{QUESTION}")["ETag"]
    assert client.get(f"/feed/?{QUESTION}", headers={"if-none-match": tag}).status_code == 304
    publish("second", 100.0, 300.0)
    assert client.get(f"/feed/?{QUESTION}", headers={"if-none-match": tag}).status_code == 200


def test_a_question_that_is_not_kept_has_its_answer_of_today(client, db):
    publish("first", 300.0, 100.0)
    address = f"/feed/?{QUESTION}&hypervisor=kvm"  # which changes nothing here
    assert client.get(address).content.count(b"<entry>") == 1


def test_the_answers_page_leads_to_its_feed(client, db):
    publish("first", 300.0, 100.0)
    page = client.get(f"/?{QUESTION}&tab=history").content.decode()
    assert '<link rel="alternate" type="application/atom+xml"' in page
    assert page.count(f'href="/feed/?{QUESTION.replace("&", "&amp;")}"') == 2


def test_a_question_that_cannot_be_is_explained_on_the_page(client, db):
    response = client.get("/feed/?axis=fs-pair&workload=nonsense")
    assert (response.status_code, response["Location"]) == (302, "/?axis=fs-pair&workload=nonsense")
