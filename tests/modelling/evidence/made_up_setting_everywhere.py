"""The made-up row is asked for everywhere: test_a_new_setting runs this with the plugin tests.made_up_setting."""

import pytest

from experiments.campaigns import control, plans
from experiments.imports.normalise import CONTEXT
from modelling.answer_store.previews.preview import affected_questions
from modelling.answers.words import address
from modelling.evidence import names
from modelling.evidence.question import Question
from tests.factories import (
    FileSystem,
    entry,
    make_case_study,
    make_configuration,
    make_host,
    make_measurement,
    make_user,
    publish,
)
from tests.made_up_setting import MADE_UP

PLAN = {"title": "Made up", "slug": "made-up", "engine": "fio", "host_file_systems": ["ext4"], "workloads": ["varmail"]}
PLAN |= {"vm_counts": "1"}
AXIS = {"axis": "guest-mkfs", "workload": "varmail"}
FILTER = {"workload": "varmail", "guest_mkfs_options": "wide"}


@pytest.fixture
def published(db):
    case_study = make_case_study("made-up")
    for value, options in ((100.0, "narrow"), (180.0, "wide")):
        for guest_fs in ("ext4", "xfs"):
            configuration = make_configuration(case_study, guest_fs=guest_fs, guest_mkfs_options=options)
            make_measurement(value, configuration=configuration, workload="varmail")
    publish(case_study)
    names.clear_cache()
    return case_study


def test_the_api_ranks_its_values(published, client):
    answer = client.get("/api/v1/rankings/guest-mkfs/", {"workload": "varmail"}).json()
    assert [(entry["key"], entry["label"]) for entry in answer["entries"]] == [
        ("wide", "with wide stripes"),
        ("narrow", "with narrow stripes"),
    ]


def test_it_filters_every_other_question_in_any_spelling(published, client):
    answer = client.get("/api/v1/rankings/guest-fs/", FILTER | {"guest_mkfs_options": "Wide stripes"}).json()
    assert answer["question"]["guest_mkfs_options"] == "wide"
    assert [entry["measurements"] for entry in answer["entries"]] == [1, 1]
    question = Question("guest-fs", **FILTER)
    assert question.key == "guest-fs?workload=varmail&guest_mkfs_options=wide"
    assert Question.from_key(question.key) == question


def test_a_value_that_nobody_knows_is_refused_with_those_there_are(published, client):
    answer = client.get("/api/v1/rankings/guest-fs/", FILTER | {"guest_mkfs_options": "oblong"})
    error = answer.json()["errors"][0]
    assert (answer.status_code, error["field"]) == (400, "guest_mkfs_options")
    assert error["message"] == "'oblong' is not known here; allowed are wide, narrow."


def test_the_page_answers_in_its_words(published, client):
    page = client.get(address(Question("guest-mkfs", "varmail"))).content.decode()
    assert "with wide stripes" in page
    assert "which options of the guest&#x27;s mkfs?" in page


def test_where_it_leaves_nothing_it_can_be_taken_out_of_the_question(published, client):
    page = client.get(address(Question("guest-mkfs", "varmail", guest_mkfs_options="wide"))).content.decode()
    assert "nobody measured this" in page
    assert 'href="/?axis=guest-mkfs&amp;workload=varmail" aria-label="Ask without Options of the guest' in page


def test_the_forms_offer_it(published, client):
    page = client.get("/compare/", {"axis": "guest-mkfs"}).content.decode()
    front = client.get("/").content.decode()
    assert ('name="guest_mkfs_options"' in front, 'value="guest-mkfs"' in front) == (True, True)
    for part in ('value="guest-mkfs" selected', 'name="guest_mkfs_options"', 'value="narrow"'):
        assert part in page


def test_its_values_are_compared(published, client):
    asked = {**AXIS, "entries": "wide,narrow"}
    assert len(client.get("/api/v1/comparisons/", asked).json()["entries"]) == 2
    page = client.get("/compare/", {**AXIS, "a": "wide", "b": "narrow", "tab": "differs"})
    assert (page.status_code, "with wide stripes" in page.content.decode()) == (200, True)


def test_heat_map_mix_and_table_take_it(published, client):
    assert client.get("/api/v1/heat-maps/", FILTER).json()["question"]["guest_mkfs_options"] == "wide"
    mix = client.get("/api/v1/mixes/", {"axis": "guest-mkfs", "weights": "varmail:100"})
    assert mix.status_code == 200


def test_the_schema_describes_it(published, client):
    schema = client.get("/api/v1/schema/", headers={"Accept": "application/json"}).json()
    parameters = schema["paths"]["/api/v1/rankings/{axis}/"]["get"]["parameters"]
    described = {parameter["name"]: parameter for parameter in parameters}
    assert MADE_UP.meaning in described["guest_mkfs_options"]["description"]
    assert "guest-mkfs" in described["axis"]["schema"]["enum"]


def test_imports_and_previews_know_it(published):
    assert MADE_UP.column in CONTEXT
    assert Question("guest-mkfs", "varmail") in affected_questions(published.pk)


def test_words_ask_for_it(published, client):
    readings = client.get("/api/v1/ask/", {"text": "with narrow stripes or wide stripes for mail"}).json()["readings"]
    assert (readings[0]["axis"], readings[0]["entries"]) == ("guest-mkfs", ["narrow", "wide"])
    readings = client.get("/api/v1/ask/", {"text": "which mkfs of the guest"}).json()["readings"]
    assert readings[0]["axis"] == "guest-mkfs"


def test_a_campaign_varies_it(client, db):
    host = make_host()
    for slug in ("ext4", "xfs"):
        entry(FileSystem, slug)
    client.force_login(make_user("administrators"))
    page = client.get("/laboratory/campaigns/new/", {"host": host.pk}).content.decode()
    assert ("A setting that only a test knows." in page, 'value="narrow"' in page) == (True, True)
    fields = {"host": host.pk, "pool": host.pools.get().pk, "driver": "libvirt", "guest_file_systems": ["xfs"]}
    form = plans.plan_form(PLAN | fields | {"guest_mkfs_options": ["narrow", "wide"]}, user=None)
    assert form.is_valid(), form.errors
    campaign = control.create(form.instance, user=None)
    assert {run.options.guest_mkfs_options for run in campaign.runs.all()} == {"narrow", "wide"}
    assert plans.document(campaign)["guest_mkfs_options"] == ["narrow", "wide"]
    assert client.get(f"/api/v1/campaigns/{campaign.slug}/").json()["guest_mkfs_options"] == ["narrow", "wide"]
