"""A published case study is planned again on a host: what it can do, what it cannot, and why."""

import json

import pytest
from django.test import Client

from experiments.campaigns import control, replication
from experiments.models import Campaign
from tests.factories import make_host, make_user

pytestmark = pytest.mark.usefixtures("published_evidence")


def outline_of(name: str, host, **options) -> tuple[list[Campaign], replication.Replication]:
    return replication.prepare(host, replication.published(name), **options)


def test_a_host_with_guests_plans_the_papers_matrix_by_the_shipped_personalities():
    (campaign,), outline = outline_of("p3", make_host("lab"))
    assert (campaign.replicates.slug, campaign.driver, campaign.personality) == ("p3-cs1", "libvirt", "shipped")
    assert campaign.host_file_systems == campaign.guest_file_systems == ["btrfs", "ext4", "xfs"]
    assert (campaign.vm_counts, campaign.disk["cache_mode"]) == ([1, 2, 3], ["writeback"])
    assert outline.left_out == ["randomfileaccess: Filebench 1.5 ships it in words that only 1.4 understands."]
    runs = 9 * 3 * 3 * 3  # pairs, workloads, numbers of machines, repetitions
    words = "libvirt: btrfs, ext4, xfs × btrfs, ext4, xfs × fileserver, varmail, webserver × 1, 2, 3"
    assert outline.plans == [f"{words}: {runs} runs"]
    assert outline.seconds > runs * 120


def test_the_short_version_is_the_same_matrix_with_one_machine():
    (campaign,), outline = outline_of("p3", make_host("lab"), short=True)
    assert (campaign.vm_counts, campaign.repetitions, campaign.run_seconds) == ([1], 2, 30)
    assert outline.plans[0].endswith(f"{9 * 3 * 2} runs")


def test_a_host_without_guests_measures_pairs_of_one_kind_natively_and_says_so():
    host = make_host("lab", drivers=["native"])
    host.facts["missing"] = [{"program": "mkfs.btrfs"}]
    host.facts["filebench"] = ""
    (campaign,), outline = outline_of("p3", host)
    assert (campaign.host_file_systems, campaign.guest_file_systems) == (["ext4", "xfs"], [])
    assert (campaign.engine, campaign.personality) == ("fio", "kdb")
    words = " ".join(outline.left_out)
    assert "lab is registered for native." in words
    assert "btrfs: lab cannot make btrfs" in words
    assert any(sentence.startswith("Native ext4 in place of ext4-on-ext4") for sentence in outline.differences)


@pytest.mark.parametrize(
    ("name", "drivers", "words"),
    [
        (
            "p0",
            {"libvirt", "native"},
            ["KDB makes no machines of ESXi", "lab is registered for native, libvirt"],
        ),
        ("p1", {"libvirt"}, ["KDB makes no machines of ESXi"]),
        ("p2", set(), ["KDB makes no machines of Hyper-V"]),
        ("p4", {"libvirt", "native"}, ["KDB makes no machines of Hyper-V"]),
    ],
)
def test_what_cannot_be_done_is_named(name, drivers, words):
    campaigns, outline = outline_of(name, make_host("lab"))
    assert {campaign.driver for campaign in campaigns} == drivers
    assert [word for word in words if word not in " ".join(outline.left_out)] == []


def test_machines_that_the_host_has_no_memory_for_are_left_out():
    campaigns, outline = outline_of("p4", make_host("lab"))
    machines = next(campaign for campaign in campaigns if campaign.driver == "libvirt")
    assert machines.vm_counts == [1]  # of 8 GiB each, on a host with 16
    assert any(sentence.startswith("2 machines") for sentence in outline.left_out)


def test_nothing_published_of_that_name():
    with pytest.raises(control.CampaignError, match="Nothing published is called 'p9'"):
        replication.published("p9")


@pytest.mark.sqlite
def test_the_api_plans_it_for_who_may_use_the_host():
    owner, other = make_user("operators"), make_user("operators")
    make_host("lab", registered_by=owner, pools=("/srv/pool", "/srv/other"))
    client, stranger = Client(), Client()
    client.force_login(owner)
    stranger.force_login(other)

    def post(who: Client, **changes):
        body = {"case_study": "p3", "host": "lab", "short": True, "pool": "/srv/other"} | changes
        return who.post("/api/v1/campaigns/replicate/", json.dumps(body), "application/json")

    assert (post(client, dry_run=True).status_code, Campaign.objects.count()) == (200, 0)
    assert (post(stranger).status_code, post(stranger).json()["errors"][0]["field"]) == (400, "host")
    assert post(Client()).status_code == 401
    nothing = post(client, case_study="p2")
    assert (nothing.status_code, "no machines of Hyper-V" in nothing.json()["detail"]) == (409, True)
    assert post(client, case_study="p9").status_code == 409
    assert not Campaign.objects.exists()
    answers = [post(client), post(client)]
    assert [answer.status_code for answer in answers] == [201, 201]
    first, second = Campaign.objects.order_by("pk")
    assert [answer.json()["campaigns"] for answer in answers] == [[first.slug], [second.slug]]
    assert (first.owner, first.pool.path, second.slug) == (owner, "/srv/other", f"{first.slug}-2")
    assert first.runs.count() == second.runs.count() == 54


def test_where_what_makes_guests_cannot_be_used_pairs_of_one_kind_are_still_measured_natively():
    host = make_host("lab")
    host.facts["guest_image"] = {}
    campaigns, outline = outline_of("p3", host)
    assert [campaign.driver for campaign in campaigns] == ["native"]
    assert any(sentence.startswith("All by the driver libvirt") for sentence in outline.left_out)
    assert "Native ext4 in place of ext4-on-ext4, so without what the pair does." in outline.differences


@pytest.mark.sqlite
def test_the_button_on_a_case_study_leads_operators_to_a_plan_on_a_host_of_theirs(client):
    owner = make_user("operators")
    make_host("lab", registered_by=owner)
    make_host("others")
    study, address = "/case-studies/p3-cs1/", "/case-studies/p3-cs1/again/"
    assert address not in client.get(study).content.decode()
    assert client.get(address).status_code == 302
    client.force_login(owner)
    assert address in client.get(study).content.decode()
    page = client.get(address).content.decode()
    assert ('value="lab"' in page, 'value="others"' in page, "Plan it" in page) == (True, False, False)
    page = client.get(address, {"host": "lab", "short": "on"}).content.decode()
    assert f"{9 * 3 * 2} runs" in page
    assert "randomfileaccess: Filebench 1.5 ships it" in page
    assert client.post(address, {"host": "others"}).status_code == 422
    assert not Campaign.objects.exists()
    answer = client.post(address, {"host": "lab", "short": "on"})
    campaign = Campaign.objects.get()
    assert answer["Location"] == f"/laboratory/campaigns/{campaign.slug}/"
    assert (campaign.owner, campaign.vm_counts, campaign.replicates.slug) == (owner, [1], "p3-cs1")
    nothing = client.post("/case-studies/p2/again/", {"host": "lab"})
    assert (nothing.status_code, "no machines of Hyper-V" in nothing.content.decode()) == (409, True)
