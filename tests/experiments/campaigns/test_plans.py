"""A plan leaves its host: as a document that another host runs, as a copy that is changed, beside what really ran."""

import io
import json

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from experiments.campaigns import control, plans
from experiments.models import Campaign, CampaignRun, FileSystem
from tests.factories import entry, make_campaign, make_host, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign() -> Campaign:
    for slug in ("ext4", "xfs"):
        entry(FileSystem, slug)
    fields = {"driver": "libvirt", "guest_file_systems": ["ext4", "xfs"], "vm_counts": [1, 2], "vm_ram_mib": 1024}
    fields |= {"title": "A night", "precision_percent": 5, "cool_down_seconds": 7, "repetitions": 2, "slug": "night"}
    return control.create(make_campaign(make_host("first"), **fields), user=None)


def run_plan(tmp_path, document, **options):
    file = tmp_path / "plan.json"
    file.write_text(document if isinstance(document, str) else json.dumps(document))
    out = io.StringIO()
    call_command("run_campaign", str(file), stdout=out, **options)
    return out.getvalue()


def test_a_document_makes_the_same_plan_on_another_host(campaign):
    second = make_host("second", address="192.0.2.2")
    document = plans.read_document(plans.text(campaign).encode(), "plan.json")
    form = plans.plan_form(document | {"host": second.pk, "pool": second.pools.get().pk, "slug": "again"}, user=None)
    assert form.is_valid(), form.errors
    again = control.create(form.instance, user=None)
    assert plans.document(again) == plans.document(campaign) | {"slug": "again"}
    assert (again.host, again.runs.count()) == (second, campaign.runs.count())
    order = ["position", "repetition", "guest_fs", "workload", "vm_count"]
    assert list(again.runs.values_list(*order)) == list(campaign.runs.values_list(*order))


def test_nothing_of_a_host_is_in_a_document(campaign):
    assert "first" not in plans.text(campaign)
    assert campaign.pool.path not in plans.text(campaign)


@pytest.mark.sqlite
def test_the_api_takes_back_what_it_gives(campaign):
    client = Client()
    client.force_login(make_user("administrators"))
    document = client.get("/api/v1/campaigns/night/plan/").json()
    second = make_host("second", address="192.0.2.2")
    where = {"host": "second", "pool": second.pools.get().path, "slug": "again"}
    answer = client.post("/api/v1/campaigns/", document | where, "application/json")
    assert answer.status_code == 201, answer.content
    assert client.get("/api/v1/campaigns/again/plan/").json() == document | {"slug": "again"}
    older = {name: value for name, value in document.items() if name != "follows_protocol"}  # from before there was one
    assert client.post("/api/v1/campaigns/", older | where | {"slug": "older"}, "application/json").status_code == 201
    assert not Campaign.objects.get(slug="older").follows_protocol
    wrong = client.post("/api/v1/campaigns/", document | where | {"format": "other"}, "application/json")
    assert (wrong.status_code, wrong.json()["errors"][0]["field"]) == (400, "format")
    assert client.get("/laboratory/campaigns/night/plan.json").content.decode() == plans.text(campaign)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("{", "plan.json: no JSON"),
        ("[" * 100_000, "plan.json: no JSON"),
        ('{"title": "\\ud800"}', "plan.json: no JSON"),
        ("[]", "a JSON object is expected"),
        ({}, f"plan.json, format: found None, allowed is '{plans.FORMAT}'"),
        ({"format": plans.FORMAT, "disks": 3}, "disks: There is no such field; there are title, slug"),
        ({"format": plans.FORMAT, "repetitions": "3"}, 'repetitions: Found "3"; a whole number is allowed.'),
        ({"format": plans.FORMAT, "slug": "x", "title": "X", "driver": "native"}, "host_file_systems: This field"),
        ("{" + '"a": 1,' * 200_000 + "}", "larger than 1,048,576 bytes"),
    ],
)
def test_a_wrong_file_is_named_with_the_field_and_what_is_allowed(said, words, tmp_path):
    make_host("first")
    with pytest.raises(CommandError) as refused:
        run_plan(tmp_path, said, host="first")
    assert words in str(refused.value)
    assert not Campaign.objects.exists()


def test_the_command_says_which_hosts_and_pools_there_are(campaign, tmp_path):
    with pytest.raises(CommandError, match="--host: found 'nowhere', allowed is first"):
        run_plan(tmp_path, plans.document(campaign), host="nowhere")
    with pytest.raises(CommandError, match="--pool: first has no /srv/other"):
        run_plan(tmp_path, plans.document(campaign), host="first", pool="/srv/other")
    with pytest.raises(CommandError, match="slug: Campaign with this Slug already exists"):
        run_plan(tmp_path, plans.document(campaign), host="first")


def test_a_dry_run_of_a_file_prints_every_step_and_stores_nothing(campaign, tmp_path):
    printed = run_plan(tmp_path, plans.document(campaign), host="first", slug="again", dry_run=True)
    assert "8 runs, about" in printed
    assert "xfs-on-ext4, varmail, 2 VM" in printed
    assert Campaign.objects.count() == 1


def test_a_copy_suggests_all_but_the_short_name_and_the_seed(campaign):
    client = Client()
    client.force_login(make_user("administrators"))
    page = client.get("/laboratory/campaigns/night/").content.decode()
    address = page.split("plan another one like it")[0].rpartition('href="')[2].partition('"')[0].replace("&amp;", "&")
    form = client.get(address).context["form"]
    shown = {name: form[name].value() for name in plans.FIELDS}
    assert (shown.pop("slug"), shown.pop("seed"), shown.pop("title")) == (None, None, "A night (copy)")
    wanted = plans.document(campaign) | campaign.disk | {"vm_counts": "1 2", "pinned_cpus": None}
    wanted["follows_protocol"] = ""  # a box without a tick
    assert {name: str(value) for name, value in shown.items()} == {name: str(wanted[name]) for name in shown}
    assert str(form["host"].value()) == str(campaign.host_id)


def test_what_ran_as_planned_has_no_deviations_and_what_waits_is_none(campaign):
    runs = list(campaign.runs.all())
    assert plans.deviations(campaign, runs) == []


def test_cells_without_all_repetitions_and_conditions_that_changed_are_told(campaign):
    facts = {"host_kernel": "6.1", "machines": [{"mount_options": "rw", "kernel": "6.1", "mkfs": "mke2fs 1.47"}]}
    campaign.runs.update(state="done", figures=[{}], facts=facts)
    cell = campaign.runs.filter(guest_fs="xfs", vm_count=2)
    cell.filter(repetition=2).update(state="failed", reason="full", figures=[])
    campaign.runs.filter(guest_fs="ext4", vm_count=1, repetition=2).update(facts=facts | {"host_kernel": "6.12"})
    assert plans.deviations(campaign, list(campaign.runs.all())) == [
        "xfs-on-ext4, varmail, 2 VM: 1 of 2 repetitions are done (1 failed).",
        "Not the same in all runs, host kernel: 6.1 (6 runs), 6.12 (1 runs).",
    ]


def test_all_repetitions_of_a_cell_are_done_again_and_no_others(campaign):
    campaign.runs.update(state="done", figures=[{}])
    Campaign.objects.filter(pk=campaign.pk).update(state="finished")
    chosen = campaign.runs.filter(guest_fs="xfs", vm_count=2, repeats=None)
    control.retry_cell(campaign, chosen.first())
    again = CampaignRun.objects.filter(state="waiting")
    assert [run.repeats for run in again] == list(chosen)
    assert CampaignRun.objects.count() == 8 + chosen.count()
    assert campaign.runs.counting().count() == 8
