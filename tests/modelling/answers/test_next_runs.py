"""What an answer says should be measured next, and the campaign that would do it."""

from urllib.parse import parse_qs, urlsplit

import pytest

from experiments.campaigns.forms import CampaignForm, filled_in
from modelling.evidence.question import Question
from modelling.kept_answers.selectors import current_ranking
from tests.factories import make_case_study, make_host, make_measurement, make_user, publish

pytestmark = pytest.mark.django_db


def answered(question: Question, values: dict[tuple[str, str], float]) -> dict:
    case_study = make_case_study()
    for (guest_fs, host_fs), value in values.items():
        make_measurement(value, case_study=case_study, guest_fs=guest_fs, host_fs=host_fs, workload=question.workload)
    publish(case_study)
    return current_ranking(question).result


def test_the_closest_rivals_come_first_with_what_measuring_them_gains():
    question = Question("fs-pair", "varmail")
    values = {("ext4", "ext4"): 100.0, ("xfs", "ext4"): 99.0, ("btrfs", "ext4"): 5.0}
    runs = answered(question, values)["next_runs"]
    assert set(runs[0]["entries"]) == {"ext4-on-ext4", "xfs-on-ext4"}
    assert runs[0]["gain"] >= runs[-1]["gain"] > 0


def test_what_would_settle_it_names_the_first_of_them():
    result = answered(Question("guest-fs", "varmail"), {("ext4", "ext4"): 100.0, ("xfs", "ext4"): 99.0})
    assert result["verdict"]["kind"] == "no clear winner"
    assert "measures ext4 and xfs side by side" in result["verdict"]["settle"]
    assert "is expected to gain" in result["verdict"]["settle"]


def test_its_campaign_is_filled_in_for_an_operator(client):
    question = Question("fs-pair", "varmail", vm_count=2)
    case_study = make_case_study()
    for guest_fs, value in (("ext4", 100.0), ("xfs", 99.0)):
        make_measurement(value, case_study=case_study, guest_fs=guest_fs, workload="varmail", vm_count=2)
    publish(case_study)
    address = current_ranking(question).result["next_runs"][0]["campaign"]
    assert parse_qs(urlsplit(address).query) == {
        "workloads": ["varmail"],
        "vm_counts": ["2"],
        "guest_file_systems": ["ext4", "xfs"],
        "host_file_systems": ["ext4"],
    }
    make_host()
    client.force_login(make_user("operators"))
    page = client.get(address).content.decode()
    for name, value in (("guest_file_systems", "xfs"), ("guest_file_systems", "ext4"), ("workloads", "varmail")):
        box = next(tag for tag in page.split("<input")[1:] if f'name="{name}"' in tag and f'value="{value}"' in tag)
        assert "checked" in box.split(">")[0]


def test_a_workload_that_campaigns_do_not_run_has_no_campaign():
    result = answered(Question("guest-fs", "database"), {("ext4", "ext4"): 100.0, ("xfs", "ext4"): 99.0})
    assert [run["campaign"] for run in result["next_runs"]] == [""]


def test_without_numbers_nothing_is_said_of_gains_and_the_campaign_is_offered_to_operators(client):
    make_measurement(100.0, workload="varmail")
    offered = 'href="/laboratory/campaigns/new/?workloads=varmail&amp;vm_counts=1"'
    assert offered not in client.get("/?axis=guest-fs&workload=varmail").content.decode()  # a visitor plans none
    client.force_login(make_user("operators"))
    assert offered in client.get("/?axis=guest-fs&workload=varmail").content.decode()
    assert current_ranking(Question("guest-fs", "varmail")).result["next_runs"] == []


def test_an_address_may_fill_in_any_field_once_or_often(rf):
    query = rf.get("/", {"title": "Mail", "workloads": ["varmail", "webserver"], "host_file_systems": ["xfs"]}).GET
    assert filled_in(query) == {"title": "Mail", "workloads": ["varmail", "webserver"], "host_file_systems": ["xfs"]}
    assert set(filled_in(query)) <= set(CampaignForm.base_fields)
