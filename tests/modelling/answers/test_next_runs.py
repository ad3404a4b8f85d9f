"""The runs that an answer says should be measured next, and the campaign that would do them."""

from urllib.parse import parse_qs, urlsplit

import pytest

from experiments.campaigns.forms import CampaignForm, filled_in
from modelling.answer_store.selectors import current_snapshot
from modelling.evidence.question import Question
from tests.factories import make_case_study, make_host, make_measurement, make_user, publish

pytestmark = pytest.mark.django_db


def answered(question: Question, values: dict[tuple[str, str], float], laboratories: int = 1) -> dict:
    for _ in range(laboratories):
        case_study = make_case_study()
        for (guest_fs, host_fs), value in values.items():
            make_measurement(
                value, case_study=case_study, guest_fs=guest_fs, host_fs=host_fs, workload=question.workload
            )
        publish(case_study)
    return current_snapshot(question).result


def test_the_rivals_are_proposed_first_then_all_with_what_the_choice_gains():
    question = Question("guest-fs", "varmail")
    values = {("ext4", "ext4"): 100.0, ("xfs", "ext4"): 99.0, ("btrfs", "ext4"): 5.0}
    result = answered(question, values, laboratories=6)
    first = result["next_runs"][0]
    assert (first["kind"], set(first["entries"])) == ("pair", {"ext4", "xfs"})
    assert (first["repetitions"], first["runs"]) == (2, 4)
    gains = [run["gain"] for run in result["next_runs"]]
    assert gains == sorted(gains)
    assert gains[0] > 1
    assert result["measure_next"].startswith(
        f"Measure {' and '.join(first['labels'])} on your machine, four runs: your pick"
    )
    assert f"your pick is then {gains[0]:.0f}\u00a0% faster on average." in result["measure_next"]


def test_pairs_are_proposed_as_a_factorial_and_all_of_them_as_well():
    files = ("ext4", "xfs", "btrfs")
    values = {(guest, host): 100.0 + 3 * files.index(guest) + files.index(host) for guest in files for host in files}
    runs = answered(Question("fs-pair", "varmail"), values)["next_runs"]
    kinds = [run["kind"] for run in runs]
    assert kinds[-1] == "all"
    assert runs[-1]["sentence"].startswith("All nine file-system pairs (")
    assert runs[-1]["runs"] == 18
    factorial = next(run for run in runs if run["kind"] == "factorial")
    assert {key.split("-on-")[0] for key in factorial["entries"]} < set(files)
    assert " in guests on each of " in factorial["sentence"]


def test_where_it_is_not_known_it_is_what_would_settle_it():
    result = answered(Question("guest-fs", "varmail"), {("ext4", "ext4"): 100.0, ("xfs", "ext4"): 99.0})
    assert result["verdict"]["kind"] == "not known"
    assert result["verdict"]["settle"] == result["measure_next"] != ""


def test_where_runs_gain_too_little_it_says_so(settings, client):
    settings.KDB_LEAST_GAIN = 0.9
    question = Question("guest-fs", "varmail")
    result = answered(question, {("ext4", "ext4"): 100.0, ("xfs", "ext4"): 99.0})
    assert result["next_runs"] == []
    assert result["measure_next"].startswith("Nothing is worth measuring on your machine: after runs of ")
    assert "less than 90\u00a0% faster" in result["measure_next"]
    page = client.get("/?axis=guest-fs&workload=varmail").content.decode()
    assert page.count("Nothing is worth measuring") == 1  # as the next step


def test_what_no_one_machine_can_have_is_not_proposed_together():
    case_study, other = make_case_study(), make_case_study()
    for guest_fs, value in (("ext4", 100.0), ("xfs", 99.0), ("btrfs", 98.0)):
        make_measurement(value, case_study=case_study, guest_fs=guest_fs, host_fs="ext4", hypervisor="kvm")
    for guest_fs, value in (("ext4", 100.0), ("xfs", 99.0)):
        make_measurement(value, case_study=other, guest_fs=guest_fs, host_fs="vmfs", hypervisor="esxi")
    publish(case_study)
    publish(other)
    result = current_snapshot(Question("fs-pair", "varmail")).result
    assert len(result["entries"]) == 5
    assert result["next_runs"][-1]["kind"] == "all"
    assert {key.split("-on-")[1] for run in result["next_runs"] for key in run["entries"]} == {"ext4"}


def test_its_campaign_is_filled_in_for_an_operator(client):
    question = Question("fs-pair", "varmail", vm_count=2)
    case_study = make_case_study()
    for guest_fs, value in (("ext4", 100.0), ("xfs", 99.0)):
        make_measurement(value, case_study=case_study, guest_fs=guest_fs, workload="varmail", vm_count=2)
    publish(case_study)
    address = current_snapshot(question).result["next_runs"][0]["campaign"]
    assert parse_qs(urlsplit(address).query) == {
        "workloads": ["varmail"],
        "vm_counts": ["2"],
        "guest_file_systems": ["ext4", "xfs"],
        "host_file_systems": ["ext4"],
        "repetitions": ["2"],
    }
    user = make_user("operators")
    make_host(registered_by=user)
    client.force_login(user)
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
    assert current_snapshot(Question("guest-fs", "varmail")).result["next_runs"] == []


def test_an_address_may_fill_in_any_field_once_or_often(rf):
    query = rf.get("/", {"title": "Mail", "workloads": ["varmail", "webserver"], "host_file_systems": ["xfs"]}).GET
    assert filled_in(query) == {"title": "Mail", "workloads": ["varmail", "webserver"], "host_file_systems": ["xfs"]}
    assert set(filled_in(query)) <= set(CampaignForm.base_fields)
