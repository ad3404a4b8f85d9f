"""Answers as they were at an earlier knowledge revision, and the grid of pairs."""

import re

import pytest

from experiments.case_studies import lifecycle, retraction
from modelling.answer_pages.layout.heat_map import heat_map
from modelling.answer_store.selectors import current_snapshot, past_snapshot
from modelling.answer_store.snapshots import answer_waiting_questions
from modelling.claims import verdicts
from modelling.estimation.ranking import METHOD
from modelling.evidence.question import Question
from modelling.models import RankingSnapshot
from tests.factories import make_case_study, make_claim, make_configuration, make_measurement, make_publication
from tests.modelling.frames import ranked_entry

pytestmark = pytest.mark.django_db

QUESTION = Question("fs-pair", "varmail")
ADDRESS = "/api/v1/rankings/fs-pair/?workload=varmail&hypervisor=kvm"


def publish(slug: str, **values: float):
    study = make_case_study(slug)
    for pair, value in values.items():
        guest, host = pair.split("_on_")
        make_measurement(value, case_study=study, guest_fs=guest, host_fs=host)
    lifecycle.publish([study], reason="measured")
    return study


@pytest.fixture
def history():
    """Make three revisions: one case study, a second that turns the order round, the first retracted."""
    first = publish("first", ext4_on_ext4=100.0, xfs_on_ext4=50.0)
    publish("second", ext4_on_ext4=10.0, xfs_on_ext4=1000.0, btrfs_on_ext4=1.0)
    retraction.retract(first, reason="wrong disk")


def keys(snapshot) -> list[str]:
    return [entry["key"] for entry in snapshot.result["entries"]]


def test_each_revision_has_its_own_answer(history):
    assert keys(past_snapshot(QUESTION, 1)) == ["ext4-on-ext4", "xfs-on-ext4"]
    assert past_snapshot(QUESTION, 1).result["evidence"][0]["case_study"] == "first"
    assert len(past_snapshot(QUESTION, 2).result["evidence"]) == 2
    assert [study["case_study"] for study in past_snapshot(QUESTION, 3).result["evidence"]] == ["second"]
    assert past_snapshot(QUESTION, 3).result["entries"] == current_snapshot(QUESTION).result["entries"]


def test_what_is_worked_out_again_is_what_was_answered_then():
    publish("first", ext4_on_ext4=100.0, xfs_on_ext4=50.0)
    then = current_snapshot(QUESTION)
    publish("second", ext4_on_ext4=10.0, xfs_on_ext4=1000.0)
    answer_waiting_questions(lambda done, total: None)
    assert RankingSnapshot.objects.count() == 2
    assert past_snapshot(QUESTION, 1).digest == then.digest
    RankingSnapshot.objects.all().delete()
    again = past_snapshot(QUESTION, 1)
    assert (again.digest, again.pk) == (then.digest, None)
    assert not RankingSnapshot.objects.exists()


def test_a_kept_answer_stands_for_all_revisions_that_did_not_touch_it():
    publish("first", ext4_on_ext4=100.0, xfs_on_ext4=50.0)
    then = current_snapshot(QUESTION)
    other = make_case_study("other")
    make_measurement(5.0, configuration=make_configuration(other, hypervisor=None))
    lifecycle.publish([other], reason="measured")
    assert past_snapshot(QUESTION, 2).digest == then.digest


def test_explanations_and_comparisons_are_given_as_of_a_revision(history, client):
    entries = "&a=ext4-on-ext4&b=xfs-on-ext4"
    asked = "/api/v1/explanations/?axis=fs-pair&workload=varmail&hypervisor=kvm"
    ratios = [client.get(f"{asked}{entries}&as_of={n}").json()["contrast"]["ratio"] for n in (1, 3)]
    assert ratios[0] > 1 > ratios[1]
    assert client.get(f"{asked}&as_of=1").json()["b"]["key"] == "xfs-on-ext4"
    assert client.get(f"{asked}&as_of=4").status_code == 400
    both = "/api/v1/comparisons/?axis=fs-pair&workload=varmail&hypervisor=kvm&entries=ext4-on-ext4,xfs-on-ext4"
    (then,), (now,) = (client.get(f"{both}{end}").json()["pairs"] for end in ("&as_of=1", ""))
    assert [then["ratio"], now["ratio"]] == pytest.approx(ratios)
    page = client.get(
        "/compare/?axis=fs-pair&workload=varmail&hypervisor=kvm&a=ext4-on-ext4&b=xfs-on-ext4&as_of=1&tab=side-by-side",
        follow=True,
    )
    assert "As of knowledge revision 1." in page.content.decode()
    assert f"{ratios[0]:.2f}×" in page.content.decode()
    (link,) = re.findall(r'<th scope="row"><a href="([^"]+)">ext4 on ext4 against xfs on ext4<', page.content.decode())
    assert link.endswith(f"&amp;a=ext4-on-ext4&amp;b=xfs-on-ext4&amp;as_of=1&amp;method={METHOD}")


def test_claims_are_judged_as_of_a_revision(client):
    study = publish("first", ext4_on_ext4=100.0, xfs_on_ext4=50.0)
    order = {"where": {"workload": "varmail"}, "order": [{"guest_fs": "ext4"}, {"guest_fs": "xfs"}]}
    checks = {"own": order, "in": ["first", "second"]}
    later = make_case_study("second")
    claim = make_claim(code="T-1", publication=make_publication(), checks=checks)
    claim.case_studies.set([study])
    other = make_claim(code="T-2", publication=claim.publication)
    other.case_studies.set([later])
    make_measurement(7.0, case_study=later)
    lifecycle.publish([later], reason="measured")
    retraction.retract(study, reason="wrong disk")

    def listed(end):
        return {row["id"]: row["verdict"] for row in client.get(f"/api/v1/claims/?{end}").json()["results"]}

    then, now = verdicts.verdicts_as_of(1), verdicts.verdicts_as_of(3)
    assert {pk for pk, _ in then} == {claim.pk}
    assert {pk for pk, _ in now} == {claim.pk, other.pk}
    assert listed("as_of=1") == {"T-1": then[claim.pk, "own"].verdict}
    assert then[claim.pk, "own"].verdict != now[claim.pk, "own"].verdict
    assert listed(f"as_of=1&verdict={then[claim.pk, 'own'].verdict}") == listed("as_of=1")
    assert client.get("/api/v1/claims/T-1/?as_of=1").json()["revision"] == 1
    assert client.get("/api/v1/claims/T-2/?as_of=1").status_code == 404
    assert client.get("/api/v1/claims/?as_of=9").status_code == 400


def test_page_and_api_answer_as_of_a_revision(history, client):
    body = client.get(f"{ADDRESS}&as_of=1").json()
    assert (body["revision"], [entry["key"] for entry in body["entries"]]) == (1, ["ext4-on-ext4", "xfs-on-ext4"])
    page = client.get("/?axis=fs-pair&workload=varmail&hypervisor=kvm&as_of=1", follow=True).content.decode()
    assert "As of knowledge revision 1." in page
    assert "One laboratory measured ext4 on ext4 2.0 times as fast as xfs on ext4" in page
    now = client.get("/?axis=fs-pair&workload=varmail&hypervisor=kvm&tab=history").content.decode()
    assert "/?axis=fs-pair&amp;workload=varmail&amp;hypervisor=kvm&amp;as_of=3" in now


def test_the_entity_tag_is_that_of_the_answer_then(history, client):
    first = client.get(f"{ADDRESS}&as_of=1")
    again = client.get(f"{ADDRESS}&as_of=1", headers={"If-None-Match": first["ETag"]})
    assert again.status_code == 304
    assert client.get(ADDRESS)["ETag"] != first["ETag"]


@pytest.mark.parametrize("text", ["0", "4", "-1", "x", "1.5", "", "99999999999999999999"])
@pytest.mark.sqlite
def test_a_revision_that_is_none_is_refused(history, client, text):
    answer = client.get(f"{ADDRESS}&as_of={text}")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "as_of")
    assert client.get(f"/?axis=fs-pair&workload=varmail&as_of={text}").status_code == 404


# The grid


def test_the_grid_has_every_pair_and_says_where_there_is_no_evidence(history, client):
    body = client.get("/api/v1/heat-maps/?workload=varmail&hypervisor=kvm").json()
    assert [host["key"] for host in body["hosts"]] == ["ext4"]
    assert [guest["key"] for guest in body["guests"]] == ["btrfs", "ext4", "xfs"]
    ranking = {entry["key"]: entry for entry in client.get(ADDRESS).json()["entries"]}
    for row in body["cells"]:
        for cell in row:
            entry = ranking[f"{cell['guest_fs']}-on-{cell['host_fs']}"]
            assert (cell["ratio"], cell["rank"], cell["grade"]) == (entry["ratio"], entry["rank"], entry["grade"])
    shades = {row[0]["guest_fs"]: row[0]["shade"] for row in body["cells"]}
    assert (shades["xfs"], shades["btrfs"]) == (4, 0)


def test_a_gap_is_a_gap():
    entries = [
        ranked_entry("ext4-on-xfs", ratio=1.0, recommended="use"),
        ranked_entry("xfs-on-ext4", ratio=0.5, rank=2),
    ]
    grid = heat_map(entries, {})
    assert [[cell.standing for cell in row] for row in grid.cells] == [
        ["no evidence", "use"],
        ["between", "no evidence"],
    ]
    assert grid.cells[0][0].ratio is None


def test_shades_are_logarithmic_inside_a_part_and_by_rank_without_numbers():
    entries = [ranked_entry(f"{guest}-on-a", ratio=ratio) for guest, ratio in (("a", 1.0), ("b", 0.1), ("c", 0.01))]
    entries += [ranked_entry(f"{guest}-on-b", part=2, rank=rank) for guest, rank in (("a", 1), ("b", 2))]
    cells = heat_map(entries, {}).cells
    assert [cells[row][0].shade for row in range(3)] == [4, 2, 0]
    assert [cells[row][1].shade for row in range(2)] == [4, 0]
